import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { initialize, lockOf, rogueLock, startGuard, startRogue } from '../../test/guard.ts';
import { script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';

/** A message with its id taken out, and the id: everything else must be the sender's. */
function apart(line: string): [string, string] {
  const [, id] = /"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)/.exec(line)!;
  return [line.replace(id!, '#'), id!];
}

test('what the host sends reaches the server byte for byte, but for the id', async () => {
  const log = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', log, 'ordinary');
  const guarded = await startGuard({ server, lock: await rogueLock('ordinary') });
  await initialize(guarded);
  const calls = [
    '{ "params" : {"name":"echo","arguments":{"text":"\\u00e9\\/","n":1.50,"big":10000000000000000000001}},"method":"tools/call" , "id":"\\u0061b" ,"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":-7,"method":"tools/call","params":{"arguments":{"__proto__":{},"2":0,"1":0},"name":"echo","_meta":{"x":"\u{1f600}"}}}\t',
    '{"jsonrpc":"2.0","id":90071992547409930001,"method":"tools/call","params":{"name":"echo","arguments":{"e":1E400}}}',
  ];
  for (const call of calls) guarded.send(call);
  await guarded.until(({ id }) => id === 'ab');
  await guarded.until(({ id }) => id === -7);
  await guarded.until(({ id }) => typeof id === 'number' && id > 1e19);
  const received = readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.includes('tools/call'));
  expect(received.map((line) => apart(line)[0])).toEqual(calls.map((line) => apart(line)[0]));
  const ids = received.map((line) => apart(line)[1]);
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) expect(id).toMatch(/^\d+$/);
  // The ids come back as they were written.
  expect(
    guarded.lines
      .slice(1)
      .map((line) => apart(line)[1])
      .toSorted(),
  ).toEqual(['"\\u0061b"', '-7', '90071992547409930001']);
});

test('what the server answers reaches the host byte for byte, but for the id', async () => {
  const guarded = await startRogue('exact-bytes');
  await initialize(guarded);
  guarded.send('{"jsonrpc":"2.0","id":"caf\\u00e9","method":"tools/call","params":{"name":"echo"}}');
  await guarded.until(({ id }) => id === 'caf\u00e9');
  expect(guarded.lines.at(-1)).toBe(
    '{ "result" : {"content":[],"n":1.50,"big":10000000000000000000001,"u":"\\u00e9\\/"},"id": "caf\\u00e9" , "jsonrpc":"2.0"}',
  );
});

test('of a list, only what is not locked is missing', async () => {
  const lock = await rogueLock('ordinary');
  const expected = await startRogue('ordinary');
  await initialize(expected);
  await expected.ask('tools/list', {}, 1);
  const whole = expected.lines.at(-1)!;
  const add = /,\{"name":"add".*?\}\}\}\}/.exec(whole)![0];
  const tools = new Map([...lock.native!.tools].filter(([name]) => name !== 'add'));
  const guarded = await startRogue('ordinary', { lock: { ...lock, native: { ...lock.native!, tools } } });
  await initialize(guarded);
  await guarded.ask('tools/list', {}, 1);
  expect(guarded.lines.at(-1)).toBe(whole.replace(add, ''));
});

test('a lock of the released program guards what it holds', async () => {
  const target = script('rogue.mjs', '/dev/null', 'ordinary');
  for (const format of ['v3', 'v2'] as const) {
    const guarded = await startRogue('poisons-silently', {
      lock: await lockOf(target, { format }),
      recheckMs: 0,
    });
    const { result } = await initialize(guarded);
    expect(result.instructions).toBeUndefined();
    expect(result.capabilities).toEqual({ tools: { listChanged: true }, prompts: {}, resources: {} });
    expect((await guarded.call('add')).result.content[0].text).toBe('add {}');
    expect((await guarded.call('echo')).error?.data?.code).toBe('GATEWAY_CHANGED');
    const prompts = (await guarded.ask('prompts/list')).result.prompts;
    expect(prompts).toHaveLength(format === 'v3' ? 1 : 0);
    expect((await guarded.ask('resources/list')).result.resources).toEqual([]);
    await guarded.end();
  }
});
