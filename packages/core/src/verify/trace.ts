import { type Envelope, toolOf } from '../envelope/index.ts';
import { BullaError } from '../error.ts';
import { isCommitment, readEvidence, resultOf } from '../evidence/index.ts';
import type { Artifact, Verdict } from './artifact.ts';
import type { SegmentRunner } from './chain.ts';
import { recordsOf } from './trace-records.ts';
import {
  absent,
  authorizationIn,
  commitment,
  consentRecord,
  consentText,
  failed,
  failureIn,
  holderOf,
  isBound,
  named,
  part,
  sealed,
  type TraceStep,
  text,
  UNBOUND,
  verdictOf,
  type Walk,
} from './trace-walk.ts';
import type { Trust } from './trust.ts';
import { verify } from './verify.ts';

export type { Basis, TraceStep } from './trace-walk.ts';

/** What a call rests on, step by step. */
export interface Trace {
  /** The ids of the capsules of the call: the intent, or the denial, and the outcome. */
  readonly intent: string;
  readonly outcome: string | null;
  readonly steps: readonly TraceStep[];
  /** The verdicts on the artifacts, in their order. */
  readonly verdicts: readonly Verdict[];
  /** What a trace in which nothing failed does not prove. */
  readonly notProven: readonly string[];
}

const NOT_PROVEN = [
  'that the content is true',
  'when it was done, or that no records are missing, beyond what a checkpoint covers',
  'that the people who answered understood what they were shown',
  'that nothing was called around the gateway',
];

/**
 * Walks from one capsule, by its id or hash, to everything that it rests on, and says of each step what that is known
 * by. Artifacts that nothing names are left out. Throws `TRACE_NO_RECORD` when no artifact holds the capsule, and
 * `EVIDENCE_INVALID` for evidence that cannot be read.
 */
export async function trace(
  start: string,
  artifacts: readonly Artifact[],
  trust: Trust,
  run?: SegmentRunner,
): Promise<Trace> {
  const verdicts = await verify(artifacts, trust, run);
  const records = await recordsOf(start, artifacts);
  if (records === null)
    throw new BullaError('TRACE_NO_RECORD', 'None of the artifacts holds a capsule of this id or hash.');
  const { intent, outcome } = records;
  const evidence = readEvidence(intent) ?? {};
  const walk: Walk = { artifacts, verdicts, trust, evidence, ...records };
  const steps = STEPS.flatMap((step) => step(walk) ?? []);
  const isSealed = steps[0]?.basis === 'verified';
  return {
    intent: text(intent, 'id'),
    outcome: outcome === null ? null : text(outcome, 'id'),
    // What only a record tells that did not verify is what somebody wrote there.
    steps: steps.map((step) => (isSealed || !isNamed(step) ? step : { ...step, basis: 'inferred' })),
    verdicts,
    notProven: NOT_PROVEN,
  };
}

/** Whether a step holds because the record names it by its digest. */
function isNamed({ step, basis }: TraceStep): boolean {
  return basis === 'verified' && !['record', 'outcome', 'chain', 'question', 'answer'].includes(step);
}

/** The steps in their order; each gives nothing where the record does not speak of it. */
const STEPS: readonly ((walk: Walk) => TraceStep | undefined)[] = [
  (walk) => {
    const { intent } = walk;
    const request = text(intent, 'trigger', 'request');
    const agent = text(intent, 'context', 'agent_id') || 'Somebody';
    const status = text(intent, 'outcome', 'status');
    const isCall = ['tool', 'agent'].includes(text(intent, 'type'));
    const says =
      status === 'blocked'
        ? `${agent} was denied: ${request}${failureIn(intent)}.`
        : isCall && status === 'pending'
          ? `${agent} was about to do: ${request}.`
          : `${text(intent, 'trigger', 'source') || agent} did: ${request}.`;
    return sealed(walk, 'record', intent, says);
  },
  (walk) => {
    const { intent, outcome } = walk;
    if (text(intent, 'outcome', 'status') !== 'pending' || text(intent, 'type') === 'auth') return undefined;
    if (outcome === null) {
      const says =
        'No outcome of it is among the files: it was left out, it still runs, or the process ended.';
      return absent('outcome', 'TRACE_NO_RECORD', says);
    }
    const status = text(outcome, 'outcome', 'status');
    const step = sealed(walk, 'outcome', outcome, `It ended as ${status}${failureIn(outcome)}.`);
    return walk.outcomes > 1 ? failed(step, `has ${walk.outcomes} outcomes`) : step;
  },
  (walk) => {
    const { holder } = walk;
    if (holder.capsule !== null) {
      const says =
        'No chain that holds it is among the files, so that nothing shows what stands before and after it.';
      return absent('chain', 'TRACE_NO_ARTIFACT', says);
    }
    const { result, message, code, lines = [] } = verdictOf(walk, holder);
    const basis = result === 'good' ? 'verified' : result === 'bad' ? 'failed' : 'absent';
    const anchored = lines.filter((line) => line.startsWith('continues '));
    const told = [message, ...anchored.map((line) => `It ${line}.`)].join(' ');
    return {
      ...{ step: 'chain', basis, says: `The chain that holds it: ${told}`, artifact: holder.name },
      ...(basis !== 'verified' && { code }),
    };
  },
  ({ intent }) => {
    const source = text(intent, 'trigger', 'source');
    if (source === '' || text(intent, 'domain') !== 'gateway') return undefined;
    return { step: 'host', basis: 'self-reported', says: `The host calls itself ${source}.` };
  },
  (walk) =>
    named(walk, 'lock', 'lock', walk.evidence.lock, ['lockfile', 'bundle'], 'The lock that was in force'),
  (walk) => {
    const { tool } = walk.evidence;
    if (tool?.locked === undefined) return undefined;
    const says = `The tool ${tool.name} of ${tool.server ?? 'the server'}, as that lock pins it`;
    const holder = holderOf(walk, 'lock', walk.evidence.lock);
    return part('tool', 'locked tool', tool.locked, tool.name, holder, says);
  },
  (walk) => {
    const { manifest } = walk.evidence;
    const version = manifest?.version === undefined ? '' : ` in version ${manifest.version}`;
    const says = `What ${manifest?.agent_id} declares${version}`;
    return named(walk, 'manifest', 'manifest', manifest?.hash, ['manifest'], says);
  },
  (walk) => {
    const { tool, manifest } = walk.evidence;
    if (tool?.declared === undefined) return undefined;
    const declared = holderOf(walk, 'manifest', manifest?.hash);
    const says = 'The declaration of the tool in that manifest';
    // A tool of a server has the name that its binding gives it.
    const name = tool.server === undefined ? tool.name : undefined;
    return part('declaration', 'declared tool', tool.declared, name, declared, says);
  },
  (walk) => {
    const { manifest, tool } = walk.evidence;
    if (manifest?.bindings === UNBOUND) {
      const says = 'No declared tool is bound to a server.';
      return { step: 'binding', basis: 'verified', says, digest: UNBOUND };
    }
    const says = 'Which declared tool is which tool of a server';
    const step = named(walk, 'binding', 'bindings', manifest?.bindings, ['bindings'], says);
    if (step?.basis !== 'verified' || tool?.declared === undefined || tool.server === undefined) return step;
    return isBound(walk) ? step : failed(step, 'binds no declared tool to the one that was called');
  },
  (walk) => named(walk, 'rules', 'rules', walk.evidence.policy?.hash, ['rules'], 'The rules that allowed it'),
  ({ evidence: { consent }, intent }) => {
    if (consent === undefined || consent.asked !== undefined) return undefined;
    const says = `Nobody was asked for this call: ${consentText(intent, 'decision')}, by ${consentText(intent, 'channel')}, under ${text(intent, 'authority', 'policy_reference') || 'no grant'}.`;
    return { step: 'consent', basis: 'self-reported', says };
  },
  (walk) => consentRecord(walk, 'question', walk.evidence.consent?.asked),
  (walk) => consentRecord(walk, 'answer', walk.evidence.consent?.answered),
  (walk) => {
    const { envelope, lock, tool, args } = walk.evidence;
    const says = 'The envelope that binds exactly this action';
    const step = named(walk, 'envelope', 'exec_hash', envelope?.exec_hash, ['execution envelope'], says);
    if (step?.basis !== 'verified') return step;
    const read = envelopeOf(walk);
    const bound = read && toolOf(read);
    // Any other action names its own parameters, which only who has them can compare.
    if (read === null || bound === null) return step;
    const isSame =
      bound.lock === lock &&
      bound.server === tool?.server &&
      bound.name === tool?.name &&
      bound.locked === tool?.locked &&
      isCommitment(args) &&
      read.target.to === `${args.of}:${args.commitment}`;
    return isSame ? step : failed(step, 'is of another call');
  },
  (walk) => {
    const digest = authorizationIn(walk.intent);
    const says = 'The authorization of that envelope';
    const step = named(walk, 'authorization', 'authorization', digest, ['authorization'], says);
    if (step?.basis !== 'verified') return step;
    const held = holderOf(walk, 'authorization', digest) as Artifact<'authorization'>;
    const { claims } = held;
    if (claims instanceof BullaError || claims.exec_hash !== walk.evidence.envelope?.exec_hash)
      return failed(step, 'is of another envelope');
    const { result, message } = verdictOf(walk, held);
    return result === 'good' ? { ...step, says: `${step.says} ${message}` } : step;
  },
  (walk) => {
    const { policy } = walk.evidence.envelope ?? {};
    const says = `The policy ${policy?.id} that the envelope is bound to`;
    const step = named(walk, 'policy', 'execution policy', policy?.hash, ['execution policy'], says);
    const envelope = envelopeOf(walk);
    if (step?.basis !== 'verified' || envelope === null) return step;
    const isBound = envelope.policy_binding.policy_hash === policy!.hash;
    return isBound ? step : failed(step, 'is not the one that the envelope is bound to');
  },
  (walk) => {
    const { capability } = walk.evidence;
    const says = 'What the agent could do then';
    const digest = capability?.runtime ?? capability?.static;
    const of = capability?.runtime === undefined ? 'static' : 'runtime';
    return named(walk, 'capability', of, digest, ['capability envelope'], says);
  },
  ({ artifacts, verdicts, holder }) => {
    const forged = verdicts.filter(
      ({ kind, result }, i) => kind === 'capsules' && result === 'bad' && artifacts[i] !== holder,
    );
    if (forged.length === 0) return undefined;
    const says = `Other records at hand are bad: ${forged.map(({ name, message }) => `${name}: ${message}`).join(' ')}`;
    return { step: 'records', basis: 'failed', code: forged[0]!.code, says };
  },
  ({ evidence: { args } }) => commitment('arguments', args),
  ({ outcome }) => (outcome === null ? undefined : commitment('result', resultOf(outcome))),
];

/** The envelope that the record names, where it is at hand. */
function envelopeOf(walk: Walk): Envelope | null {
  const holder = holderOf(walk, 'exec_hash', walk.evidence.envelope?.exec_hash);
  if (holder?.kind !== 'execution envelope' || holder.envelope instanceof BullaError) return null;
  return holder.envelope;
}
