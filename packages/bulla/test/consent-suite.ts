import { commit } from '@bulla/core/canon';
import {
  CHINESE,
  type Decision,
  disclosureDigest,
  identityOf,
  type Prompt,
  resultOf,
} from '@bulla/core/consent';
import * as fc from 'fast-check';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { storeSource, verifyChain } from '../src/chain/index.ts';
import type { Consent } from '../src/consent/index.ts';
import { type Store, type StoreOptions, setKill } from '../src/store/index.ts';
import {
  AGENT,
  ARGS,
  CHAIN,
  caller,
  calling,
  consentOn,
  DAY,
  digestOf,
  grant,
  manifestText,
  PAIR,
  passkey,
  push,
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
  readonly authority: { type: string; approver: string | null; policy_reference: string | null };
  readonly context: { environment: { bulla: { consent: Record<string, unknown> } } };
  readonly outcome: { status: string; summary: string; error: string | null };
}

/** The records about calls and requests. */
async function records(store: Store): Promise<Sealed[]> {
  const found: Sealed[] = [];
  for await (const { data } of store.chain(CHAIN).records()) found.push(JSON.parse(data));
  return found.filter(({ outcome }) => /^(?:call|request)/.test(outcome.summary));
}

const told = (sealed: readonly Sealed[]) =>
  sealed.map(({ outcome, context }) => [
    outcome.status,
    outcome.error,
    context.environment.bulla.consent.stage,
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
  const start = ({ id, tool_digest, commitment }: Decision) => ({
    id,
    tool_digest: tool_digest!,
    commitment: commitment!,
  });
  const asked = async (consent: Consent, tool: 'read_file' | 'locate' = 'read_file') =>
    (await consent.call(calling(tool))).prompt!;
  const allow = { choice: 'allow-once', who: USER, channel: passkey } as const;

  describe('a call', () => {
    test('of a low scope is allowed in silence, started once and ended, each sealed', async () => {
      const { store, consent, clock } = await added();
      const { decisions, capsules } = await consent.call({
        ...calling('notify'),
        about: { source: 'host', correlationId: 'trace-1', bulla: { server: 'sha256:aa' } },
      });
      const [decision] = decisions;
      expect([decision!.stage, decision!.by, decision!.holder]).toEqual([
        'allowed',
        'low-silent',
        consent.holder,
      ]);
      clock.at += 5;
      expect((await consent.start(start(decision!))).decisions[0]!.stage).toBe('running');
      expect((await consent.start(start(decision!))).refusal!.code).toBe('CONSENT_SPENT');
      clock.at += 7;
      const ended = await consent.finish({ id: decision!.id, status: 'ok' });
      expect(ended.decisions[0]).toMatchObject({ stage: 'ok', ended_at: START + 12 });
      const sealed = await records(store);
      expect(told(sealed)).toEqual([
        ['pending', null, 'allowed'],
        ['pending', null, 'running'],
        ['success', null, 'ok'],
      ]);
      expect(sealed.map(({ parent_id }) => parent_id)).toEqual([null, sealed[0]!.id, sealed[1]!.id]);
      const { history } = await verifyChain(await storeSource(store.chain(CHAIN)), {
        mode: 'structural',
        keys: [],
      });
      expect(history.unfinished.count).toBe(0);
      expect(capsules[0]).toMatchObject({
        type: 'tool',
        domain: 'consent',
        trigger: { type: 'agent', source: 'host', request: 'call notify', correlation_id: 'trace-1' },
        context: {
          agent_id: AGENT,
          session_id: caller.session,
          environment: {
            bulla: {
              v: 1,
              server: 'sha256:aa',
              tool: { name: 'notify', digest: digestOf('notify') },
              args: { commitment: decision!.commitment },
              manifest: { agent_id: AGENT, hash: decision!.manifest },
              consent: { id: decision!.id, user: USER, scope: 'notification:send', by: 'low-silent' },
            },
          },
        },
        authority: { type: 'policy', policy_reference: decision!.grant },
      });
      expect(JSON.stringify(sealed)).not.toContain('/tmp/a');
      await verifiedLength(store, CHAIN);
    });

    test('keeps its salt, and its arguments only where a person has to see them', async () => {
      const { store, consent } = await added();
      const silent = (await consent.call(calling('notify'))).decisions[0]!;
      const prompt = await asked(consent);
      const [first, second] = [
        (await store.opening(silent.commitment!))!,
        (await store.opening(prompt.commitment!))!,
      ];
      expect([first.payload, second.payload]).toEqual([null, '{"path":"/tmp/a"}']);
      expect(commit('args', ARGS, first.salt)).toBe(silent.commitment);
      expect((await records(store)).map(({ id }) => id)).toEqual([first.capsuleId, second.capsuleId]);
    });

    test('of a medium scope is asked, shown as it is, and allowed for the session', async () => {
      const { store, consent, elsewhere, clock } = await added();
      const hidden = await consent.call(calling('read_file', caller, { path: '/tmp/\u202ea' }));
      const [pending] = await elsewhere.pending({ user: USER });
      expect(pending).toEqual(hidden.prompt);
      const { showing } = await elsewhere.show(pending!.id);
      expect(showing).toMatchObject({
        description: 'tools.read_file.1',
        scope_label: 'Read local files',
        arguments: '{"path":"/tmp/⟨U+202E⟩a"}',
        changed: null,
        session_covers: ['read_file', 'list_files'],
        digest: pending!.shown,
      });
      const answer = { prompt: pending!.id, shown: pending!.shown, who: USER, channel: passkey };
      const answered = await elsewhere.answer({ ...answer, choice: 'allow-session' });
      expect(answered.decisions[0]!.by).toBe('medium-session');
      expect((await consent.decision(pending!.id))!.by).toBe('medium-session');
      expect((await elsewhere.answer({ ...answer, choice: 'never' })).refusal!.code).toBe('CONSENT_ANSWERED');
      expect(await consent.pending()).toEqual([]);
      clock.at += DAY - 1;
      expect((await consent.call(calling('list_files'))).decisions[0]!.by).toBe('medium-window');
      clock.at += DAY;
      const next = (await consent.call(calling('read_file'))).prompt!;
      expect((await consent.show(next.id)).showing!.changed).toEqual([
        { kind: 'same', text: '{"path":"/tmp/' },
        { kind: 'removed', text: '⟨U+202E⟩' },
        { kind: 'same', text: 'a"}' },
      ]);
      const sealed = await records(store);
      expect(sealed[1]).toMatchObject({
        parent_id: sealed[0]!.id,
        authority: { type: 'human_approved', approver: USER },
        trigger: { user_id: USER },
      });
    });

    test('is shown in the language that is asked for, under one digest', async () => {
      const { consent } = await added();
      const { id, shown } = (await consent.call(calling('read_file'))).prompt!;
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
      const { prompt } = await consent.call({ ...calling('read_file'), call_id: 'c-1' });
      const [pending] = await elsewhere.pending();
      expect([pending!.id, pending!.call_id]).toEqual([prompt!.id, 'c-1']);
      const answer = { prompt: pending!.id, shown: pending!.shown, who: USER, channel: passkey };
      await elsewhere.answer({ ...answer, choice: 'deny-once' });
      expect(resultOf((await consent.decision(prompt!.id))!)).toEqual({
        id: prompt!.id,
        call_id: 'c-1',
        status: 'denied',
        reason: 'user_rejected',
      });
    });

    test('of a high scope waits 30 seconds, by the clock', async () => {
      const { store, consent, clock } = await added();
      const prompt = await asked(consent, 'locate');
      const waiting = consent.waitFor(prompt.id);
      clock.at += 30 * SECOND - 1;
      expect((await consent.pending()).length).toBe(1);
      clock.at += 1;
      expect(await consent.pending()).toEqual([]);
      const late = await consent.answer({ prompt: prompt.id, shown: prompt.shown, ...allow });
      const decision = await waiting;
      expect(['CONSENT_EXPIRED', 'CONSENT_ANSWERED']).toContain(late.refusal!.code);
      expect([decision.stage, decision.reason, decision.detail]).toEqual([
        'denied',
        'user_timeout',
        'deadline',
      ]);
      expect(told(await records(store))).toEqual([
        ['pending', null, 'asked'],
        ['blocked', 'consent: user_timeout', 'denied'],
      ]);
    });

    test('of a high scope is not released from a terminal, unless the operator says so', async () => {
      const { consent, store } = await added();
      const prompt = await asked(consent, 'locate');
      const answer = { prompt: prompt.id, shown: prompt.shown, ...allow, channel: terminal };
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
      ])
        await consent.call(call);
      const sealed = await records(store);
      expect(sealed.map(({ outcome }) => [outcome.status, outcome.error])).toEqual([
        ['blocked', 'consent: permission_revoked'],
        ['blocked', 'consent: tool_not_supported_in_group'],
        ['blocked', 'consent: permission_revoked'],
        ['blocked', 'consent: tool_unknown'],
      ]);
      expect(JSON.stringify(sealed)).not.toContain('my_secret_is_7');
    });

    test('is not made while a kill switch stands, and not started', async () => {
      const { store, consent } = await added();
      const allowed = (await consent.call(calling('notify'))).decisions[0]!;
      await store.transaction(setKill({ agentId: AGENT, reason: 'stop', capsuleId: 'c' }));
      await expect(consent.call(calling('notify'))).rejects.toMatchObject({ code: 'KILLED' });
      await expect(consent.start(start(allowed))).rejects.toMatchObject({ code: 'KILLED' });
    });

    test('has one deadline for all processes, whatever their own clocks say', async () => {
      const { store, other } = await added();
      const asking = (mediumPromptMs: number) => consentOn(store, { rules: { mediumPromptMs } });
      const answering = consentOn(other, { rules: { startWithinMs: 300 } });
      await grant(answering);
      const [inTime, late] = [await asked(asking(600_000)), await asked(asking(1))];
      const reply = async (prompt: Prompt, ownClock: number) => {
        const real = Date.now;
        Date.now = () => real() + ownClock;
        try {
          return await answering.answer({ ...allow, prompt: prompt.id, shown: prompt.shown });
        } finally {
          Date.now = real;
        }
      };
      // The answering process is an hour ahead: that gives nobody an hour to begin.
      const { decided_at, start_before } = (await reply(inTime, 3_600_000)).decisions[0]!;
      expect([start_before! - decided_at, decided_at <= (await store.time())]).toEqual([300, true]);
      while ((await store.time()) < late.expires_at!) await new Promise((resolve) => setTimeout(resolve, 5));
      // It is an hour behind: the time to answer is over all the same.
      expect((await reply(late, -3_600_000)).refusal!.code).toBe('CONSENT_EXPIRED');
      expect(await answering.pending()).toEqual([]);
    });

    test('is in time only if it is so when its record is written, however long others hold the rows', async () => {
      const { store, other, consent, clock } = await added();
      const prompt = await asked(consent, 'locate');
      const allowed = (await consent.call(calling('notify'))).decisions[0]!;
      const waitingFor = async (
        act: (elsewhere: Consent) => Promise<{ refusal: { code: string } | null }>,
      ) => {
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
          await looked.promise;
          // Long enough for a process that does not look again to have decided.
          await new Promise((resolve) => setTimeout(resolve, 60));
          clock.at = until;
          return () => waiting;
        });
        return (await waiting()).refusal?.code;
      };
      expect(await waitingFor((elsewhere) => elsewhere.start(start(allowed)))).toBe('CONSENT_EXPIRED');
      clock.at -= 600 * SECOND;
      const { id, shown } = prompt;
      expect(await waitingFor((elsewhere) => elsewhere.answer({ ...allow, prompt: id, shown }))).toBe(
        'CONSENT_EXPIRED',
      );
    });

    test('is not made when a kill switch comes while its start is written', async () => {
      const { store, consent, clock } = await added();
      const allowed = (await consent.call(calling('notify'))).decisions[0]!;
      const kill = setKill({ agentId: AGENT, reason: 'stop', capsuleId: 'c' });
      const late = consentOn(
        afterAppend(store, () => store.transaction(kill)),
        { now: () => clock.at },
      );
      await expect(late.start(start(allowed))).rejects.toMatchObject({ code: 'KILLED' });
      expect(await consent.decision(allowed.id)).toMatchObject({ stage: 'error', reason: 'killed' });
    });

    test('cannot take the id of another, whoever made it', async () => {
      const { store, consent } = await added();
      const ids = ['same', 'same', 'fresh'];
      const repeating = consentOn(store, { now: () => START, newId: () => ids.shift()!, holder: 'h' });
      expect((await repeating.call(calling('notify'))).decisions[0]!.id).toBe('same');
      expect((await repeating.call(calling('notify'))).refusal!.code).toBe('CONSENT_REPEATED');
      const other = { ...caller, user: 'somebody else' };
      ids.unshift('same');
      await expect(repeating.call(calling('notify', other))).rejects.toMatchObject({
        code: 'CONSENT_REPEATED',
      });
      expect((await repeating.call(calling('notify', other))).decisions[0]!.reason).toBe(
        'permission_revoked',
      );
      expect((await consent.pending()).length).toBe(0);
    });
  });

  describe('two processes', () => {
    test('answer one question: exactly one is heard, and who waits hears it', async () => {
      const { consent, elsewhere, store } = await added();
      for (let round = 0; round < 5; round++) {
        const prompt = await asked(consent);
        const waiting = consent.waitFor(prompt.id);
        const answers = await Promise.all(
          Array.from({ length: 6 }, (_, i) =>
            (i % 2 === 0 ? consent : elsewhere).answer({
              prompt: prompt.id,
              shown: prompt.shown,
              ...allow,
              choice: i % 3 === 0 ? 'allow-once' : 'deny-once',
            }),
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
      const { consent, elsewhere, store } = await added();
      const allowed = (await consent.call(calling('notify'))).decisions[0]!;
      const starts = await Promise.all(
        Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? consent : elsewhere).start(start(allowed))),
      );
      expect(starts.filter(({ refusal }) => refusal === null).length).toBe(1);
      expect(starts.filter(({ refusal }) => refusal?.code === 'CONSENT_SPENT').length).toBe(7);
      expect((await records(store)).length).toBe(2);
    });

    test('a revocation elsewhere takes effect at once: on questions, on what is allowed, on windows', async () => {
      const { consent, elsewhere, store } = await added();
      const first = await asked(consent);
      const session = { prompt: first.id, shown: first.shown, ...allow, choice: 'allow-session' } as const;
      const allowed = (await consent.answer(session)).decisions[0]!;
      const there = { ...caller, session: 'process:p2' };
      const open = (await consent.call(calling('list_files', there))).prompt!;
      const waiting = consent.waitFor(open.id);
      const said = { who: USER, channel: terminal };
      const { decisions, capsules } = await elsewhere.revoke(PAIR, ['filesystem:read'], said);
      expect(decisions.map(({ id, detail }) => [id, detail])).toEqual([
        [open.id, 'scope_revoked'],
        [allowed.id, 'scope_revoked'],
      ]);
      expect(capsules.length).toBe(3);
      expect(capsules[0]).toMatchObject({
        type: 'auth',
        outcome: { summary: 'consent revoke' },
        context: { environment: { bulla: { consent: { user: USER, revoked: ['filesystem:read'] } } } },
      });
      expect(await waiting).toMatchObject({ stage: 'denied', reason: 'permission_revoked' });
      expect((await consent.start(start(allowed))).refusal!.code).toBe('CONSENT_NOT_ALLOWED');
      const answer = { prompt: open.id, shown: open.shown, ...allow };
      expect((await consent.answer(answer)).refusal!.code).toBe('CONSENT_ANSWERED');
      expect((await consent.call(calling('read_file'))).decisions[0]).toMatchObject({
        reason: 'permission_revoked',
        detail: 'scope_revoked',
      });
      expect((await consent.grants()).find(({ scope }) => scope === 'filesystem:read')!.status).toBe(
        'revoked',
      );
      await verifiedLength(store, CHAIN);
    });

    test('a new manifest elsewhere ends the questions that it changes, and lets grants rest', async () => {
      const { consent, elsewhere, other } = await added();
      const [read, list] = [await asked(consent), (await consent.call(calling('list_files'))).prompt!];
      await push(other, manifestText({ read_file: { words: 2 } }));
      expect(await consent.waitFor(read.id)).toMatchObject({ stage: 'error', reason: 'tool_changed' });
      expect((await consent.pending()).map(({ id }) => id)).toEqual([list.id]);
      // What still stands is not looked at again.
      expect(await elsewhere.sweep()).toEqual([]);
      await push(other, manifestText({ read_file: { words: 2 }, notify: { input: 2 } }));
      const swept = await elsewhere.sweep();
      expect(swept.map(({ id, detail }) => [id, detail])).toEqual([[list.id, 'suspended']]);
      const [decision] = (await consent.call(calling('list_files'))).decisions;
      expect([decision!.reason, decision!.detail]).toEqual(['permission_revoked', 'suspended']);
      await grant(consent);
      expect((await consent.call(calling('list_files'))).prompt).not.toBe(null);
    });

    test('many calls at once over both are each decided once, under one window that moves on', async () => {
      const { consent, elsewhere, store } = await added();
      const prompt = await asked(consent);
      await consent.answer({ prompt: prompt.id, shown: prompt.shown, ...allow, choice: 'allow-session' });
      const calls = await Promise.all(
        Array.from({ length: 24 }, (_, i) => (i % 2 === 0 ? consent : elsewhere).call(calling('read_file'))),
      );
      expect(calls.map(({ decisions }) => decisions[0]!.by)).toEqual(new Array(24).fill('medium-window'));
      expect(new Set(calls.map(({ decisions }) => decisions[0]!.id)).size).toBe(24);
      expect((await records(store)).length).toBe(2 + 24);
    });
  });

  describe('a process that is gone', () => {
    test('leaves its questions denied with user_timeout and its calls interrupted, and no others', async () => {
      const { store, elsewhere, clock } = await added();
      const now = () => clock.at;
      const before = consentOn(store, { now, holder: 'server' });
      const open = await asked(before);
      const running = (await before.call(calling('notify'))).decisions[0]!;
      await before.start(start(running));
      const theirs = await asked(elsewhere);
      // Started again, it knows what it held.
      const after = consentOn(store, { now, holder: 'server' });
      const ended = await after.restart('server');
      expect(ended.map(({ id, stage, reason, detail }) => [id, stage, reason, detail])).toEqual([
        [open.id, 'denied', 'user_timeout', 'restart'],
        [running.id, 'error', 'interrupted', 'restart'],
      ]);
      expect((await after.pending()).map(({ id }) => id)).toEqual([theirs.id]);
      expect(await after.restart('server')).toEqual([]);
      expect(told((await records(store)).slice(-2))).toEqual([
        ['blocked', 'consent: user_timeout', 'denied'],
        ['failure', 'consent: interrupted', 'error'],
      ]);
      expect((await after.restart(null)).map(({ id }) => id)).toEqual([theirs.id]);
    });

    test('and what it never began lapses', async () => {
      const { consent, elsewhere, clock } = await added();
      const allowed = (await consent.call(calling('notify'))).decisions[0]!;
      const running = (await consent.call(calling('notify'))).decisions[0]!;
      await consent.start(start(running));
      clock.at += 300 * SECOND;
      const swept = await elsewhere.sweep();
      expect(swept.map(({ id, stage, reason }) => [id, stage, reason])).toEqual([
        [allowed.id, 'denied', 'user_timeout'],
        [running.id, 'error', 'timeout'],
      ]);
      expect(await elsewhere.sweep()).toEqual([]);
    });
  });

  describe('who waits', () => {
    test('gives up: the question is withdrawn', async () => {
      const { consent } = await added();
      const prompt = await asked(consent);
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
      expect((await consent.call(calling('read_file'))).prompt).not.toBe(null);
      const sealed = await records(store);
      expect(sealed.slice(0, 2).map(({ type, outcome }) => [type, outcome.status])).toEqual([
        ['auth', 'pending'],
        ['auth', 'success'],
      ]);
      expect(sealed[1]!.parent_id).toBe(sealed[0]!.id);
    });

    test('of one tenant, person or agent is of no other', async () => {
      const { consent } = await added();
      const other = await added();
      expect((await consent.grants()).length).toBe(3);
      expect((await consent.grants({ agent: 'another' })).length).toBe(0);
      const prompt = await asked(consent);
      expect(await other.consent.pending()).toEqual([]);
      expect(
        (await other.consent.answer({ prompt: prompt.id, shown: prompt.shown, ...allow })).refusal!.code,
      ).toBe('CONSENT_UNKNOWN');
      const stranger = await consent.call(calling('notify', { ...caller, user: 'os:laptop/1001' }));
      expect(stranger.decisions[0]!.detail).toBe('scope_not_granted');
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
    await expect(consent.call(calling('notify'))).rejects.toMatchObject({
      code: 'CONSENT_STATE',
      path: expect.stringMatching(/^\/grants\/\d\/status$/),
    });
  });

  test('names may be as long as an identity takes', async () => {
    const { consent } = await added();
    const identity = identityOf({
      transport: 'http',
      agent: 'a'.repeat(512),
      issuer: 'é'.repeat(512),
      subject: '%'.repeat(512),
      jkt: 'k',
      sessionId: '/'.repeat(512),
    });
    const { decisions } = await consent.call(calling('notify', identity));
    expect(decisions[0]!.detail).toBe('tool_unknown');
    const zero = await consent.call(calling('notify', { ...caller, user: 'a\0b' }));
    expect(zero.refusal!.code).toBe('CONSENT_ID');
  });
}
