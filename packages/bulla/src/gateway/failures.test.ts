import { describe, expect, test } from 'vitest';
import { initialize, type Message, records, startRogue, told } from '../../test/guard.ts';

// What fails in the gateway itself is never taken for something that the host or the server did, and ends nothing.

const NAME = 'io.modelcontextprotocol/serverInfo';

describe('a message of a great many members', () => {
  test('is answered, however the server describes itself in it', async () => {
    const guarded = await startRogue('names-itself-at-length', { count: 130_000 });
    await initialize(guarded);
    expect((await guarded.call('echo')).result).toEqual({
      content: [{ type: 'text', text: 'echo {}' }],
      _meta: { [NAME]: { name: 'rogue' } },
    });
    expect(await guarded.end()).toMatchObject({ ended: 'host', error: null, calls: 1 });
  });

  test('is forwarded without what the host may not offer', async () => {
    const guarded = await startRogue('ordinary', { features: ['roots'] });
    await initialize(guarded);
    const many = Array.from({ length: 300_000 }, (_, i) => `"k${i}":0`).join();
    const capabilities = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{${many},"roots":{}}}`;
    guarded.send(
      `{"jsonrpc":"2.0","id":"many","method":"tools/call","params":{"name":"echo",${capabilities}}}`,
    );
    expect((await guarded.until(({ id }) => id === 'many')).result.content[0].text).toBe('echo {}');
    const call = guarded.received().find(({ method }) => method === 'tools/call')!;
    expect(call.params!._meta).toEqual({ 'io.modelcontextprotocol/clientCapabilities': { roots: {} } });
    await guarded.end();
    expect(await told(guarded.store)).toEqual([
      'tools/call rogue/echo pending',
      'tools/call rogue/echo success',
    ]);
  });
});

describe('a failure of ours', () => {
  /** A guard whose operator cannot be told of some things. */
  const failing = (behaviour: string, on: RegExp) => {
    const log: string[] = [];
    const tell = (line: string): void => {
      if (on.test(line)) throw new RangeError('Maximum call stack size exceeded');
      log.push(line);
    };
    return startRogue(behaviour, { log: tell }).then((guarded) => ({ guarded, tellings: log }));
  };
  const FAILED = {
    code: -32603,
    message: 'Bulla: The gateway failed.',
    data: { stage: 'bulla', code: 'GATEWAY_FAILED' },
  };
  const errorOf = ({ error }: Message) => error;

  test('at an answer fails that request, with an outcome, and the session goes on', async () => {
    const { guarded, tellings } = await failing('names-itself-at-length', /SELF_CHANGED/);
    await initialize(guarded);
    expect(errorOf(await guarded.call('echo'))).toMatchObject(FAILED);
    // Everything is told once only.
    expect((await guarded.call('echo')).result.content).toHaveLength(1);
    expect(await guarded.end()).toMatchObject({ ended: 'host', error: null, calls: 2 });
    expect((await told(guarded.store)).filter((line) => line.includes('tools/call rogue/echo'))).toEqual([
      'tools/call rogue/echo pending',
      'tools/call rogue/echo failure GATEWAY_FAILED',
      'tools/call rogue/echo pending',
      'tools/call rogue/echo success',
    ]);
    expect(tellings).toContain(
      'tools/call: The gateway failed. (Maximum call stack size exceeded) [GATEWAY_FAILED]',
    );
    expect((await records(guarded.store)).at(-1)).toMatchObject({ type: 'system' });
  });

  test('at the answer to what is not recorded fails that request', async () => {
    const { guarded } = await failing('names-itself-at-length', /SELF_CHANGED/);
    await initialize(guarded);
    expect(errorOf(await guarded.ask('ping'))).toMatchObject(FAILED);
    expect((await guarded.ask('ping')).result._meta[NAME]).toEqual({ name: 'rogue' });
    expect(await guarded.end()).toMatchObject({ ended: 'host', error: null });
    expect(await told(guarded.store)).toContain('ping rogue blocked GATEWAY_FAILED');
  });

  test('at a denial is told to the host', async () => {
    const { guarded, tellings } = await failing('ordinary', /NOT_LOCKED/);
    await initialize(guarded);
    expect(errorOf(await guarded.call('evil'))).toMatchObject(FAILED);
    expect((await guarded.call('echo')).result.content[0].text).toBe('echo {}');
    await guarded.end();
    expect(await told(guarded.store)).toEqual([
      'tools/call rogue/evil blocked GATEWAY_NOT_LOCKED',
      'tools/call rogue blocked GATEWAY_FAILED',
      'tools/call rogue/echo pending',
      'tools/call rogue/echo success',
    ]);
    expect(tellings).toEqual([
      'tools/call: The gateway failed. ("Maximum call stack size exceeded") [GATEWAY_FAILED]',
    ]);
  });

  test('at what is no answer is answered where somebody waits', async () => {
    const { guarded, tellings } = await failing('says-what-it-is-told', /^dropped|ID_IN_USE/);
    await initialize(guarded);
    const lines = ['{"jsonrpc":"2.0","method":"notifications/x"}', '{"jsonrpc":"2.0","id":1,"method":"x"}'];
    expect((await guarded.call('echo', { lines: [...lines, '{}', '[info]'] })).result.content).toHaveLength(
      1,
    );
    guarded.send('}{');
    expect(await guarded.until(({ id }) => id === null)).toMatchObject({ error: FAILED });
    guarded.send({ jsonrpc: '2.0', method: 'notifications/x' });
    expect((await guarded.ask('ping')).result).toEqual({});
    expect(await guarded.end()).toMatchObject({ ended: 'host', error: null, calls: 1 });
    // The server has its answer too.
    expect(guarded.received().filter(({ id }) => id === 1)).toEqual([
      { jsonrpc: '2.0', id: 1, error: { ...FAILED, data: expect.objectContaining(FAILED.data) } },
    ]);
    expect(tellings.slice(0, 2)).toEqual(
      ['server', 'host'].map(
        (side) => `from ${side}: The gateway failed. ("Maximum call stack size exceeded") [GATEWAY_FAILED]`,
      ),
    );
  });
});
