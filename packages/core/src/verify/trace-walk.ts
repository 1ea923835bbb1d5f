import { canonicalize } from '../canon/index.ts';
import { type Code, isCode } from '../codes.ts';
import { attempt, BullaError } from '../error.ts';
import { type Evidence, isCommitment, readEvidence, readFailure } from '../evidence/index.ts';
import { JsonNumber, type JsonObject, memberAt, textAt } from '../json/index.ts';
import { createBindings } from '../manifest/index.ts';
import type { Artifact, Kind, Verdict } from './artifact.ts';
import { verifyRecord } from './check-capsules.ts';
import { type Digest, digestsOf } from './digests.ts';
import type { CallRecords, Held } from './trace-records.ts';
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
  readonly digest?: string | undefined;
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
  isGood(artifact: Artifact): boolean;
}

/** The text at a path of a record; empty where there is none. */
export function text(record: unknown, ...path: readonly string[]): string {
  return textAt(record, path) ?? '';
}

export function absent(step: TraceStep['step'], code: Code, says: string, digest?: string): TraceStep {
  return { step, basis: 'absent', code, says, digest };
}

/** A step that what is at hand contradicts. */
export function failed(step: TraceStep, why: string): TraceStep {
  return { ...step, basis: 'failed', code: 'TRACE_OTHER', says: `${step.says} But it ${why}.` };
}

/** Payloads are not in the record: whoever has them can show by the salt that these are the ones. */
export function commitment(
  step: 'arguments' | 'result',
  committed: Evidence['args'] | null,
  copy?: Evidence['args'],
): TraceStep | undefined {
  if (committed == null) return undefined;
  const what = step === 'arguments' ? 'The arguments' : 'The result';
  if (!isCommitment(committed))
    return {
      ...{ step, basis: 'absent', says: `${what} could not be committed to.` },
      ...(isCode(committed.uncommitted) && { code: committed.uncommitted }),
    };
  const says = `${what} ${step === 'arguments' ? 'are' : 'is'} committed to; the value and its salt open that.${copyText(copy)}`;
  return { step, basis: 'self-reported', says, digest: committed.commitment };
}

function copyText(copy: Evidence['args']): string {
  if (copy === undefined) return '';
  return isCommitment(copy)
    ? ' A redacted copy that was kept is committed to as well.'
    : ' None was kept, because it could not be searched for secrets.';
}

/** A record by its own seal; under a revoked key, by the chain that it stands in, which witnesses may have seen before. */
export function sealed(
  { trust, isGood }: Pick<Walk, 'trust' | 'isGood'>,
  step: 'record' | 'outcome' | 'question' | 'answer',
  { record, holder }: Held,
  says: string,
): TraceStep {
  const { ok, code, message } = verifyRecord(record, trust);
  const digest = text(record, 'hash');
  const isSeen = code === 'key_revoked' && holder.capsule === null && isGood(holder);
  if (ok || isSeen) return { step, basis: 'verified', says, digest };
  const basis = code === 'unknown_key' || trust.keys.length === 0 ? 'absent' : 'failed';
  return { step, basis, says: `${says} ${message}`, digest, code };
}

/** The records of an id. More than one contradict each other. */
export function heldBy({ near }: Walk, id: string | undefined): readonly Held[] {
  return near.filter(({ record }) => text(record, 'id') === id);
}

/** Whether one record was made after another: by their chain, and across chains by the times that they tell. */
export function isBehind(later: Held, earlier: Held): boolean {
  if (later.holder === earlier.holder && later.holder.capsule === null)
    return placeOf(later) > placeOf(earlier);
  return timeOf(later.record) >= timeOf(earlier.record) - TOLERATED;
}

/** How many seconds clocks may differ. */
export const TOLERATED = 300;

/** When a record says that it was triggered, in seconds since 1970. */
export function timeOf(record: JsonObject): number {
  return Date.parse(text(record, 'trigger', 'timestamp')) / 1000;
}

/** Whether the call was begun; else it was denied, and nothing that it names was used for it. */
export function isBegun({ intent }: Walk): boolean {
  return text(intent, 'outcome', 'status') !== 'blocked';
}

function placeOf({ record }: Held): number {
  const sequence = memberAt(record, ['sequence']);
  return sequence instanceof JsonNumber ? sequence.toNumber() : Number.NaN;
}

/** What contradicts that an outcome is the one of the intent; null where nothing does. */
export function unlikeIntent({ intent, holder, evidence }: Walk, outcome: Held): string | null {
  const { record } = outcome;
  if (text(record, 'context', 'agent_id') !== text(intent, 'context', 'agent_id'))
    return 'names another agent';
  const said = readEvidence(record) ?? {};
  for (const member of ['lock', 'tool', 'args', 'rest', 'manifest', 'consent', 'envelope', 'policy'] as const)
    if (said[member] !== undefined && !isSame(said[member], evidence[member]))
      return `names another ${member} than the intent`;
  return isBehind(outcome, { record: intent, holder }) ? null : 'stands before the intent';
}

export function isSame(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return a === b;
  return canonicalize(a, 'jcs') === canonicalize(b, 'jcs');
}

/** The evidence of a record; none where it cannot be read. */
export function evidenceIn(record: JsonObject): Evidence {
  const evidence = attempt(() => readEvidence(record));
  return evidence instanceof BullaError ? {} : (evidence ?? {});
}

/** Whether another call was begun on the same consent, envelope or authorization; each is for one. */
export function isUsedTwice(walk: Walk, nameIn: (record: JsonObject) => string | undefined): boolean {
  const own = nameIn(walk.intent);
  const id = text(walk.intent, 'id');
  if (own === undefined || !isBegun(walk)) return false;
  return walk.near.some(
    ({ record }) =>
      text(record, 'id') !== id &&
      text(record, 'type') !== 'auth' &&
      text(record, 'outcome', 'status') !== 'blocked' &&
      evidenceIn(record).intent !== id &&
      nameIn(record) === own &&
      !isPartOf(walk, record),
  );
}

/**
 * Whether a record is of another part of the same call: the server asked for input, which ended one part as partial, and
 * the call went on with the same arguments.
 */
function isPartOf(walk: Walk, record: JsonObject): boolean {
  const { args } = walk.evidence;
  const other = evidenceIn(record);
  if (args === undefined || !isCommitment(args) || other.args === undefined || !isCommitment(other.args))
    return false;
  const isPartial = (intent: string) =>
    walk.near.some(
      ({ record: near }) =>
        evidenceIn(near).intent === intent && text(near, 'outcome', 'status') === 'partial',
    );
  const begun = other.intent ?? text(record, 'id');
  return (
    other.args.commitment === args.commitment && (isPartial(begun) || isPartial(text(walk.intent, 'id')))
  );
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
  const holder = holderOf(walk, of, digest);
  if (holder === undefined) {
    if (!walk.artifacts.some(({ kind }) => kinds.includes(kind)))
      return absent(step, 'TRACE_NO_ARTIFACT', `${says}: not at hand.`, digest);
    const other = `${says}: what is at hand is another one.`;
    return { step, basis: 'failed', code: 'TRACE_OTHER', says: other, digest };
  }
  const artifact = holder.name;
  const { result, code, message } = verdictOf(walk, holder);
  // The verdict on an envelope is that on its authorization, which has a step of its own.
  if (holder.kind === 'execution envelope' || result === 'good' || result === 'undecided') {
    const found = `${says}: it is the one that the record names.`;
    return { step, basis: 'verified', says: found, digest, artifact };
  }
  return { step, basis: 'failed', code, says: `${says}: ${message}`, digest, artifact };
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
  if (holder === undefined) return absent(step, 'TRACE_NO_ARTIFACT', `${says}: not at hand.`, digest);
  const artifact = holder.name;
  if (has(holder, of, digest, tool))
    return { step, basis: 'verified', says: `${says}: exactly so.`, digest, artifact };
  const other = `${says}: it is another one there.`;
  return { step, basis: 'failed', code: 'TRACE_OTHER', says: other, digest, artifact };
}

function has(artifact: Artifact, of: Digest['of'], value: string | undefined, tool?: string): boolean {
  return digestsOf(artifact).some(
    (each) => each.of === of && each.value === value && (tool === undefined || each.tool === tool),
  );
}

/** The first artifact that has a digest. */
export function holderOf(
  { artifacts }: Walk,
  of: Digest['of'],
  value: string | undefined,
): Artifact | undefined {
  return value === undefined ? undefined : artifacts.find((artifact) => has(artifact, of, value));
}

export function verdictOf({ artifacts, verdicts }: Walk, artifact: Artifact): Verdict {
  return verdicts[artifacts.indexOf(artifact)]!;
}

/** Whether the bindings lead from the tool that was called to the declaration that the record names. */
export function isBound(walk: Walk): boolean {
  const { tool, manifest } = walk.evidence;
  const holder = holderOf(walk, 'bindings', manifest?.bindings);
  const declared = holderOf(walk, 'manifest', manifest?.hash);
  if (holder?.kind !== 'bindings' || holder.bindings instanceof BullaError) return false;
  const bound = [...holder.bindings.tools].find(
    ([, one]) => one.server === tool!.server && one.tool === tool!.name,
  );
  if (bound === undefined) return false;
  return declared === undefined || has(declared, 'declared tool', tool!.declared, bound[0]);
}

/** The digest of bindings that bind nothing. */
export const UNBOUND = createBindings([], []).digest;

/** The first step of this name in the authority of a record. */
function authorityStep(record: JsonObject, name: 'consent' | 'envelope'): unknown {
  const chain = memberAt(record, ['authority', 'chain']);
  return Array.isArray(chain) ? chain.find((step) => text(step, 'step') === name) : undefined;
}

export function consentText(record: JsonObject, key: string): string {
  return textAt(authorityStep(record, 'consent'), [key]) ?? 'unknown';
}

/** The digest of the authorization, which stands in the authority of the record. */
export function authorizationIn(record: JsonObject): string | undefined {
  return textAt(authorityStep(record, 'envelope'), ['authorization']) ?? undefined;
}

export function failureIn(record: JsonObject): string {
  const error = readFailure(text(record, 'outcome', 'error'));
  return error === null ? '' : ` (${error.stage}: ${error.code})`;
}
