import { commit } from '@bulla/core/canon';
import { isoTimestamp } from '@bulla/core/capsule';
import { CHINESE, type Choice, disclosureDigest, identityOf, type Prompt } from '@bulla/core/consent';
import type { Evidence } from '@bulla/core/evidence';
import { parse } from '@bulla/core/json';
import * as fc from 'fast-check';
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { storeSource, verifyChain } from '../src/chain/index.ts';
import type { Consent, LibraryCall } from '../src/consent/index.ts';
import { createManifests } from '../src/manifest/index.ts';
import { type Intent, payloadOf } from '../src/record/index.ts';
import { type Store, type StoreOptions, setKill } from '../src/store/index.ts';
import {
  AGENT,
  ARGS,
  begin,
  CHAIN,
  caller,
  calling,
  consentOn,
  DAY,
  decisionOf,
  digestOf,
  grant,
  manifestText,
  PAIR,
  passkey,
  passOf,
  push,
  questionOf,
  recorderOf,
  ruled,
  ruleOn,
  SECOND,
  START,
  terminal,
  USER,
} from './consent.ts';
import { histories, runHistory } from './consent-history.ts';
import { afterAppend, sealer, verifiedLength } from './store-suite.ts';

interface Sealed {
  readonly id: string;
  readonly parent_id: string | null;
  readonly type: string;
  readonly domain: string;
  readonly trigger: { source: string; request: string; user_id: string | null };
  readonly authority: {
    type: string;
    approver: string | null;
    policy_reference: string | null;
    chain: { step: string; decision: string; channel: string; shown: string | null; at: string }[];
  };
  readonly context: { environment: { bulla: Evidence & { v: 1 } } };
  readonly outcome: { status: string; summary: string; error: string | null };
}

/** The records about calls, questions and answers. */
async function records(store: Store): Promise<Sealed[]> {
  const found: Sealed[] = [];
  for await (const { data } of store.chain(CHAIN).records()) found.push(JSON.parse(data));
  return found.filter(({ trigger }) => /^(?:tools\/call|consent (?:ask|answer|end))/.test(trigger.request));
}

const told = (sealed: readonly Sealed[]) =>
  sealed.map(({ type, domain, trigger, outcome }) => [
    type,
    domain,
    trigger.request,
    outcome.status,
    outcome.error,
  ]);

/** What every database must do; `open` gives a handle on one store, each tenant of which is new. */
export function consentSuite(open: (options: Partial<StoreOptions>) => Promise<Store>): void {
  let tenants = 0;
  const handle = async (tenant: string) => {
    const store = await open({ sealer, tenant });
    onTestFinished(() => store.close());
    return store;
  };
  /** An agent whose scopes are all granted; two handles stand for two processes. */
  const added = async () => {
    const tenant = `consent-${++tenants}`;
    const clock = { at: START };
    const now = () => clock.at;
    const [store, other] = [await handle(tenant), await handle(tenant)];
    await push(store);
    const [consent, elsewhere] = [consentOn(store, { now }), consentOn(other, { now })];
    await grant(consent);
    return { store, other, consent, elsewhere, clock };
  };
  const asked = (consent: Consent, store: Store, tool: 'read_file' | 'locate' = 'read_file') =>
    questionOf(consent, store, calling(tool));
  const allow = { choice: 'allow-once', who: USER, channel: passkey } as const;
  const answering = (prompt: Prompt, choice: Choice = 'allow-once') => ({
    ...allow,
    prompt: prompt.id,
    shown: prompt.shown,
    choice,
  });

  describe('a call', () => {
    test('of a low scope is allowed in silence: two records, and its rows become true with them', async () => {
      const { store, consent, clock } = await added();
      const call = { ...calling('notify'), source: 'host', correlationId: 'trace-1' };
      const outcome = await consent.run(call, async () => {
        const [row] = await store.reading.all<{ data: string }>(
          "SELECT data FROM consent_subject WHERE coalesce(tenant, '') = ?",
          store.tenant!,
        );
        expect(JSON.parse(row!.data).stage).toBe('running');
        clock.at += 7;
        return { sent: true };
      });
      expect(outcome).toMatchObject({ status: 'ok', result: { sent: true } });
      const decision = (await consent.decision(outcome.id))!;
      expect([decision.stage, decision.by, decision.holder, decision.started_at, decision.ended_at]).toEqual([
        'ok',
        'low-silent',
        consent.holder,
        START,
        START + 7,
      ]);
      const sealed = await records(store);
      expect(told(sealed)).toEqual([
        ['tool', 'agents', 'tools/call notify', 'pending', null],
        ['tool', 'agents', 'tools/call notify', 'success', null],
      ]);
      const [intent, end] = sealed;
      expect([intent!.parent_id, end!.parent_id]).toEqual([null, intent!.id]);
      const { version, hash, bindings } = (await createManifests(store).current(AGENT))!;
      const shown = (await consent.grants()).find(({ scope }) => scope === 'notification:send')!;
      expect(intent).toMatchObject({
        trigger: { type: 'agent', source: 'host', correlation_id: 'trace-1', user_id: null },
        context: { agent_id: AGENT, session_id: caller.session },
        authority: { type: 'policy', approver: null, policy_reference: decision.grant },
      });
      expect(intent!.context.environment.bulla).toEqual({
        v: 1,
        instance: store.chain(CHAIN).instance,
        tool: { name: 'notify', declared: digestOf('notify') },
        args: decision.args,
        manifest: { agent_id: AGENT, version, hash, bindings: bindings.digest },
        consent: { id: decision.id },
      });
      expect(intent!.authority.chain).toEqual([
        {
          step: 'consent',
          decision: 'low-silent',
          channel: 'grant',
          shown: shown.disclosure,
          at: isoTimestamp(new Date(START)),
        },
      ]);
      const { history } = await verifyChain(await storeSource(store.chain(CHAIN)), {
        mode: 'structural',
        keys: [],
      });
      expect(history.unfinished.count).toBe(0);
      expect(JSON.stringify(sealed)).not.toContain('/tmp/a');
      await verifiedLength(store, CHAIN);
    });

    test('is begun once, and its failure is told by a code', async () => {
      const { store, consent } = await added();
      const stepwise = await ruleOn(consent, store, calling('notify'));
      const intent = (await begin(store, stepwise)) as Intent;
      expect(await begin(store, stepwise)).toBe('CONSENT_REPEATED');
      const { id } = decisionOf(stepwise);
      const failure = { stage: 'server', code: 'SERVER_LOST' } as const;
      const ended = { status: 'failure', failure, durationMs: 1 } as const;
      expect((await recorderOf(store).outcome(intent, ended)).refused).toEqual([]);
      expect(await consent.decision(id)).toMatchObject({ stage: 'error', reason: 'server_lost' });
      const boom = consent.run(calling('notify'), () => {
        throw new TypeError('secret');
      });
      await expect(boom).rejects.toThrow('secret');
      expect(told(await records(store)).map((row) => row[4])).toEqual([
        null,
        'server: SERVER_LOST',
        null,
        'action: TypeError',
      ]);
    });

    test('keeps its salt, and its arguments only where a person has to see them', async () => {
      const { store, consent } = await added();
      const silent = await consent.run(calling('notify'), () => null);
      const prompt = await asked(consent, store);
      const { args } = (await consent.decision(silent.id))!;
      const [first, second] = [
        (await store.opening(args!.commitment))!,
        (await store.opening(prompt.args!.commitment))!,
      ];
      expect([first.payload, second.payload]).toEqual([null, '{"path":"/tmp/a"}']);
      expect(commit('args', ARGS, first.salt)).toEqual(args);
    });

    test('of a medium scope is asked, shown as it is, and allowed for the session', async () => {
      const { store, consent, elsewhere, clock } = await added();
      const hidden = await ruleOn(consent, store, calling('read_file', caller, { path: '/tmp/\u202ea' }));
      const [pending] = await elsewhere.pending({ user: USER });
      expect(pending).toEqual('ask' in hidden.ruling && hidden.ruling.prompt);
      const { showing } = await elsewhere.show(pending!.id);
      expect(showing).toMatchObject({
        description: 'tools.read_file.1',
        scope_label: 'Read local files',
        arguments: '{"path":"/tmp/⟨U+202E⟩a"}',
        changed: null,
        session_covers: [
          { name: 'read_file', description: 'tools.read_file.1' },
          { name: 'list_files', description: 'tools.list_files.1' },
        ],
        digest: pending!.shown,
      });
      const answered = await elsewhere.answer(answering(pending!, 'allow-session'));
      expect(answered.decisions[0]!.by).toBe('medium-session');
      expect((await consent.decision(pending!.id))!.by).toBe('medium-session');
      expect((await elsewhere.answer(answering(pending!, 'never'))).refusal!.code).toBe('CONSENT_ANSWERED');
      expect(await consent.pending()).toEqual([]);
      const intent = (await begin(store, hidden)) as Intent;
      await recorderOf(store).outcome(intent, { status: 'success', durationMs: 1 });
      const [question, answer, begun, ended] = await records(store);
      expect(told([question!, answer!, begun!, ended!])).toEqual([
        ['auth', 'agents', 'consent ask read_file', 'pending', null],
        ['auth', 'admin', 'consent answer read_file', 'success', null],
        ['tool', 'agents', 'tools/call read_file', 'pending', null],
        ['tool', 'agents', 'tools/call read_file', 'success', null],
      ]);
      expect(answer).toMatchObject({
        parent_id: question!.id,
        authority: { type: 'human_approved', approver: USER },
        trigger: { user_id: USER, source: USER },
      });
      expect(begun).toMatchObject({
        parent_id: null,
        authority: { type: 'human_approved', approver: USER, policy_reference: null },
        context: {
          environment: {
            bulla: { consent: { id: pending!.id, asked: question!.id, answered: answer!.id } },
          },
        },
      });
      expect(begun!.authority.chain).toEqual(answer!.authority.chain);
      // One commitment in all of them.
      const commitments = [question, answer, begun, ended].map(
        (each) => each!.context.environment.bulla.args,
      );
      expect(commitments).toEqual(new Array(4).fill(pending!.args));
      clock.at += DAY - 1;
      const later = await consent.run(calling('list_files'), () => null);
      expect((await consent.decision(later.id))!.by).toBe('medium-window');
      clock.at += DAY;
      const next = await asked(consent, store);
      expect((await consent.show(next.id)).showing!.changed).toEqual([
        { kind: 'same', text: '{"path":"/tmp/' },
        { kind: 'removed', text: '⟨U+202E⟩' },
        { kind: 'same', text: 'a"}' },
      ]);
    });

    test('with numbers that no double holds is shown by its digits', async () => {
      const { store, consent } = await added();
      await push(store, manifestText().replaceAll('"type":"string","maxLength"', '"maxLength"'));
      await grant(consent);
      const args = parse('{"path":12345678901234567890}');
      const prompt = await questionOf(consent, store, { identity: caller, tool: 'read_file', args });
      expect(prompt.args!.of).toBe('exact');
      expect((await consent.show(prompt.id)).showing!.arguments).toBe('{"path":12345678901234567890}');
    });

    test('with arguments that the declared tool does not take is denied before anybody is asked', async () => {
      const { store, consent } = await added();
      const denied = async (args: unknown) =>
        consent.run(calling('read_file', caller, args), () => expect.unreachable());
      for (const args of [{ path: 5 }, { path: '/tmp/a', more: 1 }, [], 'path'])
        expect(await denied(args)).toMatchObject({
          status: 'error',
          reason: 'invalid_arguments',
          decision: null,
        });
      expect(await denied({ path: () => 1 })).toMatchObject({ reason: 'invalid_arguments' });
      expect(await consent.pending()).toEqual([]);
      const sealed = await records(store);
      const call = ['tool', 'agents', 'tools/call read_file', 'blocked'];
      expect(told(sealed)).toEqual([
        ...new Array(4).fill([...call, 'arguments: ARGUMENTS_INVALID']),
        [...call, 'arguments: VALUE_NOT_JSON'],
      ]);
      expect(sealed[0]!.context.environment.bulla.tool).toEqual({
        name: 'read_file',
        declared: digestOf('read_file'),
      });
    });

    test('is shown in the language that is asked for, under one digest', async () => {
      const { consent, store } = await added();
      const { id, shown } = await asked(consent, store);
      const words = { ...CHINESE, catalogue: { 'tools.read_file.1': '读取一个文件' } };
      expect((await consent.show(id, words)).showing).toMatchObject({
        description: '读取一个文件',
        scope_label: '读取本地文件',
        digest: shown,
      });
      const told = (await consent.disclosure(AGENT, CHINESE))!;
      expect(told.scopes.map(({ label }) => label)).toEqual(['读取位置', '读取本地文件', '发送通知']);
      expect(told.scopes[0]!.tools[0]).toMatchObject({ name: 'locate', description: 'tools.locate.1' });
    });

    test('keeps the name that the agent gave it, over processes and to the result', async () => {
      const { consent, elsewhere } = await added();
      const running = consent.run({ ...calling('read_file'), call_id: 'c-1' }, () => expect.unreachable());
      let [pending] = await elsewhere.pending();
      while (pending === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        [pending] = await elsewhere.pending();
      }
      expect(pending.call_id).toBe('c-1');
      await elsewhere.answer(answering(pending, 'deny-once'));
      expect(await running).toMatchObject({
        id: pending.id,
        call_id: 'c-1',
        status: 'denied',
        reason: 'user_rejected',
      });
    });

    test('of a high scope waits 30 seconds, by the clock', async () => {
      const { store, consent, clock } = await added();
      const running = consent.run(calling('locate'), () => expect.unreachable());
      let [prompt] = await consent.pending();
      while (prompt === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        [prompt] = await consent.pending();
      }
      clock.at += 30 * SECOND - 1;
      expect((await consent.pending()).length).toBe(1);
      clock.at += 1;
      expect(await consent.pending()).toEqual([]);
      const late = await consent.answer(answering(prompt));
      const outcome = await running;
      expect(['CONSENT_EXPIRED', 'CONSENT_ANSWERED']).toContain(late.refusal!.code);
      expect(outcome).toMatchObject({
        id: prompt.id,
        status: 'denied',
        reason: 'user_timeout',
        decision: { detail: 'deadline' },
      });
      const sealed = await records(store);
      expect(told(sealed)).toEqual([
        ['auth', 'agents', 'consent ask locate', 'pending', null],
        ['auth', 'agents', 'consent end locate', 'blocked', 'consent: user_timeout'],
        ['tool', 'agents', 'tools/call locate', 'blocked', 'consent: user_timeout'],
      ]);
      expect(sealed[2]!.context.environment.bulla.consent).toEqual({
        id: prompt.id,
        asked: sealed[0]!.id,
        answered: sealed[1]!.id,
      });
    });

    test('of a high scope is not released from a terminal, unless the operator says so', async () => {
      const { consent, store } = await added();
      const prompt = await asked(consent, store, 'locate');
      const answer = { ...answering(prompt), channel: terminal };
      expect((await consent.answer(answer)).refusal!.code).toBe('CONSENT_CHANNEL');
      const loose = consentOn(store, { now: () => START, rules: { highChannels: 'out-of-band' } });
      const { capsules } = await loose.answer(answer);
      expect(capsules[0]!.authority).toMatchObject({
        type: 'policy',
        approver: null,
        policy_reference: 'consent:terminal-reported',
      });
    });

    test('by nobody, of nothing or in a group is denied, recorded, and not named in the agent’s words', async () => {
      const { store, consent } = await added();
      const nobody = identityOf({
        transport: 'console',
        agent: AGENT,
        account: null,
        credential: null,
        login: null,
      });
      const secret = { ...calling('notify'), tool: 'my_secret_is_7' };
      for (const call of [
        calling('notify', nobody),
        calling('notify', { ...caller, conversation: 'group' }),
        calling('notify', { ...caller, agent: null }),
        secret,
        { ...secret, server: 'my_secret_is_7' },
      ])
        await consent.run(call, () => expect.unreachable());
      const sealed = await records(store);
      expect(sealed.map(({ outcome }) => [outcome.status, outcome.error])).toEqual([
        ['blocked', 'consent: permission_revoked'],
        ['blocked', 'consent: tool_not_supported_in_group'],
        ['blocked', 'consent: permission_revoked'],
        ['blocked', 'consent: tool_unknown'],
        ['blocked', 'consent: tool_unknown'],
      ]);
      expect(JSON.stringify(sealed)).not.toContain('my_secret_is_7');
      const stages = await store.reading.all<{ data: string }>(
        "SELECT data FROM consent_subject WHERE coalesce(tenant, '') = ? ORDER BY subject_key",
        store.tenant!,
      );
      expect(stages.map(({ data }) => JSON.parse(data).reason)).toEqual([
        'tool_not_supported_in_group',
        'tool_unknown',
        'tool_unknown',
      ]);
    });

    test('on a server is of the tool that is bound to it, under its lock', async () => {
      const { store, consent } = await added();
      const bound = { server: 'files', tool: 'read_text' };
      const record = recorderOf(store);
      const edits = new Map([['read_file', bound]]);
      const { bindings } = await createManifests(store).bind(AGENT, edits, { by: 'operator', record });
      const pinned = { locked: `sha256:${'9d'.repeat(32)}`, lock: `sha256:${'1c'.repeat(32)}` };
      const call = { identity: caller, ...bound, args: ARGS, ...pinned };
      const stepwise = await ruleOn(consent, store, call);
      const prompt = 'ask' in stepwise.ruling ? stepwise.ruling.prompt : null;
      expect((await consent.show(prompt!.id)).showing).toMatchObject({
        tool: 'read_file',
        ...{ server: 'files', server_tool: 'read_text' },
        ...{ declared: digestOf('read_file'), locked: pinned.locked },
        session_covers: [{ name: 'read_file', description: 'tools.read_file.1' }],
      });
      await consent.answer(answering(prompt!, 'allow-session'));
      const { capsule } = (await begin(store, stepwise)) as Intent;
      const [question] = await records(store);
      const tool = {
        server: 'files',
        name: 'read_text',
        locked: pinned.locked,
        declared: digestOf('read_file'),
      };
      for (const { context } of [question!, capsule as unknown as Sealed])
        expect(context.environment.bulla).toMatchObject({ tool, manifest: { bindings: bindings.digest } });
      expect(question!.context.environment.bulla.lock).toBe(pinned.lock);
      expect(decisionOf(await ruleOn(consent, store, call)).by).toBe('medium-window');
      // The server was locked anew: the window is not for what nobody has seen.
      const anew = { ...call, lock: `sha256:${'2c'.repeat(32)}`, locked: `sha256:${'8d'.repeat(32)}` };
      const next = await questionOf(consent, store, anew);
      expect((await consent.show(next.id)).showing!.redefined).toEqual(['locked']);
      const elsewhere = await ruleOn(consent, store, { ...call, server: 'disk' });
      expect(decisionOf(elsewhere).detail).toBe('tool_unknown');
    });

    test('is not made while a kill switch stands, and not started', async () => {
      const { store, consent } = await added();
      const allowed = await ruleOn(consent, store, calling('notify'));
      await store.transaction(setKill({ agentId: AGENT, reason: 'stop', capsuleId: 'c' }));
      expect(await consent.run(calling('notify'), () => expect.unreachable())).toMatchObject({
        status: 'error',
        reason: 'killed',
      });
      expect(await begin(store, allowed)).toBe('KILLED');
      expect(told(await records(store))).toEqual([
        ['tool', 'agents', 'tools/call notify', 'blocked', 'kill: KILLED'],
      ]);
    });

    test('has one deadline for all processes, whatever their own clocks say', async () => {
      const { store, other } = await added();
      const asking = (mediumPromptMs: number) => consentOn(store, { rules: { mediumPromptMs } });
      const responder = consentOn(other, { rules: { startWithinMs: 300 } });
      await grant(responder);
      const [inTime, late] = [await asked(asking(600_000), store), await asked(asking(1), store)];
      const reply = async (prompt: Prompt, ownClock: number) => {
        const real = Date.now;
        Date.now = () => real() + ownClock;
        try {
          return await responder.answer(answering(prompt));
        } finally {
          Date.now = real;
        }
      };
      // The answering process is an hour ahead: that gives nobody an hour to begin.
      const { decided_at, start_before } = (await reply(inTime, 3_600_000)).decisions[0]!;
      expect([start_before! - decided_at, decided_at <= (await store.time())]).toEqual([300, true]);
      while ((await store.time()) < late.expires_at!) await new Promise((resolve) => setTimeout(resolve, 5));
      // It is an hour behind: the time to answer is over all the same.
      expect(['CONSENT_EXPIRED', 'CONSENT_ANSWERED']).toContain(
        (await reply(late, -3_600_000)).refusal!.code,
      );
      expect(await responder.pending()).toEqual([]);
    });

    test('is in time only if it is so when its record is written, however long others hold the rows', async () => {
      const { store, other, consent, clock } = await added();
      const question = await asked(consent, store, 'locate');
      const reading = await asked(consent, store);
      await consent.answer(answering(reading));
      const waitingFor = async (act: (elsewhere: Consent) => Promise<string | undefined>) => {
        const until = clock.at + 600 * SECOND;
        const waiting = await store.transaction(async ({ all, forUpdate, tenant }) => {
          const sql = "SELECT rev FROM consent_relation WHERE coalesce(tenant, '') = ?";
          await all(sql + forUpdate, tenant ?? '');
          const looked = Promise.withResolvers<void>();
          const now = () => {
            looked.resolve();
            return clock.at;
          };
          const waiting = act(consentOn(other, { now }));
          await Promise.race([looked.promise, new Promise((resolve) => setTimeout(resolve, 500))]);
          // Long enough for a process that does not look again to have decided.
          await new Promise((resolve) => setTimeout(resolve, 60));
          clock.at = until;
          return () => waiting;
        });
        return waiting();
      };
      const answer = (elsewhere: Consent) => elsewhere.answer(answering(question));
      // Whoever waits for the answer may have ended the question first.
      expect(['CONSENT_EXPIRED', 'CONSENT_ANSWERED']).toContain(
        await waitingFor(async (elsewhere) => (await answer(elsewhere)).refusal?.code),
      );
      clock.at -= 600 * SECOND;
      const again = await ruleOn(consent, store, calling('read_file'));
      await consent.answer(answering('ask' in again.ruling ? again.ruling.prompt : reading));
      await passOf(again);
      expect(await waitingFor(async () => (await begin(other, again)) as string)).toBe('CONSENT_EXPIRED');
    });

    test('is not made when a kill switch comes while its intent is written', async () => {
      const { store, clock } = await added();
      const kill = setKill({ agentId: AGENT, reason: 'stop', capsuleId: 'c' });
      const late = afterAppend(store, () => store.transaction(kill));
      const consent = consentOn(late, { now: () => clock.at });
      const outcome = await consent.run(calling('notify'), () => expect.unreachable());
      expect(outcome).toMatchObject({ status: 'error', reason: 'killed' });
      expect(await consent.decision(outcome.id)).toMatchObject({ stage: 'error', reason: 'killed' });
      expect(told(await records(store))).toEqual([
        ['tool', 'agents', 'tools/call notify', 'pending', null],
        ['tool', 'agents', 'tools/call notify', 'blocked', 'kill: KILLED'],
      ]);
    });

    test('lets only the call begin that was ruled on', async () => {
      const { store, consent } = await added();
      const silent = await ruleOn(consent, store, calling('notify'));
      const { pass } = await passOf(silent);
      const recorder = recorderOf(store);
      const { call } = silent.asked;
      const others = [
        { ...call, args: recorder.payload('args', ARGS) },
        { ...call, rest: recorder.payload('rest', {}) },
        { ...call, tool: { ...call.tool, server: 'shell' } },
        { ...call, tool: { ...call.tool, locked: 'sha256:0' } },
        { ...call, agentId: 'other-agent' },
        { ...call, userId: 'account:bob' },
        { ...call, sessionId: 'other' },
        { ...call, request: 'tools/call locate' },
      ];
      const code = (other: typeof call, more: Evidence = {}) =>
        recorder.intent(other, [pass, { evidence: more }]).then(
          () => 'sealed',
          (error) => error.code,
        );
      for (const other of others) expect(await code(other)).toBe('CONSENT_OTHER_CALL');
      expect(await code(call, { lock: 'sha256:0' })).toBe('CONSENT_OTHER_CALL');
      const { id } = pass.evidence!.consent!;
      expect(await code(call, { consent: { id, asked: 'q' } })).toBe('CONSENT_OTHER_CALL');
      const { evidence: _, ...silentPass } = pass;
      await expect(recorder.intent(call, [silentPass])).rejects.toMatchObject({ code: 'CONSENT_OTHER_CALL' });
      // What the pass itself says is contradicted.
      expect(await code(ruled(store, calling('locate')).call)).toBe('EVIDENCE_CONFLICT');
      expect(await code(call, { consent: { id: 'forged' } })).toBe('EVIDENCE_CONFLICT');
      expect(await records(store)).toEqual([]);
      expect((await recorder.intent(call, [pass])).call).toEqual(call);
    });

    test.each<[unknown]>([[{ length: 0 }], ['x'], [[null]], [[{}]], [[{ to: 'low', why: 'x' }]]])(
      'is denied where what raises its level is no such list: %j',
      async (raises) => {
        const { consent } = await added();
        const given = { ...calling('notify'), raises: raises as LibraryCall['raises'] };
        const denied = await consent.run(given, () => expect.unreachable());
        if (denied.status === 'ok') return expect.unreachable();
        expect([denied.reason, denied.capsule.outcome.error]).toEqual([
          'invalid_call',
          'consent: CONSENT_ID',
        ]);
      },
    );

    test('has a ruling that nobody can change, also not by building its part anew', async () => {
      const { store, consent } = await added();
      const asking = await ruleOn(consent, store, calling('read_file'));
      if (!('ask' in asking.ruling)) return expect.unreachable();
      await consent.answer(answering(asking.ruling.prompt));
      const silent = await ruleOn(consent, store, calling('notify'));
      const recorder = recorderOf(store);
      for (const stepwise of [asking, silent]) {
        const ruling = await passOf(stepwise);
        const { pass, decision } = ruling;
        for (const part of [
          ruling,
          pass,
          pass.evidence!.manifest!,
          pass.authority![0]!,
          decision,
          decision.args!,
        ])
          expect(Object.isFrozen(part)).toBe(true);
        const approver = 'account:bob';
        const step = { ...pass.authority![0]!.step, channel: 'passkey' };
        for (const authority of [undefined, [], [{ type: 'human_approved', approver, step } as const]])
          await expect(recorder.intent(stepwise.asked.call, [{ ...pass, authority }])).rejects.toMatchObject({
            code: 'CONSENT_OTHER_CALL',
          });
        await recorder.intent(stepwise.asked.call, [pass]);
      }
    });

    test('that was denied is not begun with the part of its denial', async () => {
      const { store, consent } = await added();
      const asking = await ruleOn(consent, store, calling('read_file'));
      if (!('ask' in asking.ruling)) return expect.unreachable();
      await consent.answer(answering(asking.ruling.prompt, 'deny-once'));
      const rejected = await asking.ruling.ask;
      const unfit = await ruleOn(consent, store, calling('notify', caller, { unknown: 1 }));
      await consent.revoke(PAIR, 'all', { who: USER, channel: passkey });
      const revoked = await ruleOn(consent, store, calling('notify'));
      const before = await records(store);
      for (const [{ call }, ruling] of [
        [asking.asked, rejected],
        [unfit.asked, unfit.ruling],
        [revoked.asked, revoked.ruling],
      ] as const) {
        if (!('deny' in ruling)) return expect.unreachable();
        expect([ruling, ruling.part].every(Object.isFrozen)).toBe(true);
        await expect(recorderOf(store).intent(call, [ruling.part])).rejects.toMatchObject({
          code: 'CONSENT_DENIED',
        });
      }
      expect(await records(store)).toEqual(before);
    });

    test('is ruled on for who is recorded, and for the arguments that are committed to', async () => {
      const { store, consent } = await added();
      const asked = ruled(store, calling('notify'));
      const { call } = asked;
      const others = [
        { ...asked, call: { ...call, agentId: 'other-agent' } },
        { ...asked, call: { ...call, userId: 'account:bob' } },
        { ...asked, call: { ...call, sessionId: 'other' } },
        { ...asked, call: { ...call, request: 'tools/call locate' } },
        { ...asked, call: { ...call, request: 'tools/call shell/notify' } },
        { ...asked, args: { path: '/tmp/b' } },
        { ...asked, args: undefined },
        { ...asked, call: { ...call, args: payloadOf('rest', ARGS) } },
      ];
      for (const other of others)
        expect(await consent.rule(other)).toMatchObject({
          deny: { stage: 'consent', code: 'CONSENT_OTHER_CALL' },
        });
      expect(await consent.rule({ ...asked, call: { ...call, userId: USER } })).toHaveProperty('pass');
      // Who has no session of its own is recorded under that of a link that several share.
      const shared = { ...asked, identity: { ...caller, session: null } };
      expect(await consent.rule({ ...shared, call: { ...call, sessionId: 'of a link' } })).toHaveProperty(
        'pass',
      );
    });

    test('is recorded and done as it was when it was asked for, whatever reads differently later', async () => {
      const { store, consent } = await added();
      for (const member of ['user', 'agent', 'session'] as const) {
        let reads = 0;
        const changing = Object.defineProperty({ ...caller }, member, {
          enumerable: true,
          get: () => (reads++ === 0 ? caller[member] : 'somebody else'),
        });
        const done = await consent.run(calling('notify', changing), () => null);
        expect([done.status, done.decision?.[member], reads]).toEqual(['ok', caller[member], 1]);
      }
      const args = { path: '/tmp/a' };
      const reasoning = { analysis: 'safe' };
      const given = { ...calling('read_file'), args, reasoning, identity: { ...caller } };
      const running = consent.run(given, (shown) => {
        reasoning.analysis = 'changed';
        return shown;
      });
      args.path = '/etc/shadow';
      given.identity.agent = 'other-agent';
      await vi.waitUntil(async () => (await consent.pending()).length === 1);
      const [prompt] = await consent.pending();
      const seen = '{"path":"/tmp/a"}';
      expect((await consent.show(prompt!.id)).showing!.arguments).toBe(seen);
      const channel = { ...passkey };
      const answer = { ...answering(prompt!, 'allow-once'), channel };
      const answered = consent.answer(answer);
      Object.assign(answer, { choice: 'deny-once' });
      Object.assign(channel, { kind: 'host' });
      expect((await answered).refusal).toBe(null);
      const done = await running;
      if (done.status !== 'ok') return expect.unreachable();
      expect([done.result, Object.isFrozen(done.result)]).toEqual([{ path: '/tmp/a' }, true]);
      expect([done.intent, done.outcome].map(({ reasoning: { analysis } }) => analysis)).toEqual([
        'safe',
        'safe',
      ]);
      const { commitment } = done.decision.args!;
      expect((await store.opening(commitment))!.payload).toBe(seen);
    });

    test('is checked by the arguments that it commits to, also where they change meanwhile', async () => {
      const { consent } = await added();
      const args: Record<string, unknown> = { path: '/tmp/a', unknown: 1 };
      const taken = consent.run({ ...calling('read_file'), args }, () => expect.unreachable());
      delete args.unknown;
      expect(await taken).toMatchObject({ status: 'error', reason: 'invalid_arguments' });
    });

    test('cannot take the id of another, whoever made it', async () => {
      const { store, consent } = await added();
      const ids = ['same', 'same', 'same', 'fresh'];
      const repeating = consentOn(store, { now: () => START, newId: () => ids.shift()!, holder: 'h' });
      expect((await repeating.run(calling('notify'), () => null)).id).toBe('same');
      const { ruling } = await ruleOn(repeating, store, calling('notify'));
      expect('deny' in ruling && ruling.deny).toEqual({ stage: 'consent', code: 'CONSENT_REPEATED' });
      const other = { ...caller, user: 'somebody else' };
      await expect(repeating.run(calling('notify', other), () => null)).rejects.toMatchObject({
        code: 'CONSENT_REPEATED',
      });
      expect(await repeating.run(calling('notify', other), () => null)).toMatchObject({
        reason: 'permission_revoked',
      });
      expect((await consent.pending()).length).toBe(0);
    });
  });

  describe('two processes', () => {
    test('answer one question: exactly one is heard, and who waits hears it', async () => {
      const { consent, elsewhere, store } = await added();
      for (let round = 0; round < 5; round++) {
        const prompt = await asked(consent, store);
        const waiting = consent.waitFor(prompt.id);
        const answers = await Promise.all(
          Array.from({ length: 6 }, (_, i) =>
            (i % 2 === 0 ? consent : elsewhere).answer(
              answering(prompt, i % 3 === 0 ? 'allow-once' : 'deny-once'),
            ),
          ),
        );
        const heard = answers.filter(({ refusal }) => refusal === null);
        expect(heard.length).toBe(1);
        expect(await waiting).toEqual(heard[0]!.decisions[0]);
        const others = answers.filter(({ refusal }) => refusal !== null);
        expect(others.map(({ refusal }) => refusal!.code)).toEqual(new Array(5).fill('CONSENT_ANSWERED'));
      }
      expect((await records(store)).length).toBe(10);
    });

    test('start one allowed call: it runs once', async () => {
      const { consent, store, other } = await added();
      const silent = await ruleOn(consent, store, calling('notify'));
      const answered = await ruleOn(consent, store, calling('read_file'));
      if ('ask' in answered.ruling) await consent.answer(answering(answered.ruling.prompt));
      await passOf(answered);
      for (const [stepwise, code] of [
        [silent, 'CONSENT_REPEATED'],
        [answered, 'CONSENT_SPENT'],
      ] as const) {
        const starts = await Promise.all(
          Array.from({ length: 8 }, (_, i) => begin(i % 2 === 0 ? store : other, stepwise)),
        );
        expect(starts.filter((start) => typeof start !== 'string').length).toBe(1);
        expect(starts.filter((start) => start === code).length).toBe(7);
      }
      expect((await records(store)).length).toBe(2 + 2);
    });

    test('a revocation elsewhere takes effect at once: on questions, on what is allowed, on windows', async () => {
      const { consent, elsewhere, store } = await added();
      const first = await ruleOn(consent, store, calling('read_file'));
      const question = 'ask' in first.ruling ? first.ruling.prompt : null;
      const allowed = (await consent.answer(answering(question!, 'allow-session'))).decisions[0]!;
      await passOf(first);
      const inWindow = await ruleOn(consent, store, calling('list_files'));
      const there = { ...caller, session: 'process:p2' };
      const open = await questionOf(consent, store, calling('list_files', there));
      const waiting = consent.waitFor(open.id);
      const said = { who: USER, channel: terminal };
      const { decisions, capsules } = await elsewhere.revoke(PAIR, ['filesystem:read'], said);
      expect(decisions.map(({ id, detail }) => [id, detail])).toEqual([
        [open.id, 'scope_revoked'],
        [allowed.id, 'scope_revoked'],
      ]);
      // One act, and the end of the question; what was allowed and not begun has no record to end.
      expect(capsules.length).toBe(2);
      expect(capsules[0]).toMatchObject({
        type: 'auth',
        domain: 'admin',
        outcome: { summary: 'consent revoke' },
        context: { environment: { bulla: { facts: { user: USER, revoked: ['filesystem:read'] } } } },
      });
      expect(capsules[1]).toMatchObject({
        type: 'auth',
        domain: 'agents',
        outcome: { status: 'blocked', error: 'consent: permission_revoked' },
      });
      expect(await waiting).toMatchObject({ stage: 'denied', reason: 'permission_revoked' });
      expect(await begin(store, first)).toBe('CONSENT_NOT_ALLOWED');
      expect(await begin(store, inWindow)).toBe('CONSENT_NOT_GRANTED');
      expect((await consent.answer(answering(open))).refusal!.code).toBe('CONSENT_ANSWERED');
      expect(decisionOf(await ruleOn(consent, store, calling('read_file')))).toMatchObject({
        reason: 'permission_revoked',
        detail: 'scope_revoked',
      });
      expect((await consent.grants()).find(({ scope }) => scope === 'filesystem:read')!.status).toBe(
        'revoked',
      );
      await verifiedLength(store, CHAIN);
    });

    test('a new manifest elsewhere ends the questions that it changes, and lets grants rest', async () => {
      const { consent, elsewhere, store, other } = await added();
      const read = await asked(consent, store);
      const list = await questionOf(consent, store, calling('list_files'));
      await push(other, manifestText({ read_file: { words: 2 } }));
      expect(await consent.waitFor(read.id)).toMatchObject({ stage: 'error', reason: 'tool_changed' });
      expect((await consent.pending()).map(({ id }) => id)).toEqual([list.id]);
      // What still stands is not looked at again.
      expect(await elsewhere.sweep()).toEqual([]);
      await push(other, manifestText({ read_file: { words: 2 }, notify: { input: 2 } }));
      // Whoever waits for the answer may have swept first.
      await elsewhere.sweep();
      expect(await consent.decision(list.id)).toMatchObject({ stage: 'denied', detail: 'suspended' });
      const decision = decisionOf(await ruleOn(consent, store, calling('list_files')));
      expect([decision.reason, decision.detail]).toEqual(['permission_revoked', 'suspended']);
      await grant(consent);
      expect((await questionOf(consent, store, calling('list_files'))).tool).toBe('list_files');
    });

    test('many calls at once over both are each decided once, under one window that moves on', async () => {
      const { consent, elsewhere, store } = await added();
      const prompt = await asked(consent, store);
      await consent.answer(answering(prompt, 'allow-session'));
      const calls = await Promise.all(
        Array.from({ length: 24 }, (_, i) =>
          (i % 2 === 0 ? consent : elsewhere).run(calling('read_file'), () => null),
        ),
      );
      const by = calls.map((call) => (call.status === 'ok' ? call.decision.by : call.reason));
      expect(by).toEqual(new Array(24).fill('medium-window'));
      expect(new Set(calls.map(({ id }) => id)).size).toBe(24);
      expect((await records(store)).length).toBe(2 + 2 * 24);
    });
  });

  describe('a process that is gone', () => {
    test('leaves its questions denied with user_timeout and its calls interrupted, and no others', async () => {
      const { store, elsewhere, clock } = await added();
      const now = () => clock.at;
      const before = consentOn(store, { now, holder: 'server' });
      const open = await asked(before, store);
      const stepwise = await ruleOn(before, store, calling('notify'));
      const running = decisionOf(stepwise);
      await begin(store, stepwise);
      const theirs = await asked(elsewhere, store);
      // Started again, it knows what it held.
      const after = consentOn(store, { now, holder: 'server' });
      const ended = await after.restart('server');
      expect(ended.map(({ id, stage, reason, detail }) => [id, stage, reason, detail])).toEqual([
        [open.id, 'denied', 'user_timeout', 'restart'],
        [running.id, 'error', 'interrupted', 'restart'],
      ]);
      expect((await after.pending()).map(({ id }) => id)).toEqual([theirs.id]);
      expect(await after.restart('server')).toEqual([]);
      // The question has its end; the call that ran has an intent without an outcome, which says the same.
      expect(told((await records(store)).slice(-1))).toEqual([
        ['auth', 'agents', 'consent end read_file', 'blocked', 'consent: user_timeout'],
      ]);
      expect((await after.restart(null)).map(({ id }) => id)).toEqual([theirs.id]);
    });

    test('and what it never began lapses', async () => {
      const { consent, elsewhere, store, clock } = await added();
      const allowed = (await consent.answer(answering(await asked(consent, store)))).decisions[0]!;
      const stepwise = await ruleOn(consent, store, calling('notify'));
      const running = decisionOf(stepwise);
      await begin(store, stepwise);
      clock.at += 300 * SECOND;
      const swept = await elsewhere.sweep();
      // The order in which rows come is the database's.
      expect(new Map(swept.map(({ id, stage, reason }) => [id, [stage, reason]]))).toEqual(
        new Map([
          [allowed.id, ['denied', 'user_timeout']],
          [running.id, ['error', 'timeout']],
        ]),
      );
      expect(await elsewhere.sweep()).toEqual([]);
    });
  });

  describe('who waits', () => {
    test('gives up: the question is withdrawn', async () => {
      const { consent, store } = await added();
      const given = consent.run(calling('read_file'), () => expect.unreachable(), {
        signal: AbortSignal.timeout(10),
      });
      expect(await given).toMatchObject({ reason: 'user_timeout', decision: { detail: 'withdrawn' } });
      const prompt = await asked(consent, store);
      const decision = await consent.waitFor(prompt.id, AbortSignal.timeout(10));
      expect([decision.reason, decision.detail]).toEqual(['user_timeout', 'withdrawn']);
      expect(await consent.waitFor(prompt.id)).toEqual(decision);
      await expect(consent.waitFor('none')).rejects.toMatchObject({ code: 'CONSENT_UNKNOWN' });
      await expect(consent.show(prompt.id)).rejects.toMatchObject({ code: 'CONSENT_ANSWERED' });
    });
  });

  describe('a grant', () => {
    test('that an agent asks for is answered after the disclosure', async () => {
      const { consent, elsewhere, store } = await added();
      await consent.revoke(PAIR, ['filesystem:read'], { who: USER, channel: passkey });
      const { prompt } = await consent.request({ identity: caller, scope: 'filesystem:read' });
      const { disclosure, showing } = await elsewhere.show(prompt!.id);
      expect([showing, disclosure!.scopes[0]!.label]).toEqual([null, 'Read the location']);
      const answer = { prompt: prompt!.id, shown: prompt!.shown, ...allow, choice: 'grant' } as const;
      expect((await elsewhere.answer({ ...answer, disclosure: '0'.repeat(64) })).refusal!.code).toBe(
        'CONSENT_DISCLOSURE',
      );
      const said = { who: USER, channel: passkey };
      await elsewhere.disclose(USER, disclosure!, said);
      const digest = disclosureDigest(disclosure!);
      expect((await elsewhere.answer({ ...answer, disclosure: digest })).decisions[0]!.stage).toBe('ok');
      expect((await asked(consent, store)).scope).toBe('filesystem:read');
      const sealed = await records(store);
      expect(told(sealed.slice(0, 2))).toEqual([
        ['auth', 'agents', 'consent ask filesystem:read', 'pending', null],
        ['auth', 'admin', 'consent answer filesystem:read', 'success', null],
      ]);
      expect(sealed[1]!.parent_id).toBe(sealed[0]!.id);
    });

    test('of one tenant, person or agent is of no other', async () => {
      const { consent, store } = await added();
      const other = await added();
      expect((await consent.grants()).length).toBe(3);
      expect((await consent.grants({ agent: 'another' })).length).toBe(0);
      const prompt = await asked(consent, store);
      expect(await other.consent.pending()).toEqual([]);
      expect((await other.consent.answer(answering(prompt))).refusal!.code).toBe('CONSENT_UNKNOWN');
      const stranger = calling('notify', { ...caller, user: 'os:laptop/1001' });
      expect(decisionOf(await ruleOn(consent, store, stranger)).detail).toBe('scope_not_granted');
    });
  });

  test('random histories over two handles end as the reference model says', {
    timeout: 600_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const tenant = `history-${++tenants}`;
        const stores = [await open({ sealer, tenant }), await open({ sealer, tenant })];
        try {
          await runHistory(stores, history);
          await verifiedLength(stores[0]!, CHAIN);
        } finally {
          for (const store of stores) await store.close();
        }
      }),
      { numRuns: 12 * inject('soak') },
    );
  });

  test('rows that were altered in the store decide nothing', async () => {
    const { store, consent } = await added();
    await store.transaction(({ run }) =>
      run(
        `UPDATE consent_row SET data = replace(data, '"granted"', '"blessed"') WHERE relation_key IN
           (SELECT relation_key FROM consent_relation WHERE coalesce(tenant, '') = ?)`,
        store.tenant!,
      ),
    );
    await expect(consent.run(calling('notify'), () => null)).rejects.toMatchObject({
      code: 'CONSENT_STATE',
      path: expect.stringMatching(/^\/grants\/\d\/status$/),
    });
  });

  test('names may be as long as an identity takes', async () => {
    const { consent, store } = await added();
    const identity = identityOf({
      transport: 'http',
      agent: 'a'.repeat(512),
      issuer: 'é'.repeat(512),
      subject: '%'.repeat(512),
      jkt: 'k',
      sessionId: '/'.repeat(512),
    });
    expect(await consent.run(calling('notify', identity), () => null)).toMatchObject({
      decision: { detail: 'tool_unknown' },
    });
    const { ruling } = await ruleOn(consent, store, calling('notify', { ...caller, user: 'a\0b' }));
    expect('deny' in ruling && ruling.deny.code).toBe('CONSENT_ID');
  });
}
