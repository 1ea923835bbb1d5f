import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf } from '@bulla/core/consent';
import { expect, test } from 'vitest';
import { AGENT, grantedStore, modernCall, SERVER, TERMINAL, USER } from '../../../test/approvals.ts';
import { rogueLock } from '../../../test/guard.ts';
import { begin, exchange, hashOf, startListener, stateless } from '../../../test/listen.ts';
import { script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';

const ARGS = { text: 'hello' };
const wait = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A gateway over HTTP whose server takes a while, and asks a person about each call. */
async function start() {
  const { store, consent } = await grantedStore('high', { highChannels: 'out-of-band' });
  const log = join(temporaryFolder(), 'received');
  const { user, device } = identityOf({
    transport: 'stdio',
    agent: AGENT,
    uid: 1000,
    installation: 'here',
    process: null,
  });
  const listener = await startListener(
    {
      server: script('rogue.mjs', log, 'slow', '400'),
      lock: await rogueLock('ordinary'),
      store,
      name: SERVER,
      consent: () => ({
        consent,
        identity: { transport: 'http', user, agent: AGENT, device, session: null, conversation: 'direct' },
      }),
    },
    { agents: [{ id: AGENT, tokenHash: hashOf(AGENT) }], streamAfterMs: 20 },
  );
  const call = () => stateless('tools/call', modernCall(ARGS), { authorization: `Bearer ${AGENT}` });
  const executed = () =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          .filter((line) => line.includes('"tools/call"')).length
      : 0;
  const allow = async () => {
    for (;;) {
      const [prompt] = await consent.pending();
      if (prompt !== undefined) {
        const { id, shown } = prompt;
        await consent.answer({ prompt: id, shown, choice: 'allow-once', who: USER, channel: TERMINAL });
        return;
      }
      await wait();
    }
  };
  return { listener, store, consent, call, executed, allow };
}

test('a broken stream loses no approved call: it goes on, and the same call gets its answer', async () => {
  const { listener, store, consent, call, executed, allow } = await start();
  const { port } = listener;
  const { sent } = await begin(port, call());
  await allow();
  while (executed() === 0) await wait();
  sent.destroy();
  const { status, text } = await exchange(port, call());
  const [message] = text.match(/\{"jsonrpc".*\}/)!;
  const { result } = JSON.parse(message);
  expect([status, result.content, Object.keys(result._meta)]).toEqual([
    200,
    [{ type: 'text', text: 'echo {"text":"hello"}' }],
    ['bulla/repeats'],
  ]);
  expect([executed(), await consent.pending()]).toEqual([1, []]);
  await listener.close(AbortSignal.abort());
  await store.close();
});

test('a stream that breaks while a person thinks withdraws the question', async () => {
  const { listener, store, consent, call, executed } = await start();
  const { sent } = await begin(listener.port, call());
  while ((await consent.pending()).length === 0) await wait();
  sent.destroy();
  while ((await consent.pending()).length > 0) await wait();
  expect(executed()).toBe(0);
  await listener.close(AbortSignal.abort());
  await store.close();
});
