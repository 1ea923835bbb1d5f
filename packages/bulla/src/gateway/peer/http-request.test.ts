import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { serveHttp } from '../../../test/http.ts';
import { begin, errorIn, eventually } from '../../../test/listen.ts';
import { weightOf } from '../wire/slots.ts';
import { Room } from './http-request.ts';
import { type Refusal, refuse } from './http-response.ts';

/** Takes bodies in, each of which is done when it is released. */
async function startRoom(limits: ConstructorParameters<typeof Room>[0]) {
  const room = new Room(limits);
  const inside: { weight: number; release(): void }[] = [];
  let received = 0;
  const url = await serveHttp(async (request, response) => {
    request.on('end', () => received++);
    try {
      await room.read(request, 10_000, (body) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const entry = { weight: weightOf(body), release: resolve };
        inside.push(entry);
        return promise.finally(() => inside.splice(inside.indexOf(entry), 1));
      });
      response.end('done');
    } catch (error) {
      refuse(response, error as Refusal, null);
    }
  });
  const send = async (body: Uint8Array) => {
    const { got } = await begin(Number(url.port), { body });
    return { status: got.statusCode!, headers: got.headers, text: await text(got) };
  };
  return { inside, send, received: () => received };
}

/** A body that weighs far more than it is long. */
const heavy = new Uint8Array(1000).fill(0x2c);
const light = new Uint8Array(100);

test('messages are parsed only as far as there is room for them, in their order', async () => {
  const weight = weightOf(heavy);
  expect(weight).toBe(1000 + 128 * 1001);
  const { inside, send, received } = await startRoom({ unread: 100_000, weight: weight + 1000 });
  const replies = [send(heavy)];
  await eventually(() => inside.map((entry) => entry.weight)).toEqual([weight]);
  replies.push(send(heavy));
  await eventually(received).toBe(2);
  // It would fit, but does not overtake.
  replies.push(send(light));
  await eventually(received).toBe(3);
  expect(inside).toHaveLength(1);
  inside[0]!.release();
  await eventually(() => inside.map((entry) => entry.weight)).toEqual([weight, weightOf(light)]);
  for (const { release } of [...inside]) release();
  expect((await Promise.all(replies)).map((reply) => reply.text)).toEqual(['done', 'done', 'done']);
});

test('one that weighs more than all room is taken alone', async () => {
  const { inside, send } = await startRoom({ unread: 100_000, weight: 10 });
  const reply = send(heavy);
  await eventually(() => inside.length).toBe(1);
  inside[0]!.release();
  expect((await reply).text).toBe('done');
});

test('what is not parsed yet has a limit too', async () => {
  const { inside, send, received } = await startRoom({ unread: 2500, weight: 10 });
  const replies = [send(heavy)];
  await eventually(() => inside.length).toBe(1);
  // Two wait for the first one; for a third there is no room.
  replies.push(send(heavy), send(heavy));
  await eventually(received).toBe(3);
  const refused = await send(heavy);
  expect([errorIn(refused), refused.headers['retry-after']]).toEqual([
    [503, null, 503, 'GATEWAY_OVERLOADED', 'Bulla: Too many messages are on their way.'],
    '5',
  ]);
  for (let done = 0; done < 3; done++) {
    await eventually(() => inside.length).toBe(1);
    inside[0]!.release();
    await eventually(() => inside.length).toBe(done === 2 ? 0 : 1);
  }
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200, 200]);
});
