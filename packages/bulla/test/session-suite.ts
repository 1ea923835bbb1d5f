import { type Commitment, opens } from '@bulla/core/canon';
import type { SealedCapsule } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { readEvidence } from '@bulla/core/evidence';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createRegistry,
  createSessionHost,
  type Registry,
  type SessionHooks,
  type SessionHostOptions,
} from '../src/capability/index.ts';
import { setKill } from '../src/store/index.ts';
import { capsulesOf, type Database, type TestEnv, testAgent } from './capability-agents.ts';
import { afterAppend, verifiedLength } from './store-suite.ts';

const bullaOf = (capsule: SealedCapsule) => readEvidence(capsule)!;

/** What each capsule is, in short. */
const told = ({ type, outcome, trigger }: SealedCapsule) => `${type} ${trigger.request} ${outcome.status}`;

/** What a session host does on every database. */
export function sessionSuite(database: Database): void {
  let tenants = 0;
  const registryOf = async (tenant = `session-${++tenants}`): Promise<Registry> => {
    const store = await database.open({ tenant });
    onTestFinished(() => store.close());
    return createRegistry(store);
  };
  const opened = async (options: Partial<SessionHostOptions<TestEnv>> = {}) => {
    const registry = options.registry ?? (await registryOf());
    const host = createSessionHost<TestEnv>({ agent: testAgent(), ...options, registry });
    return { registry, host, store: registry.store, session: await host.open() };
  };

  describe('a turn', () => {
    test('leaves its own two capsules and two for each call, which name its link', async () => {
      const { registry, store, session } = await opened();
      const link = await session.turn(async (turn) => {
        expect(await turn.call('echo', { text: 'hello' })).toEqual({ said: 'hello' });
        expect((await capsulesOf(store)).map(told)).toEqual([
          'agent session/turn pending',
          'tool tools/call echo pending',
          'tool tools/call echo success',
        ]);
        return turn;
      });
      const all = await capsulesOf(store);
      const [begun, intent, outcome, ended] = all as [
        SealedCapsule,
        SealedCapsule,
        SealedCapsule,
        SealedCapsule,
      ];
      expect(all.map(told)[3]).toBe('agent session/turn success');
      expect([begun.parent_id, intent.parent_id, outcome.parent_id, ended.parent_id]).toEqual([
        null,
        begun.id,
        intent.id,
        begun.id,
      ]);
      const capability = {
        static: link.link.staticHash,
        runtime: link.link.runtimeHash,
        link: link.linkHash,
      };
      for (const capsule of all) {
        const { origin: _, tool, args, intent: of, ...evidence } = bullaOf(capsule);
        expect(of).toBe({ [outcome.id]: intent.id, [ended.id]: begun.id }[capsule.id]);
        const { instance } = store.chain('default');
        expect(evidence).toEqual({ instance, agent: session.agent.id, capability });
        expect([tool !== undefined, args !== undefined]).toEqual(
          capsule.type === 'tool' ? [true, true] : [false, false],
        );
        expect(capsule).toMatchObject({
          domain: 'session',
          context: { agent_id: 'bot', session_id: session.id },
          authority: { type: 'policy', policy_reference: `capability:${link.linkHash}`, chain: [] },
        });
      }
      const echo = link.link.toolRefs.find(({ toolKey }) => toolKey === 'echo')!;
      expect(bullaOf(intent).tool).toEqual({ name: 'echo', fingerprint: echo.toolHash });
      expect(ended.outcome.metrics).toEqual({ calls: 1, blocked: 0, failed: 0, open: 0 });
      expect(await registry.link(link.linkHash)).toEqual(link.link);
      expect(await verifiedLength(store, 'default')).toBe(4);
      expect(session.id).toMatch(/^[0-9a-f]{32}$/);
    });

    test('commits to arguments and results, and holds neither', async () => {
      const { store, session } = await opened();
      await session.turn((turn) => turn.call('echo', { text: 'attack at dawn' }), {
        correlationId: 'trace-1',
      });
      const [, intent, outcome] = await capsulesOf(store);
      expect(JSON.stringify(await capsulesOf(store))).not.toContain('dawn');
      const args = bullaOf(intent!).args as Commitment;
      const call = outcome!.execution.tool_calls[0]!;
      expect(call).toMatchObject({
        tool: 'echo',
        success: true,
        error: null,
        arguments: args,
      });
      const result = call.result as unknown as Commitment;
      const argsOpening = (await store.opening(args.commitment))!;
      const resultOpening = (await store.opening(result.commitment))!;
      expect(opens(args, 'args', { text: 'attack at dawn' }, argsOpening.salt)).toBe(true);
      expect(opens(result, 'result', { said: 'attack at dawn' }, resultOpening.salt)).toBe(true);
      expect([argsOpening.payload, argsOpening.sequence, resultOpening.sequence]).toEqual([null, 1, 2]);
      expect(intent!.trigger).toMatchObject({ type: 'agent', source: 'bot', correlation_id: 'trace-1' });
    });

    test('gives a tool what was committed to, whatever becomes of the caller’s object; payloads are kept on request', async () => {
      const { store, session } = await opened({ recordPayloads: true });
      const input = { text: 'before' };
      const said = await session.turn((turn) => {
        const call = turn.call('echo', input);
        input.text = 'after';
        return call;
      });
      expect(said).toEqual({ said: 'before' });
      const [, intent] = await capsulesOf(store);
      expect((await store.opening((bullaOf(intent!).args as Commitment).commitment))!.payload).toBe(
        '{"text":"before"}',
      );
      expect(JSON.stringify(await capsulesOf(store))).not.toContain('before');
    });

    test('calls each of its hooks in the documented order, the host’s first', async () => {
      const events: string[] = [];
      const hooks = (layer: string): SessionHooks => ({
        onStart: () => events.push(`${layer} onStart`),
        onBeforeContext: () => events.push(`${layer} onBeforeContext`),
        onAfterContext: ({ context }) => events.push(`${layer} onAfterContext ${context.note}`),
        onBeforeRun: ({ turn, relation }) => events.push(`${layer} onBeforeRun ${turn} ${relation}`),
        onAfterRun: ({ result }) => events.push(`${layer} onAfterRun ${result}`),
        onError: ({ error }) => events.push(`${layer} onError ${(error as Error).message}`),
      });
      const { registry, host } = await opened({
        hooks: hooks('host'),
        context: { note: 'host' },
        pipelineHooks: {
          onPolicyEvaluated: ({ policyId, phase }) => events.push(`policy ${policyId} ${phase}`),
          onToolExecuted: ({ toolName, ok }) => events.push(`executed ${toolName} ${ok}`),
        },
      });
      const session = await host.open({
        hooks: hooks('session'),
        context: ({ note }) => {
          events.push('contexts are merged');
          return { note: `${note}+session`, ran: events };
        },
      });
      await session.turn(
        async (turn) => {
          events.push(`run ${(await capsulesOf(registry.store)).length}`);
          await turn.call('echo', { text: 'x' });
          return 'result';
        },
        { hooks: hooks('turn'), context: async ({ note }) => ({ note: `${note}+turn` }) },
      );
      expect(events).toEqual([
        ...['host onStart', 'session onStart', 'turn onStart'],
        ...['host onBeforeContext', 'session onBeforeContext', 'turn onBeforeContext'],
        'contexts are merged',
        'host onAfterContext host+session+turn',
        'session onAfterContext host+session+turn',
        'turn onAfterContext host+session+turn',
        ...['policy may-read tool', 'policy may-write tool'],
        ...['host onBeforeRun 1 null', 'session onBeforeRun 1 null', 'turn onBeforeRun 1 null'],
        'run 1',
        ...['policy may-read execute', 'echo x', 'executed echo true'],
        ...['host onAfterRun result', 'session onAfterRun result', 'turn onAfterRun result'],
      ]);
      events.length = 0;
      const failing = session.turn(() => {
        throw new Error('own');
      });
      await expect(failing).rejects.toThrow('own');
      expect(events.slice(-2)).toEqual(['host onError own', 'session onError own']);
    });

    test('is not harmed by hooks that throw, and they are told', async () => {
      const failures: string[] = [];
      const hook = () => {
        throw new Error('hook');
      };
      const async = () => Promise.reject(new Error('hook'));
      const { store, session } = await opened({
        hooks: { onStart: hook, onBeforeContext: async, onAfterContext: hook, onBeforeRun: async },
        pipelineHooks: { onPolicyEvaluated: hook, onToolExecuted: async },
        onHookError: ({ hook: name }) => {
          failures.push(name);
          throw new Error('also here');
        },
      });
      const turn = session.turn((run) => run.call('echo', { text: 'x' }), { hooks: { onAfterRun: hook } });
      expect(await turn).toEqual({ said: 'x' });
      expect(failures).toEqual([
        ...['onStart', 'onBeforeContext', 'onAfterContext', 'onPolicyEvaluated', 'onPolicyEvaluated'],
        ...['onBeforeRun', 'onPolicyEvaluated', 'onToolExecuted', 'onAfterRun'],
      ]);
      const own = new Error('own');
      const failing = session.turn(() => Promise.reject(own), { hooks: { onError: hook } });
      await expect(failing).rejects.toBe(own);
      expect(failures.at(-1)).toBe('onError');
      expect((await capsulesOf(store)).map(told).filter((line) => /failure|blocked/.test(line))).toEqual([
        'agent session/turn failure',
      ]);
    });

    test('that fails is recorded by the class of its error alone, which passes through unchanged', async () => {
      const { store, session } = await opened();
      const failing = session.turn(async (turn) => {
        await expect(turn.call('fail', { text: 'x' })).rejects.toThrow('the secret is 42');
        await expect(turn.call('echo', { txt: 'x' })).rejects.toMatchObject({
          code: 'CAPABILITY_INPUT_INVALID',
        });
        throw new TypeError('the secret is 43');
      });
      await expect(failing).rejects.toThrow('the secret is 43');
      const all = await capsulesOf(store);
      expect(JSON.stringify(all)).not.toContain('secret');
      expect(all.map(({ outcome }) => outcome.error)).toEqual([
        ...[null, null, 'action: RangeError', null, 'action: CAPABILITY_INPUT_INVALID', 'action: TypeError'],
      ]);
      expect(all.at(-1)!.outcome.metrics).toEqual({ calls: 2, blocked: 0, failed: 2, open: 0 });
    });

    test('records a result that is not JSON as such, and a stream at its end', async () => {
      const { store, session } = await opened();
      await session.turn(async (turn) => {
        expect(await turn.call('odd', { text: 'x' })).toEqual(new Map());
        expect(await Array.fromAsync(turn.stream('count', { text: 'x' }))).toEqual([1, 2, 3]);
        for await (const value of turn.stream('count', { text: 'x' })) if (value === 2) break;
        expect(await turn.stream('echo', { text: 'y' }).next()).toEqual({ done: true, value: { said: 'y' } });
      });
      const [odd, whole, part] = (await capsulesOf(store)).filter(({ type, parent_id: parent, outcome }) => {
        return type === 'tool' && parent !== null && outcome.status !== 'pending';
      });
      expect(odd!.execution.tool_calls[0]!.result).toEqual({ uncommitted: 'VALUE_NOT_JSON' });
      expect(whole!.outcome).toMatchObject({ status: 'success', metrics: { values: 3 } });
      expect(part!.outcome).toMatchObject({ status: 'partial', metrics: { values: 2 } });
    });
  });

  describe('what is denied', () => {
    test('leaves one capsule, and is not done', async () => {
      const ran: string[] = [];
      const gate = { open: true };
      const { store, session } = await opened({ context: { ran, gate } });
      const late = await session.turn(async (turn) => {
        await expect(turn.call('write', { text: 'x' })).rejects.toMatchObject({
          code: 'SESSION_TOOL_DISABLED',
        });
        await expect(turn.call('rm -rf', {})).rejects.toMatchObject({ code: 'SESSION_TOOL_UNKNOWN' });
        await expect(turn.call('echo', { text: undefined })).rejects.toMatchObject({
          code: 'VALUE_NOT_JSON',
        });
        gate.open = false;
        await expect(turn.call('echo', { text: 'x' })).rejects.toMatchObject({
          code: 'CAPABILITY_POLICY_DENIED',
        });
        gate.open = true;
        return turn;
      });
      await expect(late.call('echo', { text: 'x' })).rejects.toMatchObject({ code: 'SESSION_TURN_OVER' });
      expect(ran).toEqual([]);
      const all = await capsulesOf(store);
      expect(all.filter(({ type }) => type === 'tool').map(told)).toEqual([
        'tool tools/call write blocked',
        'tool tools/call blocked',
        ...Array.from({ length: 3 }, () => 'tool tools/call echo blocked'),
      ]);
      expect(all.flatMap(({ outcome }) => outcome.error ?? [])).toEqual([
        'policy: SESSION_TOOL_DISABLED: Policies keep the tool out of this turn: may-write.',
        'pinned: SESSION_TOOL_UNKNOWN: There is no such tool in this turn.',
        'arguments: VALUE_NOT_JSON',
        'policy: CAPABILITY_POLICY_DENIED: Policy denied: may-read',
        'session: SESSION_TURN_OVER: The turn is over.',
      ]);
      expect(all[1]!.parent_id).toBe(all[0]!.id);
      expect(bullaOf(all[1]!)).toMatchObject({ tool: { name: 'write' } });
      expect(bullaOf(all[1]!).tool).not.toHaveProperty('fingerprint');
      expect(bullaOf(all[2]!).tool).toBe(undefined);
      expect(bullaOf(all[3]!).args).toEqual({ uncommitted: 'VALUE_NOT_JSON' });
      expect(await verifiedLength(store, 'default')).toBe(7);
    });

    test('includes everything while a kill switch stands, also in a turn that runs', async () => {
      const ran: string[] = [];
      const { registry, store, session } = await opened({ context: { ran } });
      const effect = setKill({ agentId: 'bot', reason: 'stop', capsuleId: 'k' });
      const killed = { code: 'KILLED' };
      await session.turn(async (turn) => {
        await store.chain('kills').append({ type: 'kill', outcome: { status: 'blocked' } }, { effect });
        await expect(turn.call('echo', { text: 'x' })).rejects.toMatchObject(killed);
      });
      await expect(session.turn((turn) => turn.call('echo', { text: 'x' }))).rejects.toMatchObject(killed);
      expect(ran).toEqual([]);
      const all = await capsulesOf(store);
      expect(all.map(told)).toEqual([
        ...['agent session/turn pending', 'tool tools/call echo blocked', 'agent session/turn success'],
        'agent session/turn blocked',
      ]);
      expect(all[3]!.outcome.error).toBe('kill: KILLED: A kill switch stands for agent bot: stop');
      expect(bullaOf(all[3]!).capability).toEqual({ static: session.agent.staticHash });
      expect((await registry.turns(session.id)).length).toBe(1);
    });

    test('includes a call whose kill switch comes while its intent is written', async () => {
      const ran: string[] = [];
      let kill = false;
      const { store } = await registryOf();
      const effect = setKill({ agentId: 'bot', reason: 'stop', capsuleId: 'k' });
      const registry = createRegistry(
        afterAppend(store, async () => void (kill && (await store.transaction(effect)))),
      );
      const { session } = await opened({ context: { ran }, registry });
      await session.turn(async (turn) => {
        kill = true;
        await expect(turn.call('echo', { text: 'x' })).rejects.toMatchObject({ code: 'KILLED' });
        kill = false;
      });
      expect(ran).toEqual([]);
      const [, intent, outcome] = await capsulesOf(store);
      expect([intent, outcome].map((one) => [told(one!), one!.outcome.error])).toEqual([
        ['tool tools/call echo pending', null],
        ['tool tools/call echo blocked', 'kill: KILLED: A kill switch stands for agent bot: stop'],
      ]);
      const ended = (await capsulesOf(store)).at(-1)!;
      expect(ended.outcome.metrics).toEqual({ calls: 1, blocked: 1, failed: 0, open: 0 });
    });

    test('holds no words of what a context throws, and nothing of the arguments', async () => {
      const { store, session } = await opened();
      await session.turn((turn) =>
        expect(turn.call('echo', { text: 4111111111111111111n })).rejects.toMatchObject({
          code: 'VALUE_INEXACT_NUMBER',
        }),
      );
      const denied = (await capsulesOf(store))[1]!;
      expect(denied.outcome.error).toBe('arguments: VALUE_INEXACT_NUMBER');
      expect(bullaOf(denied).args).toMatchObject({ of: 'exact' });
      expect(JSON.stringify(await capsulesOf(store))).not.toContain('41111');
      const context = () => {
        throw new BullaError('MCP_ERROR_ANSWER', '401 for token sk-123');
      };
      await expect(session.turn(() => 0, { context: context as never })).rejects.toMatchObject({
        code: 'MCP_ERROR_ANSWER',
      });
      expect((await capsulesOf(store)).at(-1)!.outcome.error).toBe('session: MCP_ERROR_ANSWER');
    });

    test('includes a turn whose agent cannot be evaluated or whose context is none', async () => {
      const { store, registry, session } = await opened();
      await expect(session.turn(() => 0, { invocationContext: new Map() })).rejects.toMatchObject({
        code: 'CAPABILITY_VALUE',
      });
      await expect(session.turn(() => 0, { context: (() => 7) as never })).rejects.toMatchObject({
        code: 'SESSION_CONTEXT',
      });
      expect((await capsulesOf(store)).map(({ outcome }) => outcome.error)).toEqual([
        'session: CAPABILITY_VALUE',
        'session: SESSION_CONTEXT: The context of a session is an object.',
      ]);
      expect(await registry.turns(session.id)).toEqual([]);
    });
  });

  describe('a signal', () => {
    test('ends the call and the turn that wait, and both are recorded', async () => {
      const { store, session } = await opened();
      const stop = new AbortController();
      const turn = session.turn((run) => run.call('wait', { text: 'x' }), {
        signal: stop.signal,
        context: { begun: () => stop.abort(new Error('enough')) },
      });
      await expect(turn).rejects.toMatchObject({ code: 'CAPABILITY_ABORTED', cause: new Error('enough') });
      await expect.poll(async () => (await capsulesOf(store)).length).toBe(4);
      const all = await capsulesOf(store);
      expect(all.map(told).sort()).toEqual([
        ...['agent session/turn failure', 'agent session/turn pending'],
        ...['tool tools/call wait failure', 'tool tools/call wait pending'],
      ]);
      expect(new Set(all.map(({ outcome }) => outcome.error))).toEqual(
        new Set([null, 'action: CAPABILITY_ABORTED']),
      );
    });

    test('that was given before keeps a turn from beginning, and hooks that hang do not hold it', async () => {
      const { store, host } = await opened();
      const session = await host.open({ signal: AbortSignal.abort() });
      const aborted = { code: 'CAPABILITY_ABORTED' };
      await expect(session.turn(() => 0)).rejects.toMatchObject(aborted);
      const stop = new AbortController();
      const hanging = (await host.open()).turn(() => 0, {
        signal: stop.signal,
        hooks: {
          onStart: () => {
            queueMicrotask(() => stop.abort());
            return new Promise(() => undefined);
          },
        },
      });
      await expect(hanging).rejects.toMatchObject(aborted);
      expect(await capsulesOf(store)).toEqual([]);
    });
  });
}
