import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JsonObject, type JsonValue, parse, stringify } from '@bulla/core/json';
import { readBundle } from '@bulla/core/lock';
import { describe, expect, test } from 'vitest';
import { bullaIn, lockedFolder, SHOP, sha256Of, signFolder, surfaceServer } from '../../../test/lockfiles.ts';
import { temporaryFolder } from '../../../test/run.ts';
import { indented } from '../terminal/indented.ts';

// What the released program's own end-to-end script asks of a lock program, phase by phase (its numbers).

const released = (folder: string, ...args: string[]) => bullaIn(folder, args, { BULLA_COMPAT: 'mcptrust' });

/** Writes a JSON file anew as Python's `json.dump(…, indent=2, sort_keys=True)` does. */
function dumpSorted(file: string, change: (root: JsonObject) => JsonObject): void {
  const sorted = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(sorted);
    if (!(value instanceof JsonObject)) return value;
    return JsonObject.from(
      [...value].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, sorted(member)]),
    );
  };
  writeFileSync(file, indented(stringify(sorted(change(parse(readFileSync(file)) as JsonObject)))));
}

/** Flips a digit in the description hash of the first tool. */
function flipDescription(root: JsonObject): JsonObject {
  const tools = root.get('tools') as JsonObject;
  const tool = tools.values[0] as JsonObject;
  const hash = tool.get('description_hash') as string;
  expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  const flipped = `sha256:${hash[7] === 'a' ? 'b' : 'a'}${hash.slice(8)}`;
  const changed = JsonObject.from([...tool, ['description_hash', flipped]]);
  return JsonObject.from([...root, ['tools', JsonObject.from([...tools, [tools.keys[0]!, changed]])]]);
}

/** A folder in which the released program's script has come as far as phase 5. */
async function prepared() {
  const server = surfaceServer(SHOP);
  const folder = lockedFolder(SHOP, server.words);
  await signFolder(folder);
  return { folder, server, command: server.words.join(' ') };
}

const verifying = (lock: string, signature: string, key: string) => [
  ...['verify', '--lockfile', lock, '--signature', signature, '--key', key],
];

describe('BULLA_COMPAT=mcptrust, as its end-to-end script runs it', () => {
  test('1: a scan is one document, with nothing beside it', async () => {
    const { words } = surfaceServer(SHOP);
    const { status, stdout, stderr } = await released(temporaryFolder(), 'scan', '-p', '--', words.join(' '));
    const document = JSON.parse(stdout + stderr);
    expect([status, document.error, document.tools.length]).toEqual([0, undefined, 2]);
  });

  test('3, 4: lock, keygen, sign, verify', async () => {
    const folder = temporaryFolder();
    const [locked, made] = await Promise.all([
      released(folder, 'lock', '--', surfaceServer(SHOP).words.join(' ')),
      released(folder, 'keygen', '--private', 'private.key', '--public', 'public.key'),
    ]);
    expect([locked.status, locked.stderr, made.status, made.stderr]).toEqual([0, '', 0, '']);
    expect(locked.stdout).toBe(
      'Scanning MCP server...\n✓ Lockfile created: mcp-lock.json\n  Locked 2 tool(s)\n',
    );
    const flags = ['--lockfile', 'mcp-lock.json', '--key', 'private.key', '--output', 'mcp-lock.json.sig'];
    expect((await released(folder, 'sign', ...flags)).status).toBe(0);
    const verified = await released(folder, ...verifying('mcp-lock.json', 'mcp-lock.json.sig', 'public.key'));
    expect(verified).toEqual({
      status: 0,
      stdout: '✅ Signature Verified\n  Mode: Ed25519\n  Canonicalization: v1\n',
      stderr: '',
    });
    expect(statSync(join(folder, 'private.key')).mode & 0o777).toBe(0o600);
  });

  test('5, 5b, 11: a bundle is the same every time, and what is in it verifies', async () => {
    const { folder } = await prepared();
    writeFileSync(join(folder, 'policy.yaml'), 'name: none\n');
    const flags = ['--lockfile', 'mcp-lock.json', '--signature', 'mcp-lock.json.sig'];
    for (const name of ['one.zip', 'two.zip']) {
      const { status, stderr } = await released(folder, 'bundle', 'export', ...flags, '--output', name);
      expect([status, stderr]).toEqual([0, '']);
    }
    expect(sha256Of(join(folder, 'one.zip'))).toBe(sha256Of(join(folder, 'two.zip')));
    const out = join(folder, 'out');
    mkdirSync(out);
    const { files } = readBundle(new Uint8Array(readFileSync(join(folder, 'one.zip'))));
    for (const [name, bytes] of files) writeFileSync(join(out, name), bytes);
    expect([...files.keys()]).toEqual([
      ...['README.txt', 'manifest.json', 'mcp-lock.json', 'mcp-lock.json.sig', 'policy.yaml', 'public.key'],
    ]);
    const check = verifying('mcp-lock.json', 'mcp-lock.json.sig', 'public.key');
    expect((await released(out, ...check)).status).toBe(0);
    dumpSorted(join(out, 'mcp-lock.json'), flipDescription);
    expect((await released(out, ...check)).status).toBe(1);
  });

  test('6: a flipped digit is seen by verify and by diff', async () => {
    const { folder, command } = await prepared();
    const same = await released(folder, 'diff', '--lockfile', 'mcp-lock.json', '--', command);
    expect(same.status).toBe(0);
    expect(same.stdout).toContain('✓ No changes detected - server matches lockfile');
    dumpSorted(join(folder, 'mcp-lock.json'), (root) => root);
    const check = verifying('mcp-lock.json', 'mcp-lock.json.sig', 'public.key');
    expect((await released(folder, ...check)).status).toBe(0);
    dumpSorted(join(folder, 'mcp-lock.json'), flipDescription);
    const [verified, diff] = await Promise.all([
      released(folder, ...check),
      released(folder, 'diff', '--lockfile', 'mcp-lock.json', '--', command),
    ]);
    expect([verified.status, verified.stdout]).toEqual([1, expect.stringContaining('❌ TAMPER DETECTED')]);
    expect(diff.status).toBe(1);
    expect(diff.stdout + diff.stderr).not.toContain('No changes detected');
  });

  test('7, 8, 9: another key, a broken signature, half a key', async () => {
    const { folder } = await prepared();
    const signature = readFileSync(join(folder, 'mcp-lock.json.sig'), 'utf8');
    writeFileSync(join(folder, 'broken.sig'), `0${signature.slice(1)}`.trim());
    writeFileSync(join(folder, 'half.pub'), readFileSync(join(folder, 'public.key')).subarray(0, 10));
    const results = await Promise.all([
      released(folder, ...verifying('mcp-lock.json', 'mcp-lock.json.sig', 'other.pub')),
      released(folder, ...verifying('mcp-lock.json', 'broken.sig', 'public.key')),
      released(folder, ...verifying('mcp-lock.json', 'mcp-lock.json.sig', 'half.pub')),
    ]);
    expect(results.map(({ status }) => status)).toEqual([1, 1, 1]);
  });
});

describe('BULLA_COMPAT=mcptrust otherwise', () => {
  test('--version and -v', async () => {
    const told = { status: 0, stdout: 'mcptrust version 0.1.0\n', stderr: '' };
    expect(await released(temporaryFolder(), '--version')).toEqual(told);
    expect(await released(temporaryFolder(), '-v')).toEqual(told);
  });

  test('every failure is 1', async () => {
    const folder = temporaryFolder();
    const results = await Promise.all(
      [['nonsense'], ['scan', '--', 'nonexistent-program'], ['verify'], ['sign'], ['lock', '--nonsense']].map(
        (args) => released(folder, ...args),
      ),
    );
    expect(results.map(({ status }) => status)).toEqual([1, 1, 1, 1, 1]);
  });

  test('lock --v3 overwrites without asking; lock does not, and keeps the file when nothing changed', async () => {
    const { folder, server } = await prepared();
    const unchanged = await released(folder, 'lock', '--', ...server.words);
    expect(unchanged.stdout).toContain('No drift detected - lockfile is up to date\n');
    server.show({ ...SHOP, tools: [] });
    const before = sha256Of(join(folder, 'mcp-lock.json'));
    expect((await released(folder, 'lock', '--', ...server.words)).status).toBe(1);
    expect(sha256Of(join(folder, 'mcp-lock.json'))).toBe(before);
    const written = await released(folder, 'lock', '--v3', '--', ...server.words);
    expect([written.status, written.stderr]).toEqual([0, '']);
    expect(written.stdout).toBe(
      'Scanning MCP server...\n\n✓ Lockfile v3 created: mcp-lock.json\n  Prompts: 1\n  Templates: 1\n  Tools: 0\n',
    );
  });

  test('another program than this one is not stood in for', async () => {
    const { status, stderr } = await bullaIn(temporaryFolder(), ['--version'], { BULLA_COMPAT: 'other' });
    expect([status, stderr]).toEqual([2, expect.stringContaining('[USAGE]')]);
  });
});
