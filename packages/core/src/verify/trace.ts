import { type Code, isCode } from '../codes.ts';
import { toolOf } from '../envelope/index.ts';
import { BullaError } from '../error.ts';
import { type Evidence, isCommitment, readEvidence, readFailure, resultOf } from '../evidence/index.ts';
import { JsonObject, type JsonValue } from '../json/index.ts';
import { createBindings } from '../manifest/index.ts';
import type { Artifact, Kind, Verdict } from './artifact.ts';
import type { SegmentRunner } from './chain.ts';
import { verifyRecord } from './check-capsules.ts';
import { type Digest, digestsOf } from './digests.ts';
import { type CallRecords, recordsOf } from './trace-records.ts';
import type { Trust } from './trust.ts';
import { verify } from './verify.ts';

/**
 * On what a step of a trace rests. `verified`: by a signature, or by a digest in a record whose signature verified.
 * `self-reported`: somebody says so of themselves. `inferred`: it follows from what is there, and nobody sealed it.
 * `absent`: what would show it is not at hand. `failed`: what is at hand contradicts it.
 */
export type Basis = 'verified' | 'self-reported' | 'inferred' | 'absent' | 'failed';

/** One step from a record to what it rests on. */
export interface TraceStep {
  readonly step:
    | 'record'
    | 'outcome'
    | 'chain'
    | 'host'
    | 'lock'
    | 'tool'
    | 'manifest'
    | 'declaration'
    | 'binding'
    | 'rules'
    | 'consent'
    | 'question'
    | 'answer'
    | 'envelope'
    | 'authorization'
    | 'policy'
    | 'capability'
    | 'records'
    | 'arguments'
    | 'result';
  readonly basis: Basis;
  /** In words, for people. What others wrote is quoted in it as it is. */
  readonly says: string;
  /** What the record names it by. */
  readonly digest?: string;
  /** The label of the artifact that has that digest. */
  readonly artifact?: string;
  /** Why it failed or is absent. */
  readonly code?: Code | 'ok';
}

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
    intent: textAt(intent, 'id'),
    outcome: outcome === null ? null : textAt(outcome, 'id'),
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

/** Everything that the steps look at. */
interface Walk extends CallRecords {
  readonly artifacts: readonly Artifact[];
  readonly verdicts: readonly Verdict[];
  readonly trust: Trust;
  readonly evidence: Evidence;
}

/** The steps in their order; each gives nothing where the record does not speak of it. */
const STEPS: readonly ((walk: Walk) => TraceStep | undefined)[] = [
  (walk) => {
    const { intent } = walk;
    const request = textAt(intent, 'trigger', 'request');
    const agent = textAt(intent, 'context', 'agent_id') || 'Somebody';
    const status = textAt(intent, 'outcome', 'status');
    const isCall = ['tool', 'agent'].includes(textAt(intent, 'type'));
    const says =
      status === 'blocked'
        ? `${agent} was denied: ${request}${failureIn(intent)}.`
        : isCall && status === 'pending'
          ? `${agent} was about to do: ${request}.`
          : `${textAt(intent, 'trigger', 'source') || agent} did: ${request}.`;
    return sealed(walk, 'record', intent, says);
  },
  (walk) => {
    const { intent, outcome } = walk;
    if (textAt(intent, 'outcome', 'status') !== 'pending' || textAt(intent, 'type') === 'auth')
      return undefined;
    if (outcome === null)
      return {
        step: 'outcome',
        basis: 'absent',
        code: 'TRACE_NO_RECORD',
        says: 'No outcome of it is among the files: it was left out, it still runs, or the process ended.',
      };
    const status = textAt(outcome, 'outcome', 'status');
    const step = sealed(walk, 'outcome', outcome, `It ended as ${status}${failureIn(outcome)}.`);
    return walk.outcomes > 1 ? failed(step, 'TRACE_OTHER', `has ${walk.outcomes} outcomes`) : step;
  },
  ({ artifacts, verdicts, holder }) => {
    if (holder.capsule !== null)
      return {
        step: 'chain',
        basis: 'absent',
        code: 'TRACE_NO_ARTIFACT',
        says: 'No chain that holds it is among the files, so that nothing shows what stands before and after it.',
      };
    const { result, message, code, lines = [] } = verdicts[artifacts.indexOf(holder)]!;
    const basis = result === 'good' ? 'verified' : result === 'bad' ? 'failed' : 'absent';
    const anchored = lines.filter((line) => line.startsWith('continues '));
    const told = [message, ...anchored.map((line) => `It ${line}.`)].join(' ');
    return {
      ...{ step: 'chain', basis, says: `The chain that holds it: ${told}`, artifact: holder.name },
      ...(basis !== 'verified' && { code }),
    };
  },
  ({ intent }) => {
    const source = textAt(intent, 'trigger', 'source');
    if (source === '' || textAt(intent, 'domain') !== 'gateway') return undefined;
    return { step: 'host', basis: 'self-reported', says: `The host calls itself ${source}.` };
  },
  (walk) =>
    named(walk, 'lock', 'lock', walk.evidence.lock, ['lockfile', 'bundle'], 'The lock that was in force'),
  (walk) => {
    const { tool } = walk.evidence;
    if (tool?.locked === undefined) return undefined;
    const says = `The tool ${tool.name} of ${tool.server ?? 'the server'}, as that lock pins it`;
    return part('tool', 'locked tool', tool.locked, tool.name, lockOf(walk), says);
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
    const declared = holders(walk, 'manifest', manifest?.hash)[0];
    const says = 'The declaration of the tool in that manifest';
    // A tool of a server has the name that its binding gives it.
    const name = tool.server === undefined ? tool.name : undefined;
    return part('declaration', 'declared tool', tool.declared, name, declared, says);
  },
  (walk) => {
    const { manifest, tool } = walk.evidence;
    if (manifest?.bindings === UNBOUND)
      return {
        step: 'binding',
        basis: 'verified',
        says: 'No declared tool is bound to a server.',
        digest: UNBOUND,
      };
    const says = 'Which declared tool is which tool of a server';
    const step = named(walk, 'binding', 'bindings', manifest?.bindings, ['bindings'], says);
    if (step?.basis !== 'verified' || tool?.declared === undefined || tool.server === undefined) return step;
    return isBound(walk)
      ? step
      : failed(step, 'TRACE_OTHER', 'binds no declared tool to the one that was called');
  },
  (walk) => named(walk, 'rules', 'rules', walk.evidence.policy?.hash, ['rules'], 'The rules that allowed it'),
  ({ evidence: { consent }, intent }) => {
    if (consent === undefined || consent.asked !== undefined) return undefined;
    const [step] = consentSteps(intent);
    const says = `Nobody was asked for this call: ${text(step, 'decision')}, by ${text(step, 'channel')}, under ${textAt(intent, 'authority', 'policy_reference') || 'no grant'}.`;
    return { step: 'consent', basis: 'self-reported', says };
  },
  (walk) => asked(walk, 'question', walk.evidence.consent?.asked),
  (walk) => asked(walk, 'answer', walk.evidence.consent?.answered),
  (walk) => {
    const { envelope, lock, tool, args } = walk.evidence;
    const says = 'The envelope that binds exactly this action';
    const step = named(walk, 'envelope', 'exec_hash', envelope?.exec_hash, ['execution envelope'], says);
    if (step?.basis !== 'verified') return step;
    const [holder] = holders(walk, 'exec_hash', envelope!.exec_hash, 'execution envelope');
    const read = (holder as Artifact<'execution envelope'>).envelope;
    const bound = read instanceof BullaError ? null : toolOf(read);
    // Any other action names its own parameters, which only who has them can compare.
    if (read instanceof BullaError || bound === null) return step;
    const isSame =
      bound.lock === lock &&
      bound.server === tool?.server &&
      bound.name === tool?.name &&
      bound.locked === tool?.locked &&
      isCommitment(args) &&
      read.target.to === `${args.of}:${args.commitment}`;
    return isSame ? step : failed(step, 'TRACE_OTHER', 'is of another call');
  },
  (walk) => {
    const digest = authorizationIn(walk.intent);
    const says = 'The authorization of that envelope';
    const step = named(walk, 'authorization', 'authorization', digest, ['authorization'], says);
    if (step?.basis !== 'verified') return step;
    const [held] = holders(walk, 'authorization', digest, 'authorization');
    const { claims } = held as Artifact<'authorization'>;
    if (claims instanceof BullaError || claims.exec_hash !== walk.evidence.envelope?.exec_hash)
      return failed(step, 'TRACE_OTHER', 'is of another envelope');
    const verdict = verdictOf(walk, step.artifact!, 'authorization');
    return verdict?.result === 'good' ? { ...step, says: `${step.says} ${verdict.message}` } : step;
  },
  (walk) => {
    const { policy } = walk.evidence.envelope ?? {};
    const says = `The policy ${policy?.id} that the envelope is bound to`;
    const step = named(walk, 'policy', 'execution policy', policy?.hash, ['execution policy'], says);
    const [held] = holders(walk, 'exec_hash', walk.evidence.envelope?.exec_hash, 'execution envelope');
    if (step?.basis !== 'verified' || held?.kind !== 'execution envelope') return step;
    const { envelope } = held;
    const isBound = !(envelope instanceof BullaError) && envelope.policy_binding.policy_hash === policy!.hash;
    return isBound ? step : failed(step, 'TRACE_OTHER', 'is not the one that the envelope is bound to');
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

/** Payloads are not in the record: whoever has them can show by the salt that these are the ones. */
function commitment(step: 'arguments' | 'result', committed: Evidence['args'] | null): TraceStep | undefined {
  if (committed == null) return undefined;
  const what = step === 'arguments' ? 'The arguments' : 'The result';
  if (!isCommitment(committed))
    return {
      ...{ step, basis: 'absent', says: `${what} could not be committed to.` },
      ...(isCode(committed.uncommitted) && { code: committed.uncommitted }),
    };
  return {
    step,
    basis: 'self-reported',
    says: `${what} ${step === 'arguments' ? 'are' : 'is'} committed to; the value and its salt open that.`,
    digest: committed.commitment,
  };
}

/** A record by its own seal; under a revoked key, by the chain, which witnesses may have seen before. */
function sealed(
  { artifacts, verdicts, holder, trust }: Walk,
  step: 'record' | 'outcome' | 'question' | 'answer',
  record: JsonObject,
  says: string,
): TraceStep {
  const { ok, code, message } = verifyRecord(record, trust);
  const digest = textAt(record, 'hash');
  const isSeen = code === 'key_revoked' && verdicts[artifacts.indexOf(holder)]?.result === 'good';
  if (ok || isSeen) return { step, basis: 'verified', says, digest };
  const basis = code === 'unknown_key' || trust.keys.length === 0 ? 'absent' : 'failed';
  return { step, basis, says: `${says} ${message}`, digest, code };
}

/** The capsule of a question or an answer, which must be of the same call. */
function asked(walk: Walk, step: 'question' | 'answer', id: string | undefined): TraceStep | undefined {
  if (id === undefined) return undefined;
  const record = walk.byId(id);
  if (record === undefined)
    return {
      step,
      basis: 'absent',
      code: 'TRACE_NO_RECORD',
      says: `The capsule of the ${step} is not at hand.`,
      digest: id,
    };
  const { facts, consent, args } = readEvidence(record) ?? {};
  const answer = (facts?.answer ?? null) as { readonly who?: unknown; readonly choice?: unknown } | null;
  const says =
    step === 'question'
      ? `${facts?.asked ?? facts?.user ?? 'Somebody'} was asked.`
      : answer === null
        ? 'Nobody answered; the question ended.'
        : `${answer.who} answered: ${answer.choice}, over ${text(consentSteps(record)[0], 'channel')}.`;
  const sealedStep = sealed(walk, step, record, says);
  if (sealedStep.basis !== 'verified') return sealedStep;
  // Only an authenticated channel shows that it was this person.
  const isProven = textAt(record, 'authority', 'type') !== 'policy';
  const found: TraceStep =
    step === 'answer' && !isProven ? { ...sealedStep, basis: 'self-reported' } : sealedStep;
  const own = walk.evidence;
  if (consent?.id !== own.consent?.id) return failed(found, 'TRACE_OTHER', 'is of another call');
  if (
    step === 'question' &&
    isCommitment(own.args) &&
    (!isCommitment(args) || args.commitment !== own.args.commitment)
  )
    return failed(found, 'TRACE_OTHER', 'was about other arguments');
  if (
    step === 'answer' &&
    own.consent?.asked !== undefined &&
    textAt(record, 'parent_id') !== own.consent.asked
  )
    return failed(found, 'TRACE_OTHER', 'answers another question');
  return found;
}

/** The artifact that has the digest which the record names. */
function named(
  walk: Walk,
  step: TraceStep['step'],
  of: Digest['of'],
  digest: string | undefined,
  kinds: readonly Kind[],
  says: string,
): TraceStep | undefined {
  if (digest === undefined) return undefined;
  const given = walk.artifacts.filter(({ kind }) => kinds.includes(kind));
  const holder = given.find((artifact) => has(artifact, of, digest));
  if (holder !== undefined) {
    const verdict = walk.verdicts[walk.artifacts.indexOf(holder)]!;
    const found: TraceStep = {
      ...{ step, basis: 'verified', says: `${says}: it is the one that the record names.`, digest },
      artifact: holder.name,
    };
    // The verdict on an envelope is that on its authorization, which has a step of its own.
    const isHeld = holder.kind === 'execution envelope' || ['good', 'undecided'].includes(verdict.result);
    if (isHeld) return found;
    return { ...found, basis: 'failed', code: verdict.code, says: `${says}: ${verdict.message}` };
  }
  if (given.length === 0)
    return { step, basis: 'absent', code: 'TRACE_NO_ARTIFACT', says: `${says}: not at hand.`, digest };
  return {
    step,
    basis: 'failed',
    code: 'TRACE_OTHER',
    says: `${says}: what is at hand is another one.`,
    digest,
  };
}

/** A part of an artifact, by the digest which the record names. */
function part(
  step: TraceStep['step'],
  of: Digest['of'],
  digest: string,
  tool: string | undefined,
  holder: Artifact | undefined,
  says: string,
): TraceStep {
  if (holder === undefined)
    return { step, basis: 'absent', code: 'TRACE_NO_ARTIFACT', says: `${says}: not at hand.`, digest };
  const found = digestsOf(holder).some(
    (each) => each.of === of && each.value === digest && (tool === undefined || each.tool === tool),
  );
  const artifact = holder.name;
  if (found) return { step, basis: 'verified', says: `${says}: exactly so.`, digest, artifact };
  return {
    step,
    basis: 'failed',
    code: 'TRACE_OTHER',
    says: `${says}: it is another one there.`,
    digest,
    artifact,
  };
}

function has(artifact: Artifact, of: Digest['of'], value: string): boolean {
  return digestsOf(artifact).some((each) => each.of === of && each.value === value);
}

function holders({ artifacts }: Walk, of: Digest['of'], value: string | undefined, kind?: Kind): Artifact[] {
  if (value === undefined) return [];
  return artifacts.filter(
    (artifact) => (kind ?? artifact.kind) === artifact.kind && has(artifact, of, value),
  );
}

const lockOf = (walk: Walk) => holders(walk, 'lock', walk.evidence.lock)[0];

function verdictOf({ artifacts, verdicts }: Walk, name: string, kind: Kind): Verdict | undefined {
  return verdicts[artifacts.findIndex((artifact) => artifact.name === name && artifact.kind === kind)];
}

function failed(step: TraceStep, code: Code, why: string): TraceStep {
  return { ...step, basis: 'failed', code, says: `${step.says} But it ${why}.` };
}

/** Whether the bindings lead from the tool that was called to the declaration that the record names. */
function isBound(walk: Walk): boolean {
  const { tool, manifest } = walk.evidence;
  const [holder] = holders(walk, 'bindings', manifest?.bindings, 'bindings');
  const [declared] = holders(walk, 'manifest', manifest?.hash, 'manifest');
  if (holder?.kind !== 'bindings' || holder.bindings instanceof BullaError) return false;
  const bound = [...holder.bindings.tools].find(
    ([, one]) => one.server === tool!.server && one.tool === tool!.name,
  );
  if (bound === undefined) return false;
  if (declared === undefined) return true;
  return digestsOf(declared).some(
    (each) => each.of === 'declared tool' && each.value === tool!.declared && each.tool === bound[0],
  );
}

/** The digest of bindings that bind nothing. */
const UNBOUND = createBindings([], []).digest;

/** The steps of consent in the authority of a record. */
function consentSteps(record: JsonObject): JsonValue[] {
  const chain = at(record, 'authority', 'chain');
  return (Array.isArray(chain) ? chain : []).filter((step) => at(step, 'step') === 'consent');
}

function text(value: JsonValue | undefined, key: string): string {
  const found = at(value, key);
  return typeof found === 'string' ? found : 'unknown';
}

function failureIn(record: JsonObject): string {
  const error = readFailure(textAt(record, 'outcome', 'error'));
  return error === null ? '' : ` (${error.stage}: ${error.code})`;
}

/** The digest of the authorization, which stands in the authority of the record. */
function authorizationIn(record: JsonObject): string | undefined {
  const chain = at(record, 'authority', 'chain');
  const steps = (Array.isArray(chain) ? chain : []).filter((step) => at(step, 'step') === 'envelope');
  const digest = at(steps[0], 'authorization');
  return typeof digest === 'string' ? digest : undefined;
}

function at(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  let found = value;
  for (const key of path) found = found instanceof JsonObject ? found.get(key) : undefined;
  return found;
}

function textAt(record: JsonObject, ...path: readonly string[]): string {
  const found = at(record, ...path);
  return typeof found === 'string' ? found : '';
}
