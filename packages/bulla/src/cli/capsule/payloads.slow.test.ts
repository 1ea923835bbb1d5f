import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { bundledGuard, type Place, preparePlace, runGuard, shakeHands } from '../../../test/guard-process.ts';
import { script } from '../../../test/mcp.ts';
import { bulla as run, temporaryFolder } from '../../../test/run.ts';

const cli = bundledGuard();
const AWS = `AKIA${'IOSFODNN7EXAMPLE'}`;
const HIDDEN = 'correct horse battery staple';

/** A configuration with one server, and what it says of the tool `echo`. */
async function prepare(echo: object): Promise<Place & { file: string }> {
  const server = script('rogue.mjs', join(temporaryFolder(), 'received'), 'ordinary');
  const place = await preparePlace(server);
  const file = join(place.home, 'bulla.json');
  const { command, args } = server;
  const rogue = { command, args, lock: 'mcp-lock.json', tools: { echo } };
  const store = { url: 'store.db', keys: 'keys' };
  writeFileSync(file, JSON.stringify({ store, servers: { rogue } }));
  return { ...place, file };
}

const start = ({ file, home }: { file: string; home: string }) =>
  runGuard(
    { kind: 'stdio', command: process.execPath, args: [cli(), '--config', file], env: [] },
    { BULLA_HOME: home },
  );

test('what a configuration lets be kept is shown with what was removed, and erased', async () => {
  const place = await prepare({ record: { arguments: true, result: true, redact: ['/secret'] } });
  const guard = start(place);
  await shakeHands(guard);
  const args = { text: 'a\u001b[31m\u202eb', secret: HIDDEN, n: 9007199254740993n, key: AWS };
  const json = JSON.stringify(args, (_, value) =>
    typeof value === 'bigint' ? Number(value) : value,
  ).replace('9007199254740992', '9007199254740993');
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${json}}}\n`;
  guard.child.stdin!.write(call);
  await guard.lines(2);
  guard.child.stdin!.end();
  const { code, stderr } = await guard.ended();
  expect(code, stderr).toBe(0);

  const bulla = (...words: string[]) => run(words, '', { BULLA_HOME: place.home });
  const exported = bulla('capsule', 'export').stdout;
  const [intent, outcome] = exported
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'tool');
  for (const secret of [AWS, HIDDEN]) {
    for (const file of globSync(join(place.home, '**'), { withFileTypes: true }))
      if (file.isFile()) expect(readFileSync(join(file.parentPath, file.name)).includes(secret)).toBe(false);
    expect(exported + stderr).not.toContain(secret);
  }

  const shown = bulla('capsule', 'payloads', intent.id);
  expect([shown.status, shown.stderr]).toEqual([0, '']);
  expect(
    shown.stdout,
  ).toBe(`arguments  REDACTED COPY; it is the one that was recorded, and does not open the commitment to the whole value
  removed /secret by a rule
  removed /key because it looked like a secret (aws)
{
  "key": "[redacted]",
  "n": 9007199254740993,
  "secret": "[redacted]",
  "text": "a\\u001b[31m\\u202eb"
}
result  REDACTED COPY; it is the one that was recorded, and does not open the commitment to the whole value
  removed /content/0/text because it looked like a secret (aws)
{
  "content": [
    {
      "text": "[redacted]",
      "type": "text"
    }
  ]
}
`);
  expect(bulla('capsule', 'payloads', outcome.id).stdout).toBe(shown.stdout);
  const document = bulla('capsule', 'payloads', outcome.id, '--json').stdout;
  expect(document).toContain('"n":9007199254740993');
  expect(JSON.parse(document)).toMatchObject({
    ok: true,
    capsule_id: outcome.id,
    payloads: [
      { of: 'args', state: 'redacted', removed: [{ pointer: '/secret', by: 'rule' }, { pointer: '/key' }] },
      { of: 'result', state: 'redacted', removed: [{ by: 'secret', kind: 'aws' }] },
    ],
  });

  // A copy that somebody changed is not shown.
  const db = new Database(place.store);
  db.exec(`UPDATE opening SET payload = replace(payload, '/secret', '/public') WHERE kind = 'redacted-args'`);
  db.close();
  const changed = bulla('capsule', 'payloads', intent.id);
  expect([changed.status, changed.stdout.split('\n')[0]]).toEqual([
    1,
    'arguments  BAD  what lies beside the chain does not open the commitment of the record, and is not shown [RECORD_PAYLOAD_CHANGED]',
  ]);

  const erased = bulla('capsule', 'erase', intent.id);
  expect([erased.status, erased.stdout]).toEqual([
    0,
    expect.stringMatching(/^Erased 4 openings, sealed as [0-9a-f]{64}\n$/),
  ]);
  expect(bulla('capsule', 'payloads', intent.id)).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^arguments {2}erased,.*\nresult {2}erased,.*\n$/),
  });
  expect(bulla('capsule', 'erase', intent.id).stdout).toMatch(/^There was nothing to erase, sealed as /);
  expect(bulla('chain', 'verify').status).toBe(0);
  const acts = bulla('capsule', 'export')
    .stdout.trim()
    .split('\n')
    .slice(-2)
    .map((line) => JSON.parse(line));
  expect(acts).toMatchObject([
    { type: 'auth', domain: 'admin', context: { environment: { bulla: { facts: { erased: intent.id } } } } },
    { type: 'auth', domain: 'admin' },
  ]);
  expect(bulla('capsule', 'payloads', 'none')).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('[CAPSULE_NOT_FOUND]'),
  });
}, 120_000);
