import type { ChainReport } from '../capsule/index.ts';
import type { Code } from '../codes.ts';
import { checkEnvelope, type Envelope, type ExecProfile, toolOf } from '../envelope/index.ts';
import { BullaError } from '../error.ts';
import { isCommitment, readEvidence, resultOf } from '../evidence/index.ts';
import type { Artifact, Verdict } from './artifact.ts';
import type { SegmentRunner } from './chain.ts';
import { answer, question } from './trace-consent.ts';
import { outcome, outcomesOf } from './trace-outcome.ts';
import { recordsOf } from './trace-records.ts';
import {
  absent,
  authorizationIn,
  commitment,
  consentText,
  evidenceIn,
  failed,
  failureIn,
  heldBy,
  holderOf,
  isBegun,
  isBound,
  isUsedTwice,
  named,
  part,
  sealed,
  TOLERATED,
  type TraceStep,
  text,
  timeOf,
  UNBOUND,
  verdictOf,
  type Walk,
} from './trace-walk.ts';
import { approversOf, type Trust } from './trust.ts';
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
  const isGood = (artifact: Artifact) => verdicts[artifacts.indexOf(artifact)]?.result === 'good';
  const records = await recordsOf(start, artifacts, {
    isGood,
    headOf(chain) {
      const { count = 0, head = null } = verdicts[artifacts.indexOf(chain)]!.details as Partial<ChainReport>;
      return { count, hash: head?.hash ?? null };
    },
    isVerified: (held) => sealed({ trust, isGood }, 'record', held, '').basis === 'verified',
  });
  if (records === null)
    throw new BullaError('TRACE_NO_RECORD', 'None of the artifacts holds a capsule of this id or hash.');
  const { intent } = records;
  const evidence = readEvidence(intent) ?? {};
  const walk: Walk = { artifacts, verdicts, trust, evidence, isGood, ...records };
  const steps = STEPS.flatMap((step) => step(walk) ?? []);
  const isSealed = steps[0]?.basis === 'verified';
  const [ended] = outcomesOf(walk);
  return {
    intent: text(intent, 'id'),
    outcome: ended === undefined ? null : text(ended.record, 'id'),
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
    const step = sealed(walk, 'record', { record: intent, holder: walk.holder }, says);
    return heldBy(walk, text(intent, 'id')).length > 1
      ? failed(step, 'is not the only record of this id')
      : step;
  },
  outcome,
  (walk) => {
    const { holder, artifacts, verdicts, forks } = walk;
    if (holder.capsule !== null) {
      const says =
        'No chain that holds it is among the files, so that nothing shows what stands before and after it.';
      return absent('chain', 'TRACE_NO_ARTIFACT', says);
    }
    const { result, message, code, lines = [], details } = verdictOf(walk, holder);
    const basis = result === 'good' ? 'verified' : result === 'undecided' ? 'absent' : 'failed';
    const anchored = lines.filter((line) => line.startsWith('continues '));
    const told = [message, ...anchored.map((line) => `It ${line}.`)].join(' ');
    const step: TraceStep = {
      ...{ step: 'chain', basis, says: `The chain that holds it: ${told}`, artifact: holder.name },
      ...(basis !== 'verified' && { code }),
    };
    if (basis !== 'verified') return step;
    const [fork] = forks;
    if (fork !== undefined) return failed(step, `differs from another chain with this record, ${fork.name}`);
    const bad = verdicts.find(
      ({ result }, i) =>
        ['checkpoint', 'log proof'].includes(artifacts[i]!.kind) && ['bad', 'unreadable'].includes(result),
    );
    if (bad !== undefined)
      return { ...failed(step, `is given with ${bad.name}: ${withoutStop(bad.message)}`), code: bad.code };
    const checkpoints = (details.checkpoints ?? []) as readonly Compared[];
    const other = checkpoints.find(({ not_compared }) => not_compared !== null);
    if (other === undefined) return step;
    return failed(step, `was not compared with ${other.file}: ${withoutStop(other.not_compared!)}`);
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
  (walk) => named(walk, 'rules', 'rules', walk.evidence.policy?.hash, ['rules'], 'The rules that decided'),
  (walk) => {
    const { intent } = walk;
    const { consent } = walk.evidence;
    if (consent === undefined) return undefined;
    const isAsked = consent.asked !== undefined;
    const how = `${consentText(intent, 'decision')}, by ${consentText(intent, 'channel')}`;
    const under = text(intent, 'authority', 'policy_reference') || 'no grant';
    const says = isAsked
      ? 'Somebody was asked for this call.'
      : `Nobody was asked for this call: ${how}, under ${under}.`;
    const step: TraceStep = { step: 'consent', basis: 'self-reported', says };
    if (isUsedTwice(walk, (record) => evidenceIn(record).consent?.id))
      return failed(step, 'is what another call rests on too');
    return isAsked ? undefined : step;
  },
  question,
  answer,
  (walk) => {
    const { envelope, lock, tool, args } = walk.evidence;
    const read = envelopeOf(walk);
    const bound = read && toolOf(read);
    const says = bound === null ? 'The envelope of the action' : 'The envelope that binds exactly this call';
    const step = named(walk, 'envelope', 'exec_hash', envelope?.exec_hash, ['execution envelope'], says);
    if (isUsedTwice(walk, (record) => evidenceIn(record).envelope?.exec_hash))
      return step && failed(step, 'was executed by another call too');
    if (step?.basis !== 'verified' || read === null || !isBegun(walk)) return step;
    // Any other action names its own parameters, which only who has them can compare.
    if (bound === null)
      return {
        ...step,
        says: `${step.says} That it did just this ${read.action_type} is the executor's word.`,
      };
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
    const { envelope } = walk.evidence;
    if (digest === undefined && envelope !== undefined && isBegun(walk))
      return absent('authorization', 'TRACE_NO_ARTIFACT', 'The call names no authorization of the envelope.');
    const says = 'The authorization of that envelope';
    const step = named(walk, 'authorization', 'authorization', digest, ['authorization'], says);
    if (step?.basis !== 'verified') return step;
    const held = holderOf(walk, 'authorization', digest) as Artifact<'authorization'>;
    const { claims, bytes } = held;
    if (claims instanceof BullaError || claims.exec_hash !== envelope?.exec_hash)
      return failed(step, 'is of another envelope');
    const { result, message, code } = verdictOf(walk, held);
    const told = { ...step, says: `${step.says} ${message}` };
    if (result !== 'good') return { ...told, basis: 'absent', code };
    if (!isBegun(walk)) return told;
    if (isUsedTwice(walk, authorizationIn)) return failed(told, 'was used by another call too');
    const problem = refusedThen(walk, bytes);
    if (problem === null) return told;
    const why = `did not permit the call: ${withoutStop(problem.message)}`;
    return { ...failed(told, why), code: problem.code };
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
  ({ artifacts, verdicts, holder, unproven }) => {
    const forged = verdicts.filter(
      ({ kind, result }, i) =>
        kind === 'capsules' && ['bad', 'unreadable'].includes(result) && artifacts[i] !== holder,
    );
    if (forged.length === 0 && unproven.length === 0) return undefined;
    if (forged.length === 0) {
      const names = unproven.map(({ name }) => name).join(', ');
      const says = `Other records speak of the call, and their signatures cannot be checked: ${names}.`;
      return absent('records', 'VERIFY_NO_KEY', says);
    }
    const says = `Other records at hand are bad: ${forged.map(({ name, message }) => `${name}: ${message}`).join(' ')}`;
    return { step: 'records', basis: 'failed', code: forged[0]!.code, says };
  },
  ({ evidence: { args, redacted } }) => commitment('arguments', args, redacted?.args),
  (walk) => {
    const [outcome] = outcomesOf(walk);
    const { redacted } = outcome === undefined ? {} : evidenceIn(outcome.record);
    return outcome && commitment('result', resultOf(outcome.record), redacted?.result);
  },
];

/** A checkpoint beside a chain, and why the chain was not compared with it. */
interface Compared {
  readonly file: string;
  readonly not_compared: string | null;
}

const withoutStop = (sentence: string) => sentence.replace(/\.$/, '');

/** What the checklist of envelopes would have refused when the call began; null where envelope or policy are not at hand. */
function refusedThen(walk: Walk, authorization: Uint8Array): { code: Code; message: string } | null {
  const envelope = envelopeOf(walk);
  const { audience = '', policy: named, profile } = walk.evidence.envelope ?? {};
  const holder = holderOf(walk, 'execution policy', named?.hash);
  if (envelope === null || holder?.kind !== 'execution policy' || holder.policy instanceof BullaError)
    return null;
  const { code, message } = checkEnvelope({
    ...{ envelope, authorization, audience, policy: holder.policy },
    keys: approversOf(walk.trust),
    tenantId: envelope.tenant_id,
    profile: profile as ExecProfile,
    now: Math.floor(timeOf(walk.intent)),
    skew: TOLERATED,
    replay: 'fresh',
  });
  return code === null ? null : { code, message: message ?? '' };
}

/** The envelope that the record names, where it is at hand. */
function envelopeOf(walk: Walk): Envelope | null {
  const holder = holderOf(walk, 'exec_hash', walk.evidence.envelope?.exec_hash);
  if (holder?.kind !== 'execution envelope' || holder.envelope instanceof BullaError) return null;
  return holder.envelope;
}
