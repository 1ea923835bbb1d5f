import { join } from 'node:path';
import { readEvidence } from '@bulla/core/evidence';
import { JsonNumber } from '@bulla/core/json';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { sealer } from '../../test/store-suite.ts';
import { openStore } from '../store/index.ts';
import { frozenCopy } from './copy.ts';
import { type Call, createRecorder, type Part } from './index.ts';

async function opened() {
  const store = await openStore({ url: join(temporaryFolder(), 'store.db'), create: true, sealer });
  onTestFinished(() => store.close());
  const chain = store.chain('default');
  const recorder = createRecorder(chain);
  return { recorder, length: async () => (await chain.head()).length };
}

const CALL = {
  ...{ door: 'agents', agentId: 'desk', source: 'desk', request: 'tools/call peek' },
  tool: { name: 'peek' },
} as const satisfies Call;

describe('what is recorded of a call', () => {
  test('is what all parts say together', async () => {
    const { recorder } = await opened();
    const parts: Part[] = [
      { evidence: { lock: 'l', consent: { id: 'c' }, tool: { name: 'peek', declared: 'd' } } },
      { evidence: { lock: 'l', consent: { id: 'c', asked: 'q' }, tool: { name: 'peek', locked: 'k' } } },
    ];
    await recorder.intent(CALL);
    expect(readEvidence((await recorder.intent(CALL, parts)).capsule)).toEqual({
      instance: recorder.chain.instance,
      lock: 'l',
      consent: { id: 'c', asked: 'q' },
      tool: { name: 'peek', declared: 'd', locked: 'k' },
    });
  });

  test.each<[string, Part['evidence'], Part['evidence']]>([
    ['/lock', { lock: 'a' }, { lock: 'b' }],
    ['/consent/id', { consent: { id: 'a' } }, { consent: { id: 'b', asked: 'q' } }],
    [
      '/manifest/version',
      { manifest: { agent_id: 'a', version: 1 } },
      { manifest: { agent_id: 'a', version: 2 } },
    ],
    ['/facts/list', { facts: { list: [1, 2] } }, { facts: { list: [1] } }],
    ['/tool/name', { tool: { name: 'wipe' } }, {}],
    ['/instance', { instance: 'i-2' }, {}],
  ])('is nothing where two of them differ in %s', async (path, one, other) => {
    const { recorder, length } = await opened();
    const parts = [{ evidence: one }, { evidence: other }];
    const conflict = { code: 'EVIDENCE_CONFLICT', path };
    await expect(recorder.intent(CALL, parts)).rejects.toMatchObject(conflict);
    const failure = { stage: 'consent', code: 'X' } as const;
    await expect(recorder.denied(CALL, failure, parts)).rejects.toMatchObject(conflict);
    expect(await length()).toBe(0);
  });

  test('is what its intent sealed, whatever the caller does to its objects', async () => {
    const { recorder } = await opened();
    await recorder.intent(CALL);
    const call = { ...CALL, agentId: 'desk', tool: { name: 'peek' } };
    const part = { evidence: { lock: 'l' } };
    const intent = await recorder.intent(call, [part]);
    Object.assign(call, { agentId: 'other', request: 'tools/call wipe' });
    call.tool.name = 'wipe';
    part.evidence.lock = 'm';
    const { capsule } = await recorder.outcome({ ...intent, call }, { status: 'success', durationMs: 1 });
    expect([capsule.context.agent_id, capsule.execution.tool_calls[0]]).toMatchObject([
      'desk',
      { tool: 'peek' },
    ]);
    expect(readEvidence(capsule)).toEqual({
      ...readEvidence(intent.capsule),
      intent: intent.capsule.id,
    });
  });

  test('is read once', async () => {
    const { recorder } = await opened();
    let reads = 0;
    const changing = {
      ...CALL,
      get tool() {
        return { name: reads++ === 0 ? 'peek' : 'wipe' };
      },
    };
    const seen: unknown[] = [];
    const part: Part = {
      onIntent: (_, { call, evidence }) => {
        seen.push(call.tool, evidence.tool);
        return async () => undefined;
      },
    };
    const intent = await recorder.intent(changing, [part]);
    expect([reads, ...seen, readEvidence(intent.capsule)!.tool]).toEqual([
      1,
      CALL.tool,
      CALL.tool,
      CALL.tool,
    ]);
    let statuses = 0;
    const told: string[] = [];
    const ended = await recorder.outcome(
      await recorder.intent(CALL, [
        {
          onOutcome: ({ status }) => {
            told.push(status);
            return null;
          },
        },
      ]),
      {
        durationMs: 1,
        get status() {
          return statuses++ === 0 ? ('failure' as const) : 'success';
        },
      },
    );
    expect([ended.capsule.outcome.status, ...told]).toEqual(['failure', 'failure']);
  });

  test('is one outcome an intent, also for a copy of it, and by the recorder that began it', async () => {
    const { recorder, length } = await opened();
    const intent = await recorder.intent(CALL);
    const success = { status: 'success', durationMs: 1 } as const;
    const elsewhere = createRecorder(recorder.chain);
    await expect(elsewhere.outcome(intent, success)).rejects.toMatchObject({ code: 'RECORD_ENDED' });
    const [first, second] = await Promise.allSettled([
      recorder.outcome(structuredClone(intent), success),
      recorder.outcome({ ...intent }, success),
    ]);
    expect([first.status, second]).toMatchObject(['fulfilled', { reason: { code: 'RECORD_ENDED' } }]);
    expect(await length()).toBe(2);
  });
});

const cyclic: unknown[] = [];
cyclic.push(cyclic);

describe('a frozen copy', () => {
  test('has the data and the functions, and nothing that is undefined', () => {
    const given = {
      ...{ text: 'a', none: null, gone: undefined, list: [1, { n: 2n }] },
      ...{ number: new JsonNumber('1.0'), salt: Buffer.from([1, 2]), work: () => 1 },
    };
    const copy = frozenCopy(given);
    given.salt[0] = 9;
    given.list.push(3);
    const { work, salt } = given;
    expect(copy).toEqual({
      ...{ text: 'a', none: null, list: [1, { n: 2n }], number: new JsonNumber('1.0') },
      ...{ salt: new Uint8Array([1, 2]), work },
    });
    expect([Object.keys(copy).includes('gone'), copy.salt === salt]).toEqual([false, false]);
    expect([copy, copy.list, copy.list[1], copy.number].every(Object.isFrozen)).toBe(true);
  });

  test('keeps a member that is called __proto__ a member', () => {
    const copy = frozenCopy(JSON.parse('{"__proto__":{"admin":true}}'));
    expect([Object.keys(copy), copy.admin]).toEqual([['__proto__'], undefined]);
  });

  test.each<[string, unknown]>([
    ['VALUE_NOT_JSON', { at: new Date(0) }],
    ['VALUE_NOT_JSON', [new (class Part {})()]],
    ['VALUE_TOO_DEEP', cyclic],
  ])('%s', (code, value) => {
    expect(() => frozenCopy(value)).toThrow(expect.objectContaining({ code }));
  });
});
