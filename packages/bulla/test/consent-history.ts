/** Random histories over a store, against the reference model of the core's tests. */
import {
  type Channel,
  type Choice,
  type Decision,
  disclosureDigest,
  type Prompt,
  resultOf,
} from '@bulla/core/consent';
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { Model, type Name, SCOPES, TOOLS, WHERE } from '../../core/test/consent-model.ts';
import type { Consent, Decided } from '../src/consent/index.ts';
import type { Intent } from '../src/record/index.ts';
import type { Store } from '../src/store/index.ts';
import {
  ARGS,
  begin,
  caller,
  consentOn,
  DAY,
  decisionOf,
  digestOf,
  type Editions,
  grant,
  host,
  manifestText,
  PAIR,
  passkey,
  passOf,
  push,
  recorderOf,
  ruleOn,
  START,
  type Stepwise,
  terminal,
  USER,
} from './consent.ts';

const OVER: Readonly<Record<string, Channel>> = { passkey, terminal, host };
const NAMES = Object.keys(TOOLS) as Name[];
const TIMES = [1, 9_999, 10_000, 29_999, 30_000, 300_000, DAY / 2, DAY - 1, DAY];

type Op =
  | { readonly op: 'call'; readonly tool: Name; readonly where: (typeof WHERE)[number] }
  | {
      readonly op: 'answer';
      readonly nth: number;
      readonly choice: Choice;
      readonly over: string;
      readonly flaw: string;
    }
  | { readonly op: 'start' | 'finish'; readonly nth: number }
  | { readonly op: 'request' | 'revoke'; readonly scope: string }
  | { readonly op: 'grant'; readonly scope: string; readonly over: string }
  | { readonly op: 'redefine'; readonly tool: Name; readonly breaking: boolean }
  | { readonly op: 'wait'; readonly ms: number }
  | { readonly op: 'sweep' | 'restart' };

const is = <T extends string>(...names: T[]) => fc.constantFrom(...names);
const nth = fc.nat(3);
const over = is('passkey', 'passkey', 'terminal', 'host');
const scope = fc.constantFrom(...SCOPES);

export const histories: fc.Arbitrary<Op[]> = fc
  .array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ op: is('call'), tool: is(...NAMES), where: is('here', 'here', ...WHERE) }),
      },
      {
        weight: 6,
        arbitrary: fc.record({
          op: is('answer'),
          nth,
          choice: is<Choice>('allow-once', 'allow-session', 'allow-session', 'grant', 'deny-once', 'never'),
          over,
          flaw: is('', '', '', 'shown', 'person'),
        }),
      },
      {
        weight: 5,
        arbitrary: fc.record({ op: is('start', 'finish'), nth }),
      },
      { weight: 2, arbitrary: fc.record({ op: is('request', 'revoke'), scope }) },
      { weight: 3, arbitrary: fc.record({ op: is('grant'), scope, over }) },
      { weight: 1, arbitrary: fc.record({ op: is('redefine'), tool: is(...NAMES), breaking: fc.boolean() }) },
      { weight: 3, arbitrary: fc.record({ op: is('wait'), ms: fc.constantFrom(...TIMES) }) },
      { weight: 1, arbitrary: fc.record({ op: is('sweep', 'restart') }) },
    ),
    { minLength: 5, maxLength: 30 },
  )
  .map((ops) => [...SCOPES.map((each): Op => ({ op: 'grant', scope: each, over: 'passkey' })), ...ops]);

/** A call that was allowed: at once, or by an answer. */
interface Allowed {
  readonly stepwise: Stepwise;
  readonly silent: { readonly tool: Name; readonly where: string } | null;
  /** How often the agent had declared something when it was ruled on. */
  readonly declarations: number;
  release: Model['releases'][number] | null;
  /** With the handle that recorded it. */
  intent: (Intent & { readonly store: Store }) | null;
}

/** Runs one history: each thing happens to the model, and in turn over one of several handles to the store. */
export async function runHistory(stores: readonly Store[], history: readonly Op[]): Promise<void> {
  const model = new Model();
  const clock = { at: START };
  const handles = stores.map((store) =>
    consentOn(store, { now: () => clock.at, rules: { maxOpenPrompts: 1000 } }),
  );
  const prompts: Prompt[] = [];
  /** The calls that were asked about, by the id of the question. */
  const asked = new Map<string, Stepwise>();
  const allowed: Allowed[] = [];
  const declarations = () => model.facts.filter(({ what }) => what === 'declared').length;
  const editions: Record<Name, { input: number; words: number }> = {
    notify: { input: 1, words: 1 },
    read_file: { input: 1, words: 1 },
    list_files: { input: 1, words: 1 },
    locate: { input: 1, words: 1 },
  };
  const text = () => manifestText(editions as Editions);
  await push(stores[0]!, text());

  const said = (step: Decided): string => {
    if (step.refusal !== null) return 'refused';
    if (step.prompt !== null) {
      prompts.push(step.prompt);
      return 'asked';
    }
    const [decision] = step.decisions;
    return decision === undefined ? 'done' : saidOf(decision);
  };
  const saidOf = (decision: Decision): string => {
    if (decision.stage === 'allowed') return `allowed ${decision.by}`;
    const result = resultOf(decision);
    if (result === null) return decision.stage;
    return result.status === 'ok' ? 'ok' : `${result.status} ${result.reason}`;
  };
  const isDone = ({ refusal }: Decided) => (refusal === null ? 'done' : 'refused');
  /** The model has nothing to sweep but calls that ran too long. */
  const sweepModel = () => {
    for (const release of model.releases)
      if (release.started !== null && model.now - release.started >= 10_000) release.ended = true;
  };

  /** What the model says of a beginning: unasked it is decided anew, and always under the same declaration. */
  const started = (call: Allowed): string => {
    if (call.release?.started != null || call.declarations !== declarations()) return 'refused';
    if (call.silent !== null) {
      const { tool, where } = call.silent;
      if (!model.would(tool, where).startsWith('allowed')) return 'refused';
      model.call(tool, where);
      call.release = model.releases.at(-1)!;
    }
    return model.start(call.release!, '');
  };

  const both = async (consent: Consent, store: Store, op: Op): Promise<readonly [string, string]> => {
    switch (op.op) {
      case 'call': {
        const identity = {
          ...caller,
          session: op.where === 'nowhere' ? null : op.where === 'there' ? 'process:p2' : caller.session,
          conversation: op.where === 'group' ? ('group' as const) : ('direct' as const),
        };
        const declared = digestOf(op.tool, text());
        const stepwise = await ruleOn(consent, store, { identity, tool: op.tool, declared, args: ARGS });
        const { ruling } = stepwise;
        const would = model.would(op.tool, op.where);
        if ('ask' in ruling) {
          prompts.push(ruling.prompt);
          asked.set(ruling.prompt.id, stepwise);
          return ['asked', model.call(op.tool, op.where)];
        }
        const said = saidOf(decisionOf(stepwise));
        if ('pass' in ruling) {
          const silent = { tool: op.tool, where: op.where };
          allowed.push({ stepwise, silent, declarations: declarations(), release: null, intent: null });
        } else await recorderOf(store).denied(stepwise.asked.call, ruling.deny, [ruling.part]);
        return [said, would];
      }
      case 'answer': {
        const prompt = prompts.at(-1 - op.nth);
        if (prompt === undefined) break;
        const flawed = { shown: { shown: '0'.repeat(64) }, person: { who: 'somebody else' } }[op.flaw];
        const shown = (await consent.disclosure(PAIR.agent))!;
        await consent.disclose(USER, shown, { who: USER, channel: passkey });
        const step = await consent.answer({
          prompt: prompt.id,
          shown: prompt.shown,
          choice: op.choice,
          who: USER,
          channel: OVER[op.over]!,
          disclosure: disclosureDigest(shown),
          ...flawed,
        });
        const expected = model.answer(model.questions.at(-1 - op.nth)!, op.choice, op.over, op.flaw);
        if (step.refusal === null && step.decisions[0]!.stage === 'allowed') {
          const stepwise = asked.get(prompt.id)!;
          await passOf(stepwise);
          const release = model.releases.at(-1)!;
          allowed.push({ stepwise, silent: null, declarations: declarations(), release, intent: null });
        }
        return [said(step), expected];
      }
      case 'start': {
        const call = allowed.at(-1 - op.nth);
        if (call === undefined) break;
        const begun = await begin(store, call.stepwise);
        if (typeof begun !== 'string') call.intent = { ...begun, store };
        return [typeof begun === 'string' ? 'refused' : 'running', started(call)];
      }
      case 'finish': {
        const call = allowed.at(-1 - op.nth);
        if (call?.intent == null) break;
        const ended = { status: 'success', durationMs: 0 } as const;
        const { refused } = await recorderOf(call.intent.store)
          .outcome(call.intent, ended)
          .catch((error) => {
            expect(error.code).toBe('RECORD_ENDED');
            return { refused: [error] };
          });
        const { id } = (await passOf(call.stepwise)).decision;
        const said = refused.length > 0 ? 'refused' : saidOf((await consent.decision(id))!);
        const expected = model.finish(call.release!);
        // Whoever waits for an answer may have swept a call that ran too long.
        return said === 'refused' && expected === 'error timeout' ? [said, said] : [said, expected];
      }
      case 'request':
        return [said(await consent.request({ identity: caller, scope: op.scope })), model.request(op.scope)];
      case 'grant':
        return [isDone(await grant(consent, [op.scope], OVER[op.over]!)), model.give(op.scope, op.over)];
      case 'revoke': {
        const step = await consent.revoke(PAIR, [op.scope], { who: USER, channel: passkey });
        return [isDone(step), model.take(op.scope)];
      }
      case 'redefine': {
        editions[op.tool][op.breaking ? 'input' : 'words']++;
        expect((await push(store, text())).breaking).toBe(op.breaking);
        await consent.sweep();
        model.facts.push({ what: 'declared' }, { what: 'defined', tool: op.tool });
        if (op.breaking) model.facts.push({ what: 'broken' });
        sweepModel();
        break;
      }
      case 'wait':
        clock.at += op.ms;
        model.now += op.ms;
        break;
      case 'sweep':
        await consent.sweep();
        sweepModel();
        break;
      case 'restart':
        await consent.restart(null);
        model.facts.push({ what: 'restarted' });
        for (const release of model.releases) if (release.started !== null) release.ended = true;
        break;
    }
    return ['', ''];
  };

  for (const [i, op] of history.entries()) {
    const at = i % stores.length;
    const [store, expected] = await both(handles[at]!, stores[at]!, op);
    expect(store).toBe(expected);
  }
  await handles[0]!.sweep();
  const open = new Set((await handles[0]!.pending()).map(({ id }) => id));
  expect(prompts.map(({ id }) => open.has(id))).toEqual(
    model.questions.map((question) => model.isOpen(question)),
  );
}
