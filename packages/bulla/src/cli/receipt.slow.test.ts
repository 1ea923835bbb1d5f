import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { script } from '../../test/mcp.ts';
import { bulla as run, temporaryFolder } from '../../test/run.ts';

let folder = '';
const path = (name: string) => join(folder, name);
const bulla = (...args: string[]) => run(args, '', { BULLA_HOME: path('home') });

/** What the chain says: the request, the outcome, and what the decision rested on. */
function receipts(): {
  request: string;
  status: string;
  error: string | null;
  kind: string;
  bulla: Record<string, unknown>;
}[] {
  const { status, stdout } = bulla('capsule', 'export');
  expect(status).toBe(0);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ type, domain, trigger, outcome, context }) => ({
      request: trigger.request,
      status: outcome.status,
      error: outcome.error,
      kind: `${type} ${domain} ${context.agent_id}`,
      bulla: context.environment.bulla,
    }));
}

const server = () => {
  const { command, args } = script('rogue.mjs', path('received'), 'ordinary');
  return ['--', command, ...args];
};

beforeEach(() => {
  folder = temporaryFolder();
  expect(bulla('keys', 'init', '--quiet').status).toBe(0);
});

test('a lock and a check are sealed, before and after, the failing one with its reason', () => {
  const lock = path('mcp-lock.json');
  const locked = bulla('lock', '--record', '-o', lock, ...server());
  expect([locked.status, locked.stderr]).toEqual([0, expect.stringMatching(/recorded {2}[0-9a-f]{64}\n$/)]);
  expect(bulla('check', '--record', '--quiet', '-l', lock, ...server()).status).toBe(0);
  writeFileSync(lock, readFileSync(lock, 'utf8').replace('"lockFileVersion"', '"lockfileversion"'));
  const broken = bulla('check', '--record', '--quiet', '-l', lock, ...server());
  expect(broken.status).toBe(2);
  const all = receipts();
  expect(all.map(({ request, status }) => `${request} ${status}`)).toEqual([
    'bulla lock pending',
    'bulla lock success',
    'bulla check pending',
    'bulla check success',
    'bulla check pending',
    'bulla check failure',
  ]);
  expect(all[1]!.bulla.lock).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(all[3]!.bulla).toEqual({
    v: 1,
    instance: expect.stringMatching(/^[0-9a-f-]{36}$/),
    intent: expect.stringMatching(/^[0-9a-f-]{36}$/),
    lock: all[1]!.bulla.lock,
    facts: { drift: expect.objectContaining({ total: 0 }) },
  });
  expect(all[5]!.error).toMatch(/^action: LOCK_[A-Z_]+$/);
  expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(['auth admin bulla']));
});

test('a policy that fails says which rules, and by which policy', () => {
  writeFileSync(
    path('policy.yaml'),
    'name: few\nrules:\n  - name: no tools\n    expr: size(input.tools) == 0\n',
  );
  const { status } = bulla('policy', 'check', '--record', '--quiet', '-P', path('policy.yaml'), ...server());
  expect(status).toBe(1);
  expect(receipts()[1]).toMatchObject({
    request: 'bulla policy check',
    status: 'failure',
    error: 'action: BAD',
    bulla: {
      policy: { id: path('policy.yaml'), hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
      facts: { policy: { outcome: 'fail', errors: 1, warnings: 0 }, failed: ['no tools'] },
    },
  });
});

test('a server that cannot be started is sealed, and a lock that pins no program', () => {
  const lock = path('mcp-lock.json');
  expect(bulla('lock', '--quiet', '-o', lock, ...server()).status).toBe(0);
  expect(bulla('lock', '--record', '--quiet', '-o', lock, '--', path('none')).status).toBe(3);
  expect(bulla('run', '--record', '--quiet', '-l', lock).status).toBe(2);
  const all = receipts();
  expect(all.map(({ request, status }) => `${request} ${status}`)).toEqual([
    'bulla lock pending',
    'bulla lock failure',
    'bulla run pending',
    'bulla run failure',
  ]);
  // By the code alone: a sentence may quote what the server said.
  expect(all[1]!.error).toMatch(/^action: MCP_[A-Z_]+$/);
  expect(all[3]!.error).toBe('action: PIN_NONE');
});

test('what cannot be recorded is not done', () => {
  mkdirSync(path('broken/keys'), { recursive: true });
  writeFileSync(path('broken/keys/keyring.json'), '{');
  const other = run(['lock', '--record', '-o', path('mcp-lock.json'), ...server()], '', {
    BULLA_HOME: path('broken'),
  });
  expect(other.status).toBe(2);
  expect(other.stderr).toContain('[KEYRING_MALFORMED]');
  expect(() => readFileSync(path('received'))).toThrow('ENOENT');
});
