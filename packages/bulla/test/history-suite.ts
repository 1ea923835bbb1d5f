import { verifyEnvelope } from '@bulla/core/capability';
import { readEvidence } from '@bulla/core/evidence';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  createRegistry,
  createSessionHost,
  type Registry,
  type SessionHostOptions,
} from '../src/capability/index.ts';
import type { Loss } from '../src/record/index.ts';
import type { StoreOptions } from '../src/store/index.ts';
import { capsulesOf, type Database, type TestEnv, testAgent } from './capability-agents.ts';
import { sealer, verifiedLength } from './store-suite.ts';

/** What is kept of sessions, on every database. */
export function historySuite(database: Database): void {
  let tenants = 0;
  const registryOf = async (options: Partial<StoreOptions> = {}): Promise<Registry> => {
    const store = await database.open({ tenant: `history-${++tenants}`, ...options });
    onTestFinished(() => store.close().catch(() => undefined));
    return createRegistry(store);
  };
  const hostOf = (registry: Registry, options: Partial<SessionHostOptions<TestEnv>> = {}) =>
    createSessionHost<TestEnv>({ registry, agent: testAgent(), ...options });

  describe('the history of a session', () => {
    test('has each turn with its link, and each change of the link with what it means', async () => {
      const registry = await registryOf();
      const session = await hostOf(registry).open();
      const relations: (string | null)[] = [];
      const run = ({ relation }: { relation: string | null }) => void relations.push(relation);
      await session.turn(run);
      await session.turn(run);
      await session.turn(run, { context: { mayWrite: true } });
      await session.turn(run, { context: { mayWrite: true }, invocationContext: { user: 'u1' } });
      await session.turn(run, { context: { extra: true } });
      const same = 'They are the same.';
      const policies =
        'The definition is the same; what its policies and dynamic toolkits make of it is not.';
      const enabled = `${policies} The enabled tools differ.`;
      const bound =
        'The definition and the enabled tools are the same. They are bound to different contexts.';
      expect(relations).toEqual([
        null,
        same,
        enabled,
        bound,
        `${enabled} They are bound to different contexts.`,
      ]);
      const turns = await registry.turns(session.id);
      expect(turns.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
      expect(turns[1]!.linkHash).toBe(turns[0]!.linkHash);
      const names = (turn: number) => turns[turn]!.link.toolRefs.map(({ toolKey }) => toolKey);
      expect(names(4)).toContain('extra');
      expect(names(2)).toContain('write');
      expect(await registry.transitions(session.id)).toEqual(
        [
          { turn: 3, changed: ['runtimeHash'] },
          { turn: 4, changed: ['invocationHash'] },
          { turn: 5, changed: ['runtimeHash', 'invocationHash'] },
        ].map(({ turn, changed }) => ({
          turn,
          from: turns[turn - 2]!.linkHash,
          to: turns[turn - 1]!.linkHash,
          changed,
          relation: relations[turn - 1],
          capsuleId: turns[turn - 1]!.capsuleId,
        })),
      );
      expect(await registry.session(session.id)).toMatchObject({
        agentId: 'bot',
        chain: 'default',
        turns: 5,
      });
    });

    test('goes on after a restart, also with another definition of the same agent', async () => {
      const before = await registryOf();
      const { id } = await hostOf(before)
        .open()
        .then(async (session) => {
          await session.turn(() => 0);
          return session;
        });
      const { tenant } = before.store;
      await before.store.close();
      const after = await registryOf({ tenant });
      expect((await after.turns(id)).length).toBe(1);
      const session = await hostOf(after, { agent: testAgent({ lines: ['Be long.'] }) }).resume(id);
      expect(await session.turn(({ number }) => number)).toBe(2);
      const [transition] = await after.transitions(id);
      expect(transition).toMatchObject({ turn: 2, changed: ['staticHash', 'instructionsHash'] });
      const [first, second] = await after.turns(id);
      expect([first!.agent, second!.agent]).toEqual((await after.agents()).map((agent) => agent.id));
    });

    test('belongs to one agent, one chain and one tenant', async () => {
      const [registry, other] = [await registryOf(), await registryOf()];
      const { id } = await hostOf(registry).open();
      const wrong = [{ agent: testAgent({ agentId: 'bat' }) }, { chain: 'elsewhere' }];
      for (const options of wrong)
        await expect(hostOf(registry, options).resume(id)).rejects.toMatchObject({ code: 'SESSION_OTHER' });
      const unknown = { code: 'SESSION_UNKNOWN' };
      await expect(hostOf(other).resume(id)).rejects.toMatchObject(unknown);
      await expect(other.turns(id)).rejects.toMatchObject(unknown);
      await expect(other.transitions(id)).rejects.toMatchObject(unknown);
    });

    test('can have the envelopes of its turns, without the contexts of invocations', async () => {
      const registry = await registryOf();
      const agent = testAgent({ context: { apiKey: 'secret' } });
      const session = await hostOf(registry, { agent, keepEnvelopes: true }).open();
      const invocationContext = { user: 'ada' };
      await session.turn(() => 0, { invocationContext });
      const [turn] = await registry.turns(session.id);
      const { envelope, unchecked } = (await registry.envelope(turn!.envelopeHash!))!;
      expect(unchecked).toEqual(['/runtime/link/invocationHash']);
      expect(verifyEnvelope(envelope, { invocationContext }).outcome).toBe('ok');
      expect(envelope.runtime.link).toEqual(turn!.link);
      expect(JSON.stringify(envelope)).not.toMatch(/secret|ada/);
      const [begun] = await capsulesOf(registry.store);
      expect(readEvidence(begun)?.capability).toEqual({
        static: turn!.link.staticHash,
        runtime: turn!.link.runtimeHash,
        invocation: turn!.link.invocationHash,
        link: turn!.linkHash,
        envelope: turn!.envelopeHash,
      });
    });
  });

  describe('turns at once', () => {
    test('of two hosts on one session each get a number, in the order of the chain', async () => {
      const registry = await registryOf();
      const [a, b] = [hostOf(registry), hostOf(registry)];
      const first = await a.open();
      const second = await b.resume(first.id);
      const numbers = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          (i % 2 === 0 ? first : second).turn(({ number }) => number, { context: { mayWrite: i % 3 === 0 } }),
        ),
      );
      expect(numbers.toSorted((x, y) => x - y)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
      expect((await registry.turns(first.id)).length).toBe(40);
      const transitions = await registry.transitions(first.id);
      expect(transitions.length).toBeGreaterThan(10);
      expect(await verifiedLength(registry.store, 'default')).toBe(80);
    });
  });

  describe('a turn and its intent', () => {
    test('become durable together, or not at all', async () => {
      let broken = false;
      const registry = await registryOf({
        sealer: () => {
          if (broken) throw new Error('the key is gone');
          return sealer();
        },
      });
      const session = await hostOf(registry, { onLoss: () => undefined }).open();
      broken = true;
      await expect(session.turn(() => 0)).rejects.toThrow('the key is gone');
      broken = false;
      expect(await registry.turns(session.id)).toEqual([]);
      expect(await registry.session(session.id)).toMatchObject({ turns: 0 });
      await database.tamper(`UPDATE capability_session SET turns = 7 WHERE id = '${session.id}'`);
      await expect(session.turn(() => 0)).rejects.toMatchObject({ code: 'REGISTRY_CORRUPT' });
      expect((await capsulesOf(registry.store)).map(({ outcome }) => outcome.status)).toEqual(['blocked']);
    });

    test('an outcome that cannot be recorded is never silent', async () => {
      let broken = false;
      const losses: Loss[] = [];
      const registry = await registryOf({
        sealer: () => {
          if (broken) throw new Error('the key is gone');
          return sealer();
        },
      });
      const context = { gate: { open: true } };
      const session = await hostOf(registry, { context, onLoss: (loss) => losses.push(loss) }).open();
      const lost = { code: 'RECORD_OUTCOME_LOST' };
      await session.turn(async (turn) => {
        const call = turn.call('count', { text: 'x' }) as Promise<AsyncGenerator>;
        const stream = await call;
        await stream.next();
        broken = true;
        await expect(turn.call('echo', { text: 'x' })).rejects.toThrow('the key is gone');
        await expect(turn.call('nothing')).rejects.toMatchObject({ code: 'SESSION_TOOL_UNKNOWN' });
        await expect(Array.fromAsync(stream)).rejects.toMatchObject({ ...lost, result: 'done' });
        broken = false;
      });
      const done = session.turn(() => {
        broken = true;
        return 'result';
      });
      await expect(done).rejects.toMatchObject({ ...lost, result: 'result' });
      broken = false;
      const own = new Error('own');
      const failing = session.turn(() => {
        broken = true;
        throw own;
      });
      await expect(failing).rejects.toBe(own);
      broken = false;
      const requests = losses.map(({ intent }) => intent?.trigger.request ?? null);
      expect(requests).toEqual([null, 'tools/call count', 'session/turn', 'session/turn']);
    });
  });

  describe('rows that were changed', () => {
    const threeTurns = async (registry: Registry) => {
      const session = await hostOf(registry).open();
      for (const mayWrite of [false, true, false]) await session.turn(() => 0, { context: { mayWrite } });
      return session;
    };
    const changes = [
      ['a session of another agent', "capability_session SET agent_id = 'bat'"],
      ['a session of another time', "capability_session SET opened_at = '2020-01-01T00:00:00.000Z'"],
      ['a session of another chain', "capability_session SET chain = 'other'"],
      ['a session with fewer turns', 'capability_session SET turns = 2'],
      ['a session with more turns', 'capability_session SET turns = 4'],
      [
        'a turn with another link',
        'capability_turn SET link_hash = (SELECT max(from_link) FROM capability_transition)',
      ],
      ['a turn with another capsule', "capability_turn SET capsule_id = 'x' WHERE number = 2"],
      ['a turn of another agent', "capability_turn SET agent = 'x' WHERE number = 2"],
      ['a turn with an envelope', "capability_turn SET envelope_hash = 'x' WHERE number = 2"],
      ['turns in another order', 'capability_turn SET number = number + 10 WHERE number = 1'],
      ['a transition from elsewhere', 'capability_transition SET from_link = to_link WHERE turn = 2'],
      ['a transition to elsewhere', 'capability_transition SET to_link = from_link WHERE turn = 3'],
      [
        'a transition that hides what changed',
        "capability_transition SET changed = 'agentName' WHERE turn = 2",
      ],
      ['a transition with another capsule', "capability_transition SET capsule_id = 'x' WHERE turn = 2"],
      ['a transition in another turn', 'capability_transition SET turn = 1 WHERE turn = 2'],
    ] as const;
    const removals = [
      ['the last turn, with everything that tells of it but the chain,', 'capability_turn', 3],
      ['a turn in the middle', 'capability_turn', 2],
      ['a transition', 'capability_transition', 3],
    ] as const;
    let registry: Registry;
    let sessions: string[] = [];
    beforeAll(async () => {
      const store = await database.open({ tenant: 'history-changed' });
      registry = createRegistry(store);
      const all = Array.from({ length: changes.length + removals.length }, () => threeTurns(registry));
      sessions = (await Promise.all(all)).map(({ id }) => id);
    });
    afterAll(() => registry.store.close());
    const corrupt = { code: 'REGISTRY_CORRUPT' };

    test.each(changes)('%s', async (_, change) => {
      const id = sessions.pop()!;
      expect((await registry.transitions(id)).length).toBe(2);
      const column = change.startsWith('capability_session') ? 'id' : 'session_id';
      const where = change.includes(' WHERE ') ? ' AND' : ' WHERE';
      await database.tamper(`UPDATE ${change}${where} ${column} = '${id}'`);
      await expect(registry.transitions(id)).rejects.toMatchObject(corrupt);
    });

    test.each(removals)('%s is missing', async (_, table, turn) => {
      const id = sessions.pop()!;
      const column = table === 'capability_turn' ? 'number' : 'turn';
      await database.tamper(`DELETE FROM ${table} WHERE session_id = '${id}' AND ${column} = ${turn}`);
      if (turn === 3 && column === 'number') {
        await database.tamper(`DELETE FROM capability_transition WHERE session_id = '${id}' AND turn = 3`);
        await database.tamper(`UPDATE capability_session SET turns = 2 WHERE id = '${id}'`);
      }
      await expect(registry.transitions(id)).rejects.toMatchObject(corrupt);
    });

    test('a record of a session that is none of its turns, or whose evidence cannot be read', async () => {
      for (const bulla of [{ v: 2 }, { v: 1, agent: 'x', capability: { static: 'y' } }]) {
        const own = await registryOf();
        const { id } = await threeTurns(own);
        expect((await own.turns(id)).length).toBe(3);
        await own.store.chain('default').append({
          type: 'agent',
          domain: 'session',
          context: { agent_id: 'bot', session_id: id, environment: { bulla } },
          outcome: { status: 'pending' },
        });
        await expect(own.turns(id)).rejects.toMatchObject(corrupt);
      }
    });

    test('a link that a turn rests on: no further turn begins on it', async () => {
      const own = await registryOf();
      const session = await threeTurns(own);
      await database.tamper(
        `UPDATE capability_link SET data = replace(data, 'Bot', 'Bat') WHERE tenant = '${own.store.tenant}'`,
      );
      await expect(own.turns(session.id)).rejects.toMatchObject(corrupt);
      await expect(session.turn(() => 0)).rejects.toMatchObject(corrupt);
    });
  });
}
