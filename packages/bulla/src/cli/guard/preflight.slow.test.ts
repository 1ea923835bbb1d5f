import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  bundledGuard,
  guardTarget,
  preparePlace,
  runGuard,
  shakeHands,
} from '../../../test/guard-process.ts';
import { script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';

const cli = bundledGuard();
const MCPTRUST = { BULLA_COMPAT: 'mcptrust' };

/** Guards a rogue server with the lock of the ordinary one, and asks for its tools. */
async function listTools(
  behaviour: string,
  options: string[],
  { variables = {}, isReleased = false }: { variables?: Record<string, string>; isReleased?: boolean } = {},
) {
  const place = await preparePlace(script('rogue.mjs', '/dev/null', 'ordinary'));
  if (isReleased) {
    const { bulla: _, ...document } = JSON.parse(readFileSync(place.lock, 'utf8'));
    writeFileSync(place.lock, JSON.stringify(document));
  }
  const received = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', received, behaviour);
  const guard = runGuard(guardTarget(cli(), place, server, '--allow-other-command', ...options), variables);
  await shakeHands(guard);
  guard.send({ id: 1, method: 'tools/list' });
  const answer = JSON.parse((await guard.lines(2))[1]!);
  guard.child.stdin!.end();
  const { code, stderr } = await guard.ended();
  const starts = readFileSync(received, 'utf8').match(/"method":"initialize"/g)?.length;
  return { answer, code, stderr, starts };
}

describe('--fail-on', () => {
  test('ends with 1 and tells what differs in the words of check', async () => {
    const { answer, code, stderr, starts } = await listTools('poisoned', ['--fail-on', 'critical']);
    expect([answer.error.data.code, code, starts]).toEqual(['GATEWAY_DRIFT', 1, 1]);
    expect(stderr).toContain('bulla: server: compared with its lock:\n3 differences: 3 critical.\n');
    expect(stderr).toContain('\nCRITICAL  tool echo\n  The description changed');
    expect(stderr).toContain('\nFAIL: 3 differences are critical.\n');
    expect(stderr).toMatch(/bulla: The server is not as it was locked, .* \[GATEWAY_DRIFT\]\n$/);
  });

  test('ends with 3 where the server cannot be compared', async () => {
    const { answer, code } = await listTools('no-list', ['--fail-on', 'critical']);
    expect([answer.error.data.code, code]).toEqual(['MCP_LIST_SHAPE', 3]);
  });

  test('is info as the released program means it, and takes no other word', async () => {
    expect((await listTools('of-another-version', ['--fail-on', 'info'])).code).toBe(1);
    expect((await listTools('of-another-version', ['--fail-on', 'moderate'])).code).toBe(0);
    const place = await preparePlace(script('rogue.mjs', '/dev/null', 'ordinary'));
    const server = script('rogue.mjs', '/dev/null', 'ordinary');
    const { code, stderr } = await runGuard(guardTarget(cli(), place, server, '--fail-on', 'bogus')).ended();
    expect(code).not.toBe(0);
    expect(stderr).toContain('Allowed choices are critical, moderate, info, benign.');
  });

  test('only watches with --filter-only and --audit-only', async () => {
    for (const [mode, names] of [
      ['--filter-only', ['add']],
      ['--audit-only', ['echo', 'add']],
    ] as const) {
      const { answer, code, stderr } = await listTools('poisoned', ['--fail-on', 'critical', mode]);
      expect([answer.result.tools.map(({ name }: { name: string }) => name), code]).toEqual([names, 0]);
      expect(stderr).toContain('bulla: would refuse the server: The server is not as it was locked');
    }
  });
});

describe('--policy', () => {
  test('takes a preset or a file, and tells which rule forbids the server', async () => {
    expect((await listTools('ordinary', ['--policy', 'baseline'])).code).toBe(0);
    const { answer, code, stderr } = await listTools('ordinary', ['-P', 'strict']);
    expect([answer.error.data.code, code]).toEqual(['POLICY_DENIED', 1]);
    expect(stderr).toContain('\nPolicy: DENY\n- artifact_pinned_required: ');
  });

  test('that is none starts nothing', async () => {
    const place = await preparePlace(script('rogue.mjs', '/dev/null', 'ordinary'));
    const received = join(temporaryFolder(), 'received');
    const server = script('rogue.mjs', received, 'ordinary');
    const options = ['--allow-other-command', '--policy', '/nowhere/policy.yaml'];
    const guard = runGuard(guardTarget(cli(), place, server, ...options));
    const { code, stderr } = await guard.ended();
    expect(code).toBe(2);
    expect(stderr).toContain('[INPUT_UNREADABLE]');
    expect(existsSync(received)).toBe(false);
  });
});

test('--allow-static-resources says that it is not for a lock that pins resources', async () => {
  const { stderr } = await listTools('ordinary', ['--allow-static-resources']);
  expect(stderr).toMatch(/bulla: --allow-static-resources changes nothing: .* pins the resources themselves/);
});

describe('BULLA_COMPAT=mcptrust', () => {
  test('compares by itself, and fails with 1 and its words', async () => {
    const drifted = await listTools('poisoned', [], { variables: MCPTRUST });
    expect([drifted.answer.error.code, drifted.code]).toEqual([-32001, 1]);
    expect(drifted.answer.error.message).toMatch(/^MCPTRUST_DENIED: The server is not as it was locked/);
    expect(drifted.stderr).toMatch(
      /\nError: preflight failed: drift detected with severity critical \(threshold: critical\)\n$/,
    );
    const denied = await listTools('ordinary', ['--policy', 'strict'], { variables: MCPTRUST });
    expect(denied.stderr).toMatch(
      /\nError: preflight failed: policy rule "artifact_pinned_required" violated: The server must be/,
    );
  });

  test('also with a lock of the released program, whose server passes', async () => {
    const { answer, code } = await listTools('ordinary', [], { variables: MCPTRUST, isReleased: true });
    expect([answer.result.tools.length, code]).toEqual([2, 0]);
  });
});
