import { expect, test } from 'vitest';
import { initialize, openTestStore, records, rogueLock, startGuard, startRogue } from '../../test/guard.ts';
import { refusal, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import type { Consent } from '../consent/index.ts';
import type { Verifier } from '../envelope/index.ts';
import { consentGate, envelopeGate } from './gates/index.ts';

test('without a record the lock holds, and nothing is written', async () => {
  const store = await openTestStore(temporaryFolder());
  const guarded = await startRogue('adds-a-twin', { record: false, store });
  await initialize(guarded);
  const { tools } = (await guarded.ask('tools/list')).result;
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(['echo', 'add']);
  const answer = await guarded.call('echo', { text: 'hello' });
  expect(answer.result).toEqual({ content: [{ type: 'text', text: 'echo {"text":"hello"}' }] });
  expect((await guarded.call('evil')).error).toMatchObject({
    code: 403,
    data: { code: 'GATEWAY_NOT_LOCKED', tool: 'evil', capsule: null },
  });
  expect(await guarded.end()).toEqual({ ended: 'host', error: null, calls: 1, blocked: 1 });
  expect(guarded.log).toHaveLength(2);
  expect(await records(store)).toEqual([]);
  await store.close();
});

test('what must be recorded with a call denies it', async () => {
  const seen: unknown[] = [];
  const guarded = await startRogue('ordinary', {
    record: false,
    gates: [
      {
        name: 'policy',
        rule({ call: { args, rest } }) {
          seen.push([args, rest]);
          return { pass: { onIntent: () => async () => {} } };
        },
      },
    ],
  });
  await initialize(guarded);
  expect((await guarded.call('echo')).error).toMatchObject({
    code: 503,
    data: { stage: 'record', code: 'RECORD_FAILED' },
  });
  expect(seen).toEqual([[undefined, undefined]]);
  await guarded.end();
  expect(guarded.received().map(({ method }) => method)).not.toContain('tools/call');
});

test('gates and modes that are nothing without a record are refused', async () => {
  const server = script('rogue.mjs', '/dev/null', 'ordinary');
  const common = { server, lock: await rogueLock('ordinary'), store: undefined };
  const identity = { transport: 'stdio', agent: 'bot', user: null, session: null, device: null } as never;
  const start = async (options: object) => refusal((await startGuard({ ...common, ...options })).over);
  for (const gate of [
    consentGate({ consent: {} as Consent, identity }),
    envelopeGate({ verifier: {} as Verifier, envelopeOf: () => null }),
  ])
    expect((await start({ record: false, gates: [gate] })).code).toBe('USAGE');
  expect((await start({ record: false, mode: 'audit' })).code).toBe('USAGE');
  expect((await start({})).code).toBe('USAGE');
});
