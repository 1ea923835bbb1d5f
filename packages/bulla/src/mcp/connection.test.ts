import { stringify } from '@bulla/core/json';
import { expect, test } from 'vitest';
import { refusal } from '../../test/mcp.ts';
import { Connection } from './connection.ts';
import { type Frame, idKey, type RequestFrame, resultFrame } from './frame.ts';
import type { Receiver } from './transport.ts';

/** A connection to a server of which the test decides what it sends. */
async function connected() {
  const sent: Frame[] = [];
  let receiver!: Receiver;
  const connection = await Connection.open(
    async (given) => {
      receiver = given;
      return {
        isPerRequest: false,
        send: async (frame) => void sent.push(frame),
        established() {},
        close: async () => {},
      };
    },
    { reply: () => null },
  );
  return {
    connection,
    sent: () => sent as RequestFrame[],
    answer: (index: number) => receiver.frame(resultFrame((sent[index] as RequestFrame).id, { index })),
    receiver,
  };
}

test('answers find their requests in any order, under ids that cannot be guessed', async () => {
  const { connection, sent, answer } = await connected();
  const asked = [connection.request('a'), connection.request('b'), connection.request('c')];
  const ids = sent().map(({ id }) => Number(idKey(id)));
  expect(new Set(ids).size).toBe(3);
  expect(Math.max(...ids)).toBeGreaterThan(2 ** 32);
  for (const index of [2, 0, 1]) answer(index);
  expect((await Promise.all(asked)).map((result) => stringify(result))).toEqual(
    [0, 1, 2].map((index) => `{"index":${index}}`),
  );
  answer(1);
  expect(connection.failure).toMatchObject({
    code: 'MCP_ANSWER_UNKNOWN',
    message: expect.stringMatching(/ twice\.$/),
  });
});

test('an answer to what was given up is no offence, but a second one is', async () => {
  const { connection, answer } = await connected();
  const stop = new AbortController();
  const asked = connection.request('a', {}, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
  answer(0);
  expect(connection.failure).toBeNull();
  answer(0);
  expect(connection.failure).toMatchObject({
    code: 'MCP_ANSWER_UNKNOWN',
    message: expect.stringMatching(/ twice\.$/),
  });
});

test('an answer under a guessed id ends the connection', async () => {
  const { connection, receiver } = await connected();
  const asked = refusal(connection.request('a'));
  receiver.frame(resultFrame('1', {}));
  expect(await asked).toMatchObject({ code: 'MCP_ANSWER_UNKNOWN' });
});

test('params that JSON cannot hold are refused, and leave nothing open', async () => {
  const { connection, sent } = await connected();
  expect((await refusal(connection.request('a', { value: Number.NaN }))).code).toMatch(/^VALUE_/);
  await connection.close();
  expect(sent()).toEqual([]);
});
