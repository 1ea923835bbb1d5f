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
import type { Store } from '../src/store/index.ts';
import {
  ARGS,
  caller,
  consentOn,
  DAY,
  digestOf,
  type Editions,
  grant,
  host,
  manifestText,
  PAIR,
  passkey,
  push,
  START,
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
  | { readonly op: 'start' | 'finish'; readonly nth: number; readonly flaw: string }
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
        arbitrary: fc.record({ op: is('start', 'finish'), nth, flaw: is('', '', '', 'arguments') }),
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

/** Runs one history: each thing happens to the model, and in turn over one of several handles to the store. */
export async function runHistory(stores: readonly Store[], history: readonly Op[]): Promise<void> {
  const model = new Model();
  const clock = { at: START };
  const handles = stores.map((store) =>
    consentOn(store, { now: () => clock.at, rules: { maxOpenPrompts: 1000 } }),
  );
  const prompts: Prompt[] = [];
  const allowed: Decision[] = [];
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
    if (decision === undefined) return 'done';
    if (decision.stage === 'allowed') {
      allowed.push(decision);
      return `allowed ${decision.by}`;
    }
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

  const both = async (consent: Consent, store: Store, op: Op): Promise<readonly [string, string]> => {
    switch (op.op) {
      case 'call': {
        const identity = {
          ...caller,
          session: op.where === 'nowhere' ? null : op.where === 'there' ? 'process:p2' : caller.session,
          conversation: op.where === 'group' ? ('group' as const) : ('direct' as const),
        };
        const tool_digest = digestOf(op.tool, text());
        const step = await consent.call({ identity, tool: op.tool, tool_digest, args: ARGS });
        return [said(step), model.call(op.tool, op.where)];
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
        return [said(step), model.answer(model.questions.at(-1 - op.nth)!, op.choice, op.over, op.flaw)];
      }
      case 'start': {
        const decision = allowed.at(-1 - op.nth);
        if (decision === undefined) break;
        const { id, tool_digest } = decision;
        const commitment = op.flaw === '' ? decision.commitment! : '0'.repeat(64);
        const step = await consent.start({ id, tool_digest: tool_digest!, commitment });
        return [said(step), model.start(model.releases.at(-1 - op.nth)!, op.flaw)];
      }
      case 'finish': {
        const decision = allowed.at(-1 - op.nth);
        if (decision === undefined) break;
        const step = await consent.finish({ id: decision.id, status: 'ok' });
        return [said(step), model.finish(model.releases.at(-1 - op.nth)!)];
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
