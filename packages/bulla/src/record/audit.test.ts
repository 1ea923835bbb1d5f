import { join } from 'node:path';
import { opens } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import { readEvidence } from '@bulla/core/evidence';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { sealer, signer, verifiedLength } from '../../test/store-suite.ts';
import { openStore, type Store, type StoreOptions, setKill } from '../store/index.ts';
import { type Audit, type AuditOptions, createAudit, createRecorder, type RecorderOptions } from './index.ts';

interface Opened extends Audit {
  readonly store: Store;
}

async function opened(options: Partial<AuditOptions & StoreOptions & RecorderOptions> = {}): Promise<Opened> {
  const url = join(temporaryFolder(), 'audit.db');
  const store = await openStore({ url, create: true, sealer, ...options });
  onTestFinished(() => store.close().catch(() => undefined));
  const recorder = createRecorder(store.chain('default'), options);
  return Object.assign(createAudit(recorder, store, { agentId: 'bot', sessionId: 's1', ...options }), {
    store,
  });
}

async function capsules({ store }: Opened) {
  const found = [];
  for await (const row of store.chain('default').records()) found.push(JSON.parse(row.data));
  return found;
}

describe('record', () => {
  test('seals the intent before the action and the outcome after it', async () => {
    const audit = await opened();
    let during = 0;
    const result = await audit.record({ request: 'say hello' }, async (step) => {
      during = (await audit.store.chain('default').head()).length;
      step.note({ summary: 'said hello', sideEffects: ['a greeting'], metrics: { words: 1 } });
      return 42;
    });
    expect([result, during]).toEqual([42, 1]);
    const [intent, outcome] = await capsules(audit);
    expect(intent).toMatchObject({
      type: 'agent',
      domain: 'agents',
      parent_id: null,
      trigger: { type: 'agent', source: 'bot', request: 'say hello', correlation_id: null, user_id: null },
      authority: { type: 'autonomous', chain: [] },
      outcome: { status: 'pending', summary: 'say hello' },
      context: { agent_id: 'bot', session_id: 's1' },
    });
    expect(outcome).toMatchObject({
      parent_id: intent.id,
      outcome: {
        status: 'success',
        summary: 'said hello',
        side_effects: ['a greeting'],
        metrics: { words: 1 },
      },
    });
    expect(await verifiedLength(audit.store, 'default')).toBe(2);
  });

  test('what the action throws passes through unchanged, and is recorded by its class', async () => {
    const audit = await opened();
    for (const error of [new RangeError('401 for token sk-123'), 'sk-123 was refused', undefined])
      await expect(
        audit.record({ request: 'go', tool: 'fetch' }, () => {
          throw error;
        }),
      ).rejects.toBe(error);
    const all = await capsules(audit);
    expect(all.filter((_, i) => i % 2 === 1).map(({ outcome }) => outcome)).toMatchObject([
      { status: 'failure', error: 'action: RangeError' },
      { status: 'failure', error: 'action: Error' },
      { status: 'failure', error: 'action: Error' },
    ]);
    // What was thrown may quote anything, and a record is for ever.
    expect(JSON.stringify(all)).not.toContain('sk-123');
  });

  test('nested actions are children of the intent around them, also when they run at once', async () => {
    const audit = await opened();
    await audit.record({ request: 'outer' }, async () => {
      await Promise.all(['a', 'b'].map((name) => audit.record({ request: name }, async () => name)));
    });
    const all = await capsules(audit);
    const outer = all.find(
      (capsule) => capsule.trigger.request === 'outer' && capsule.outcome.status === 'pending',
    );
    const inner = all.filter(
      (capsule) => ['a', 'b'].includes(capsule.trigger.request) && capsule.outcome.status === 'pending',
    );
    expect(inner.map((capsule) => capsule.parent_id)).toEqual([outer.id, outer.id]);
    expect(all.length).toBe(6);
  });

  test('arguments and results are committed to, not stored; the salt opens them and can be erased', async () => {
    const audit = await opened();
    await audit.record({ request: 'read', tool: 'read_file', arguments: { path: '/secret/plan' } }, () => ({
      text: 'attack at dawn',
    }));
    const [intent, outcome] = await capsules(audit);
    expect(JSON.stringify([intent, outcome])).not.toMatch(/secret|dawn/);
    const { v, tool, args, ...rest } = intent.context.environment.bulla;
    expect([v, tool, Object.keys(rest)]).toEqual([1, { name: 'read_file' }, ['instance', 'origin']]);
    const call = outcome.execution.tool_calls[0];
    expect(call).toMatchObject({ tool: 'read_file', success: true, arguments: args, error: null });
    const argsOpening = (await audit.store.opening(args.commitment))!;
    expect(argsOpening).toMatchObject({ chain: 'default', sequence: 0, kind: 'args', payload: null });
    expect(opens(args, 'args', { path: '/secret/plan' }, argsOpening.salt)).toBe(true);
    expect(opens(args, 'args', { path: '/secret/other' }, argsOpening.salt)).toBe(false);
    const resultOpening = (await audit.store.opening(call.result.commitment))!;
    expect(opens(call.result, 'result', { text: 'attack at dawn' }, resultOpening.salt)).toBe(true);
    expect(await audit.store.eraseOpenings(intent.id)).toBe(1);
    expect(await audit.store.opening(args.commitment)).toBe(null);
    expect(await audit.store.opening(call.result.commitment)).toEqual(resultOpening);
    expect(await verifiedLength(audit.store, 'default')).toBe(2);
  });

  test('with payloads recorded, they lie beside the chain', async () => {
    const audit = await opened({ recordPayloads: true });
    await audit.record({ request: 'read', tool: 'read_file', arguments: { path: 'x' } }, () => 7);
    const [intent, outcome] = await capsules(audit);
    const { commitment } = intent.context.environment.bulla.args;
    expect((await audit.store.opening(commitment))!.payload).toBe('{"path":"x"}');
    const { result } = outcome.execution.tool_calls[0];
    expect((await audit.store.opening(result.commitment))!.payload).toBe('7');
  });

  test('without a record there is no action', async () => {
    const audit = await opened({
      sealer: () => {
        throw new Error('the key is gone');
      },
    });
    const action = vi.fn();
    await expect(audit.record({ request: 'x' }, action)).rejects.toThrow('the key is gone');
    expect(action).not.toHaveBeenCalled();
  });

  test('while a kill switch stands nothing is done, and the attempt is recorded', async () => {
    const audit = await opened();
    const effect = setKill({ agentId: null, reason: 'stop', capsuleId: 'k' });
    await audit.store.chain('default').append({ type: 'kill', outcome: { status: 'blocked' } }, { effect });
    const action = vi.fn();
    await expect(audit.record({ request: 'x' }, action)).rejects.toMatchObject({ code: 'KILLED' });
    expect(action).not.toHaveBeenCalled();
    expect((await capsules(audit))[1].outcome).toMatchObject({
      status: 'blocked',
      error: 'kill: KILLED: A kill switch stands for everything: stop',
    });
  });

  test('a kill switch that stands before the action begins stops it, also when the intent is sealed', async () => {
    const url = join(temporaryFolder(), 'audit.db');
    const operator = await openStore({ url, create: true });
    onTestFinished(() => operator.close());
    let kill = false;
    const killing = {
      ...signer,
      sign: async (message: Uint8Array) => {
        if (kill) await operator.transaction(setKill({ agentId: 'bot', reason: 'stop', capsuleId: 'k' }));
        return signer.sign(message);
      },
    };
    const audit = await opened({ url, sealer: () => ({ signer: killing }) });
    await audit.record({ request: 'before' }, () => undefined);
    kill = true;
    const action = vi.fn();
    await expect(audit.record({ request: 'x' }, action)).rejects.toMatchObject({ code: 'KILLED' });
    expect(action).not.toHaveBeenCalled();
    const [intent, outcome] = (await capsules(audit)).slice(-2);
    expect([intent.outcome.status, outcome.outcome.status, outcome.outcome.error]).toEqual([
      'pending',
      'blocked',
      'kill: KILLED: A kill switch stands for agent bot: stop',
    ]);
    expect(outcome.parent_id).toBe(intent.id);
  });

  test('an outcome that cannot be recorded is never silent', async () => {
    const losses: unknown[] = [];
    let broken = false;
    const audit = await opened({
      onLoss: (loss) => losses.push(loss.intent?.trigger.request),
      sealer: () => {
        if (broken) throw new Error('no key');
        return sealer();
      },
    });
    const done = audit.record({ request: 'good' }, () => {
      broken = true;
      return 'done';
    });
    await expect(done).rejects.toMatchObject({ code: 'RECORD_OUTCOME_LOST', result: 'done' });
    broken = false;
    const error = new Error('own');
    await expect(
      audit.record({ request: 'bad' }, () => {
        broken = true;
        throw error;
      }),
    ).rejects.toBe(error);
    expect([losses, audit.lost]).toEqual([['good', 'bad'], 2]);
  });

  test('a denial that cannot be recorded stays a denial, and is told', async () => {
    const losses: unknown[] = [];
    let broken = false;
    const audit = await opened({
      onLoss: ({ intent, error }) => {
        losses.push([intent, (error as BullaError).code]);
        throw new Error('the listener itself fails');
      },
      sealer: () => {
        if (broken) throw new BullaError('STORE_NO_KEY', 'No key.');
        return sealer();
      },
    });
    await audit.store.transaction(setKill({ agentId: 'bot', reason: 'stop', capsuleId: 'k' }));
    broken = true;
    await expect(audit.record({ request: 'x' }, vi.fn())).rejects.toMatchObject({ code: 'KILLED' });
    expect([losses, audit.lost]).toEqual([[[null, 'STORE_NO_KEY']], 1]);
  });

  test('what it rests on stands in both capsules, whatever the program does to its objects meanwhile', async () => {
    const audit = await opened();
    const environment: Record<string, never> = { host: 'h1' as never };
    const authority = [
      { type: 'human_approved', approver: 'ann', step: { step: 'ticket', id: 'T-1' } },
    ] as const;
    const about = { source: 'cron', correlationId: 'trace-1', userId: 'u1', reasoning: { confidence: 1 } };
    await audit.record({ request: 'deploy', ...about, environment, authority }, () => {
      environment.host = Symbol('unsealable') as never;
    });
    for (const capsule of await capsules(audit)) {
      expect(capsule).toMatchObject({
        trigger: { source: 'cron', correlation_id: 'trace-1', user_id: 'u1' },
        context: { environment: { host: 'h1' } },
        reasoning: { confidence: 1 },
        authority: { type: 'human_approved', approver: 'ann', chain: [{ step: 'ticket', id: 'T-1' }] },
      });
    }
    expect(await verifiedLength(audit.store, 'default')).toBe(2);
  });

  test('arguments that JSON cannot carry are refused before anything is done, and that is recorded', async () => {
    const audit = await opened();
    const action = vi.fn();
    const args = { when: new Date(0) } as never;
    await expect(audit.record({ request: 'x', tool: 'book', arguments: args }, action)).rejects.toMatchObject(
      { code: 'VALUE_NOT_JSON' },
    );
    expect(action).not.toHaveBeenCalled();
    const [denied] = await capsules(audit);
    expect(readEvidence(denied)?.args).toEqual({ uncommitted: 'VALUE_NOT_JSON' });
    expect(denied.outcome).toMatchObject({ status: 'blocked', error: 'arguments: VALUE_NOT_JSON' });
  });

  test('ten audited calls at once are twenty records', async () => {
    const audit = await opened();
    await Promise.all(
      Array.from({ length: 10 }, (_, i) => audit.record({ request: `n${i}` }, async () => i)),
    );
    expect(await verifiedLength(audit.store, 'default')).toBe(20);
  });
});

describe('an outcome', () => {
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };

  test('is recorded whatever the action throws, and that passes through', async () => {
    const audit = await opened();
    const thrown = revoked();
    const caught = await audit
      .record({ request: 'x', tool: 'x' }, () => {
        throw thrown;
      })
      .then(
        () => 'nothing',
        (error) => error === thrown,
      );
    expect([caught, audit.lost]).toEqual([true, 0]);
    expect((await capsules(audit))[1].outcome).toMatchObject({ status: 'failure', error: 'action: Error' });
  });

  test('does not tell the words of an error, also of one that calls itself a kill switch', async () => {
    const audit = await opened();
    const action = audit.record({ request: 'x' }, () => {
      throw new BullaError('KILLED', 'card 4111');
    });
    await expect(action).rejects.toMatchObject({ message: 'card 4111' });
    expect((await capsules(audit))[1].outcome.error).toBe('action: KILLED');
  });

  test('is one, says whose it is, and has a duration that a capsule can hold', async () => {
    const { store } = await opened();
    const recorder = createRecorder(store.chain('default'));
    const call = {
      door: 'agents',
      agentId: 'a',
      source: 'a',
      request: 'pay',
      tool: { name: 'pay' },
    } as const;
    const intent = await recorder.intent(call);
    const { capsule } = await recorder.outcome(intent, { status: 'success', durationMs: Number.NaN });
    expect(readEvidence(capsule)).toMatchObject({
      intent: intent.capsule.id,
      uncommitted: { '/execution/duration_ms': 'VALUE_NOT_FINITE' },
    });
    await expect(recorder.outcome(intent, { status: 'failure', durationMs: 1 })).rejects.toMatchObject({
      code: 'RECORD_ENDED',
    });
    expect((await store.chain('default').head()).length).toBe(2);
  });
});
