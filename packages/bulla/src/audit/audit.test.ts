import { join } from 'node:path';
import { opens } from '@bulla/core/canon';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { sealer, signer, verifiedLength } from '../../test/store-suite.ts';
import { openStore, setKill } from '../store/index.ts';
import { type Audit, type AuditOptions, openAudit } from './index.ts';

async function opened(options: Partial<AuditOptions> = {}): Promise<Audit> {
  const audit = await openAudit({
    url: join(temporaryFolder(), 'audit.db'),
    create: true,
    sealer,
    agentId: 'bot',
    sessionId: 's1',
    ...options,
  });
  onTestFinished(() => audit.close().catch(() => undefined));
  return audit;
}

async function capsules(audit: Audit) {
  const found = [];
  for await (const row of audit.store.chain('default').records()) found.push(JSON.parse(row.data));
  return found;
}

describe('record', () => {
  test('seals the intent before the action and the outcome after it', async () => {
    const audit = await opened();
    let during = 0;
    const result = await audit.record({ request: 'say hello' }, async (step) => {
      during = (await audit.store.chain('default').head()).length;
      step.note({ summary: 'said hello', side_effects: ['a greeting'], metrics: { words: 1 } });
      return 42;
    });
    expect([result, during]).toEqual([42, 1]);
    const [intent, outcome] = await capsules(audit);
    expect(intent).toMatchObject({
      type: 'agent',
      parent_id: null,
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
      { status: 'failure', error: 'RangeError' },
      { status: 'failure', error: 'Error' },
      { status: 'failure', error: 'Error' },
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
    const { args } = intent.context.environment.bulla;
    const call = outcome.execution.tool_calls[0];
    expect(call).toMatchObject({ tool: 'read_file', success: true, arguments: { commitment: args } });
    const argsOpening = (await audit.store.opening(args))!;
    expect(argsOpening.payload).toBe(null);
    expect(opens(args, 'args', { path: '/secret/plan' }, argsOpening.salt)).toBe(true);
    expect(opens(args, 'args', { path: '/secret/other' }, argsOpening.salt)).toBe(false);
    const resultOpening = (await audit.store.opening(call.result.commitment))!;
    expect(opens(call.result.commitment, 'result', { text: 'attack at dawn' }, resultOpening.salt)).toBe(
      true,
    );
    expect(await audit.store.eraseOpenings(intent.id)).toBe(1);
    expect(await audit.store.opening(args)).toBe(null);
    expect(await verifiedLength(audit.store, 'default')).toBe(2);
  });

  test('with payloads recorded, they lie beside the chain', async () => {
    const audit = await opened({ recordPayloads: true });
    await audit.record({ request: 'read', tool: 'read_file', arguments: { path: 'x' } }, () => 7);
    const [intent] = await capsules(audit);
    expect((await audit.store.opening(intent.context.environment.bulla.args))!.payload).toBe('{"path":"x"}');
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
      error: 'KILLED',
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
      'KILLED',
    ]);
    expect(outcome.parent_id).toBe(intent.id);
  });

  test('an outcome that cannot be recorded is never silent', async () => {
    const losses: unknown[] = [];
    let broken = false;
    const audit = await opened({
      onLoss: (loss) => losses.push(loss.intent.trigger.request),
      sealer: () => {
        if (broken) throw new Error('no key');
        return sealer();
      },
    });
    const done = audit.record({ request: 'good' }, () => {
      broken = true;
      return 'done';
    });
    await expect(done).rejects.toMatchObject({ code: 'OUTCOME_LOST', result: 'done' });
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

  test('ten audited calls at once are twenty records', async () => {
    const audit = await opened();
    await Promise.all(
      Array.from({ length: 10 }, (_, i) => audit.record({ request: `n${i}` }, async () => i)),
    );
    expect(await verifiedLength(audit.store, 'default')).toBe(20);
  });
});
