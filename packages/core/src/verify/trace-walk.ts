import { type Code, isCode } from '../codes.ts';
import { BullaError } from '../error.ts';
import { type Evidence, isCommitment, readEvidence, readFailure } from '../evidence/index.ts';
import { JsonObject, type JsonValue } from '../json/index.ts';
import { createBindings } from '../manifest/index.ts';
import type { Artifact, Kind, Verdict } from './artifact.ts';
import { verifyRecord } from './check-capsules.ts';
import { type Digest, digestsOf } from './digests.ts';
import type { CallRecords } from './trace-records.ts';
import type { Trust } from './trust.ts';

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

/** Everything that the steps look at. */
export interface Walk extends CallRecords {
  readonly artifacts: readonly Artifact[];
  readonly verdicts: readonly Verdict[];
  readonly trust: Trust;
  readonly evidence: Evidence;
}

/** Payloads are not in the record: whoever has them can show by the salt that these are the ones. */
export function commitment(
  step: 'arguments' | 'result',
  committed: Evidence['args'] | null,
): TraceStep | undefined {
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
export function sealed(
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
export function asked(
  walk: Walk,
  step: 'question' | 'answer',
  id: string | undefined,
): TraceStep | undefined {
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
export function named(
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
export function part(
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

export function holders(
  { artifacts }: Walk,
  of: Digest['of'],
  value: string | undefined,
  kind?: Kind,
): Artifact[] {
  if (value === undefined) return [];
  return artifacts.filter(
    (artifact) => (kind ?? artifact.kind) === artifact.kind && has(artifact, of, value),
  );
}

export const lockOf = (walk: Walk) => holders(walk, 'lock', walk.evidence.lock)[0];

export function verdictOf({ artifacts, verdicts }: Walk, name: string, kind: Kind): Verdict | undefined {
  return verdicts[artifacts.findIndex((artifact) => artifact.name === name && artifact.kind === kind)];
}

export function failed(step: TraceStep, code: Code, why: string): TraceStep {
  return { ...step, basis: 'failed', code, says: `${step.says} But it ${why}.` };
}

/** Whether the bindings lead from the tool that was called to the declaration that the record names. */
export function isBound(walk: Walk): boolean {
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
export const UNBOUND = createBindings([], []).digest;

/** The steps of consent in the authority of a record. */
export function consentSteps(record: JsonObject): JsonValue[] {
  const chain = at(record, 'authority', 'chain');
  return (Array.isArray(chain) ? chain : []).filter((step) => at(step, 'step') === 'consent');
}

export function text(value: JsonValue | undefined, key: string): string {
  const found = at(value, key);
  return typeof found === 'string' ? found : 'unknown';
}

export function failureIn(record: JsonObject): string {
  const error = readFailure(textAt(record, 'outcome', 'error'));
  return error === null ? '' : ` (${error.stage}: ${error.code})`;
}

/** The digest of the authorization, which stands in the authority of the record. */
export function authorizationIn(record: JsonObject): string | undefined {
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

export function textAt(record: JsonObject, ...path: readonly string[]): string {
  const found = at(record, ...path);
  return typeof found === 'string' ? found : '';
}
