import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bulla, repo, temporaryFolder } from '../../../test/run.ts';

const old = join(repo, 'examples/manifests/notes-1.3.json');
const next = join(repo, 'examples/manifests/notes-2.0.json');

/** The old example after a change, in a file. */
function changed(folder: string, change: (manifest: Record<string, never>) => void): string {
  const manifest = JSON.parse(readFileSync(old, 'utf8'));
  change(manifest);
  const file = join(folder, 'changed.json');
  writeFileSync(file, JSON.stringify(manifest));
  return file;
}

describe('manifest validate', () => {
  test('good manifests, with their hashes', () => {
    const { status, stdout } = bulla(['manifest', 'validate', old, next]);
    expect(status).toBe(0);
    expect(stdout).toBe(`good  ${old}: 4 tools, 4 scopes, 1768 bytes
      fe51c0fb3ca23144ec7f044d8c3da473ce66ad2be3a99eca7b91ca35975c8425
good  ${next}: 4 tools, 3 scopes, 1693 bytes
      8d1efbeac41485059bc2a55b13f12b8b82e6b023d9860a32c3e4ea1a112ce34f
`);
  });

  test('a bad one, with place, code and how to mend it', () => {
    const input = readFileSync(old, 'utf8').replace('"notify"', '"Notify\\u202e"');
    const { status, stdout } = bulla(['manifest', 'validate', '-'], input);
    expect(status).toBe(1);
    const line = input.slice(0, input.indexOf('"Notify')).split('\n').length;
    expect(stdout).toContain(`BAD   -: 2 problems\n  ${line}:15 problem /tools/3/name\n`);
    expect(stdout).toContain(
      '"Notify⟨U+202E⟩" is not snake_case. [MANIFEST_TOOL_NAME]\n    → Use lower-case',
    );
  });

  test('--json is one document', () => {
    const { status, stdout } = bulla(
      ['manifest', 'validate', '--json', old, '-'],
      '{"schema_version":"2.0"}',
    );
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      files: [
        {
          file: old,
          ok: true,
          hash: 'fe51c0fb3ca23144ec7f044d8c3da473ce66ad2be3a99eca7b91ca35975c8425',
          problems: [],
        },
        {
          file: '-',
          ok: false,
          hash: null,
          count: 1,
          problems: [{ code: 'MANIFEST_SCHEMA_VERSION', offset: 18 }],
        },
      ],
    });
  });

  test('what is not JSON or not there is unreadable; --quiet says nothing on stdout', () => {
    const { status, stdout } = bulla(['manifest', 'validate', '--json', '-'], '{');
    expect([status, JSON.parse(stdout).files[0].problems[0].code]).toEqual([2, 'JSON_UNEXPECTED_END']);
    const missing = bulla(['manifest', 'validate', '--quiet', '/nowhere.json']);
    expect([missing.status, missing.stdout]).toEqual([2, '']);
    expect(missing.stderr).toContain('[INPUT_UNREADABLE]');
    expect(bulla(['manifest', 'validate']).status).toBe(2);
  });
});

describe('manifest hash', () => {
  test('prints the digest alone', () => {
    const { status, stdout, stderr } = bulla(['manifest', 'hash', old]);
    expect([status, stdout, stderr]).toEqual([
      0,
      'fe51c0fb3ca23144ec7f044d8c3da473ce66ad2be3a99eca7b91ca35975c8425\n',
      '',
    ]);
    expect(bulla(['hash', '--profile', 'jcs', old]).stdout).toBe(stdout);
  });

  test('what is not valid has none', () => {
    const { status, stdout, stderr } = bulla(['manifest', 'hash', '-'], '{}');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('[MANIFEST_SCHEMA_VERSION]');
  });
});

describe('manifest diff', () => {
  test('exits with 1 when something is breaking, and shows it in each format', () => {
    const text = bulla(['manifest', 'diff', old, next]);
    expect([text.status, text.stderr]).toEqual([1, '']);
    expect(text.stdout).toContain(
      'BREAKING  tool trash_note\n  The tool "delete_note" is now called "trash_note".',
    );
    const json = bulla(['manifest', 'diff', old, next, '--format', 'json']);
    expect(json.status).toBe(1);
    expect(JSON.parse(json.stdout).breaking.map(({ code }: { code: string }) => code)).toEqual([
      'input-schema-changed',
      'tool-renamed',
      'tool-removed',
      'scope-renamed',
      'sensitivity-lowered',
      'scope-removed',
      'flag-withdrawn',
    ]);
    expect(bulla(['manifest', 'diff', old, next, '--json']).stdout).toBe(json.stdout);
    const markdown = bulla(['manifest', 'diff', old, next, '--format', 'markdown']);
    expect([markdown.status, markdown.stdout.split('\n')[0]]).toEqual([1, '### ❌ Manifest']);
    const quiet = bulla(['manifest', 'diff', old, next, '--quiet']);
    expect([quiet.status, quiet.stdout]).toEqual([1, '']);
  });

  test('exits with 0 when nothing is', () => {
    const file = changed(temporaryFolder(), (m) => Object.assign(m, { agent_version: '1.3.1' }));
    expect(bulla(['manifest', 'diff', old, old])).toEqual({
      status: 0,
      stdout: 'Nothing changed.\n',
      stderr: '',
    });
    const { status, stdout } = bulla(['manifest', 'diff', old, file]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Not breaking: 1 change/);
  });

  test('exits with 2 for what cannot be read or is not valid, and lists all that is wrong with it', () => {
    const file = changed(temporaryFolder(), (m) => Object.assign(m, { agent_version: 'x', extra: 1 }));
    const { status, stdout, stderr } = bulla(['manifest', 'diff', old, file]);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('[MANIFEST_AGENT_VERSION]');
    expect(stderr).toContain('[MANIFEST_FIELD_UNKNOWN]');
    expect(bulla(['manifest', 'diff', old, '-'], 'no').status).toBe(2);
    expect(bulla(['manifest', 'diff', old, '/nowhere.json']).status).toBe(2);
    const json = bulla(['manifest', 'diff', old, file, '--format', 'json']);
    expect([json.status, JSON.parse(json.stdout).code]).toEqual([2, 'MANIFEST_FIELD_UNKNOWN']);
  });
});

describe('manifest init', () => {
  const everything = [
    '--',
    process.execPath,
    join(repo, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'),
    'stdio',
  ];

  test('drafts a valid manifest from the lock of a real server, and tells what to look at', () => {
    const folder = temporaryFolder();
    const lock = join(folder, 'mcp-lock.json');
    expect(bulla(['lock', '-o', lock, ...everything]).status).toBe(0);
    const file = join(folder, 'manifest.json');
    const made = bulla(['manifest', 'init', '--lock', lock, '-o', file]);
    expect([made.status, made.stdout]).toEqual([0, '']);
    expect(made.stderr).toMatch(/^Drafted 19 tools\./);
    expect(made.stderr).toContain('    get-sum → get_sum\n');
    expect(bulla(['manifest', 'validate', file]).status).toBe(0);

    const again = bulla(['manifest', 'init', '--lock', lock, '-o', file]);
    expect([again.status, again.stderr.includes('[FILE_EXISTS]')]).toEqual([2, true]);
    expect(bulla(['manifest', 'init', '--lock', lock, '-o', file, '--force', '--quiet'])).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
    expect(bulla(['manifest', 'init', '--lock', lock, '--quiet']).stdout).toBe(readFileSync(file, 'utf8'));
    const json = JSON.parse(bulla(['manifest', 'init', '--lock', lock, '--json']).stdout);
    expect(json.draft).toEqual(JSON.parse(readFileSync(file, 'utf8')));
    expect([json.ok, json.bindings.get_sum]).toEqual([
      true,
      { server: 'mcp-servers/everything', tool: 'get-sum' },
    ]);
    const bindings = join(folder, 'bindings.json');
    const words = join(folder, 'words.json');
    const init = ['manifest', 'init', '--lock', lock, '--server', 'all', '--bindings', bindings];
    const named = bulla([...init, '--catalogue', words, '--quiet']);
    const { permission_scopes } = JSON.parse(named.stdout);
    expect([named.status, permission_scopes[0].id]).toEqual([0, expect.stringMatching(/^all:[a-z]+$/)]);
    expect(JSON.parse(readFileSync(words, 'utf8'))).toMatchObject({
      'agent.tools.get_sum.desc': 'Returns the sum of two numbers',
      [permission_scopes[0].label_i18n_key]: permission_scopes[0].id.replace(':', ': '),
    });
    expect(JSON.parse(readFileSync(bindings, 'utf8')).get_sum).toEqual({ server: 'all', tool: 'get-sum' });
    expect(bulla([...init, '--quiet']).stderr).toContain('[FILE_EXISTS]');
  });

  test('a lock of hashes alone is refused, and nothing is written', () => {
    const folder = temporaryFolder();
    const lock = join(folder, 'mcp-lock.json');
    expect(bulla(['lock', '--format', 'v3', '-o', lock, ...everything]).status).toBe(0);
    const file = join(folder, 'manifest.json');
    const { status, stderr } = bulla(['manifest', 'init', '--lock', lock, '-o', file]);
    expect([status, stderr.includes('[LOCK_NO_DEFINITIONS]'), existsSync(file)]).toEqual([2, true, false]);
  });
});

describe('verify recognises manifests', () => {
  test('good, bad and broken ones', () => {
    const good = bulla(['verify', '--json', old]);
    expect([good.status, JSON.parse(good.stdout).files[0]]).toMatchObject([
      0,
      { kind: 'manifest', ok: true, details: { tools: 4, scopes: 4 } },
    ]);
    const file = changed(temporaryFolder(), (m) => Object.assign(m, { agent_version: 'x' }));
    const bad = bulla(['verify', '--json', file]);
    expect([bad.status, JSON.parse(bad.stdout).files[0]]).toMatchObject([
      1,
      { kind: 'manifest', ok: false, code: 'MANIFEST_AGENT_VERSION' },
    ]);
    expect(bulla(['verify', '-'], '{"capability_flags":{},"capability_flags":{}}').status).toBe(2);
  });

  test('which nobody signed: whoever asks for a signature or another kind is not satisfied', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'k'), 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a\n');
    writeFileSync(join(folder, 'policy'), 'quorum none\n');
    for (const args of [
      ['--public-key', join(folder, 'k')],
      ['-k', join(folder, 'k')],
      ['--require-pq'],
      ['--policy', join(folder, 'policy')],
    ])
      expect([args[0], bulla(['verify', old, ...args])]).toMatchObject([
        args[0],
        { status: 3, stdout: expect.stringContaining('[VERIFY_UNSIGNED]') },
      ]);
    expect(bulla(['verify', old, '--kind', 'manifest']).status).toBe(0);
    expect(bulla(['verify', old, '--kind', 'capsules', '--kind', 'log-proof'])).toEqual({
      status: 1,
      stdout: `BAD  ${old} (manifest): Another kind was asked for: capsules or log proof. [VERIFY_KIND]\n`,
      stderr: '',
    });
    expect(bulla(['verify', old, '--kind', 'capsule']).status).toBe(2);
  });

  test('a capsule that is a manifest too is neither', () => {
    const both = JSON.stringify({ ...JSON.parse(readFileSync(old, 'utf8')), signature: '00', hash: '00' });
    expect(bulla(['verify', '-'], both)).toEqual({
      status: 2,
      stdout: '',
      stderr:
        'bulla: This could be read as two kinds of artifact: manifest, capsules. (-) [VERIFY_AMBIGUOUS]\n',
    });
  });
});
