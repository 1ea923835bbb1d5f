import type { Stage } from '@bulla/core/evidence';
import type { Lock } from '@bulla/core/lock';
import type { Policy } from '@bulla/core/policy';
import { quote } from '../mcp/index.ts';
import { outputCheck } from './answers/output.ts';
import type { Context, Enforcement } from './context.ts';
import { type Gate, gatesOf } from './gates/index.ts';
import { keepOf } from './keep.ts';
import type { LinkOptions, Mode } from './link.ts';
import { mirroredOf, withoutTools } from './lists/mirrored.ts';
import { pinsOf } from './lists/pins.ts';

const ENFORCED: Readonly<Record<Mode, Enforcement>> = {
  enforce: { lists: true, calls: true },
  filter: { lists: true, calls: false },
  audit: { lists: false, calls: false },
};

/** What the options of a link say of calls, lists and the server, ready to be used: a reload exchanges all of it. */
export type Rules = Awaited<ReturnType<typeof rulesOf>>;

/** Rejects with `USAGE` where a rule counts calls and there is no store. */
export async function rulesOf(options: LinkOptions, log: (line: string) => void) {
  const mirrored = options.server.kind === 'http' ? mirroredOf(options.lock) : null;
  for (const name of mirrored?.unusable ?? []) {
    log(
      `the tool ${quote(name)} is left out: its definition marks headers otherwise than the protocol permits`,
    );
  }
  const { tools = new Map() } = options;
  // The first call need not wait until the detector is loaded.
  if ([...tools.values()].some(({ record }) => record?.arguments || record?.result)) void keepOf('', []);
  const lock = withoutTools(options.lock, mirrored?.unusable ?? []);
  const { failOn, policies = [], staticResources = false } = options;
  // Loaded only where they are needed: each takes a while.
  const isAsked = failOn !== undefined || policies.length > 0 || staticResources;
  return {
    lock,
    mirrored,
    pins: pinsOf(lock),
    enforce: ENFORCED[options.mode ?? 'enforce'],
    checkOutput: outputCheck(lock, options),
    tools,
    Preflight: isAsked ? (await import('./preflight.ts')).Preflight : null,
    ...(await callRulesOf(options, lock)),
  };
}

/** The policies that have rules about calls or their results. */
function aboutCalls({ policies = [], rules = [] }: LinkOptions): readonly Policy[] {
  const all = [...policies.map(({ policy }) => policy), ...rules];
  return all.filter((policy) => policy.rules.some(({ phase }) => phase !== 'list'));
}

/** What the operator's rules decide about calls, and about what they gave. The engine is loaded where there are any. */
async function callRulesOf(options: LinkOptions, lock: Lock): Promise<CallRules> {
  const about = aboutCalls(options);
  if (about.length === 0) return { gates: [], rulesFor: () => null };
  const [{ policyGate }, { rulesCheck }] = await Promise.all([
    import('./gates/policy.ts'),
    import('./answers/rules.ts'),
  ]);
  const { store, mode } = options;
  const watches = !ENFORCED[mode ?? 'enforce'].calls;
  return { gates: [policyGate(about, lock, { store, watches })], rulesFor: rulesCheck(about, lock) };
}

interface CallRules {
  readonly gates: readonly Gate[];
  readonly rulesFor: Context['rulesFor'];
}

/** What of the rules the handlers of a session read. */
export function appliedOf({ pins, enforce, checkOutput, tools, rulesFor }: Rules) {
  return { pins, enforce, checkOutput, tools, rulesFor };
}

export function gatesFor(context: Context, options: LinkOptions, { lock, gates }: Rules): readonly Gate[] {
  const { sessionId } = context.record.origin;
  const consent = options.consent?.({ sessionId, isShared: options.isShared ?? false }) ?? null;
  const { store } = options;
  const isApproved = consent !== null || options.envelopes !== undefined;
  const repeats =
    isApproved && store !== undefined
      ? { store, user: consent?.identity.user ?? null, holder: context.record.instance, log: context.log }
      : null;
  return gatesOf(context, { ...options, lock, rules: gates, consent, repeats });
}

/** The names of the gates that the options ask for, in their order. */
export function configuredOf(options: LinkOptions): Stage[] {
  const { gates = [], consent, envelopes } = options;
  const isAsked = ENFORCED[options.mode ?? 'enforce'].calls;
  return [
    ...(aboutCalls(options).length > 0 ? ['policy' as const] : []),
    ...(isAsked && (consent ?? envelopes) !== undefined ? ['repeat' as const] : []),
    ...(envelopes !== undefined ? ['envelope' as const] : []),
    ...(isAsked && consent !== undefined ? ['consent' as const] : []),
    ...(isAsked && envelopes !== undefined ? ['envelope' as const] : []),
    ...gates.map(({ name }) => name),
  ];
}
