import type { Code } from '../codes.ts';
import { BullaError } from '../error.ts';
import { isInteger, JsonObject, pointer, toNumber } from '../json/index.ts';
import { type ChainNotice, createNotices } from './notices.ts';
import {
  type CanonicalRecord,
  readObject,
  type Verdict,
  type VerifyOptions,
  verifyCanonical,
  verifyCapsule,
} from './verify.ts';

/** What chaining looks at in one record. */
export interface ChainLink {
  readonly id: string | null;
  /** Null when the record has none that is a plain integer. */
  readonly sequence: number | null;
  readonly previous_hash: string | null;
  readonly hash: string;
}

export interface ChainFailure {
  /** The place of the record in the order in which the records came, from 0; null for the chain as a whole. */
  readonly index: number | null;
  readonly sequence: number | null;
  readonly id: string | null;
  /**
   * `missing_hash`, `sequence_gap`, `out_of_order`, `duplicate_record`, `genesis_previous_hash`, `broken_link`; in
   * cryptographic mode every code of `Verdict`; at the end `length_mismatch`, `head_mismatch`.
   */
  readonly code: Code;
  /** The sentence of the reference where it has one. */
  readonly error: string;
}

interface LinkEnd {
  readonly sequence: number;
  readonly hash: string;
}

/** Everything that a chain check remembers, as plain data: save it, and go on later from there. */
export interface ChainState {
  readonly v: 2;
  readonly mode: 'structural' | 'hashes' | 'cryptographic';
  /** How many records came. */
  readonly count: number;
  /** Records with no failure of their own. */
  readonly verified: number;
  /** The last record that continues the chain. */
  readonly head: LinkEnd | null;
  /** A record after `head` that does not continue it; if the next one continues this one, it is the head. */
  readonly stray: LinkEnd | null;
  readonly failureCount: number;
  readonly failures: readonly ChainFailure[];
  readonly profiles: Readonly<Record<string, number>>;
  /** How many records each key signed, by its full id. */
  readonly keys: Readonly<Record<string, number>>;
  readonly warnings: Readonly<Record<string, number>>;
  /** What good records hold that the seal does not cover or that was noticed, by code and path. */
  readonly notices: readonly ChainNotice[];
  /** How many things were noticed beyond those that `notices` lists. */
  readonly moreNotices: number;
  /** How many records name a signer that none of the given keys is, by that name. */
  readonly missingKeys: Readonly<Record<string, number>>;
}

export interface ChainReport extends Omit<ChainState, 'v' | 'stray'> {
  readonly ok: boolean;
  /**
   * `empty` when no record came: nothing was checked, so nothing is good. `undecided` when nothing is wrong but that
   * keys are missing: `missingKeys` names them.
   */
  readonly outcome: 'ok' | 'failed' | 'empty' | 'undecided';
}

export interface ChainOptions {
  readonly mode: ChainState['mode'];
  /** How many records there must be. */
  readonly expectLength?: number | undefined;
  /** The hash that the last record must have. */
  readonly expectHead?: string | undefined;
  /** Go on from here. */
  readonly from?: ChainState | undefined;
}

interface ChainVerifier {
  /**
   * Checks the next record, in the order of the chain, as `checkRecord` gives it. Throws `CAPSULE_CHAIN_STATE` when the
   * mode is not structural and there is no verdict.
   */
  push(link: ChainLink, verdict: Verdict | undefined): void;
  /** What is known so far; the check can go on. */
  state(): ChainState;
  /** The result so far; length and head are compared here. */
  finish(): ChainReport;
}

/**
 * Checks a chain record by record in constant memory: it remembers two records' places and running counts. All
 * failures are told, not only the first: after a gap, a foreign record or a repetition it finds the chain again
 * where a later record continues it. An id that returns far from its first place is told only by its sequence.
 * Without `expectLength` or `expectHead` a chain that was cut off at its end passes: nothing in it can tell.
 * Throws `CAPSULE_CHAIN_STATE` for a `from` of another mode or version.
 */
export function createChainVerifier(options: ChainOptions): ChainVerifier {
  const { mode, from, expectLength, expectHead } = options;
  if (from !== undefined && (from.v !== 2 || from.mode !== mode || !isWhole(from))) {
    throw new BullaError('CAPSULE_CHAIN_STATE', `The saved state is not one of a ${mode} check, version 2.`);
  }
  let { count, verified, head, stray, failureCount } = from ?? START;
  const failures = [...(from?.failures ?? [])];
  const profiles = { ...from?.profiles };
  const keys = { ...from?.keys };
  const warnings = { ...from?.warnings };
  // Who writes the records chooses these names: `__proto__` is one like any other, and there may be any number.
  const missingKeys: Record<string, number> = Object.assign(Object.create(null), from?.missingKeys);
  const nameMissing = (name: string) =>
    tally(missingKeys, name in missingKeys || Object.keys(missingKeys).length < MAX_NAMES ? name : OTHERS);
  const notices = createNotices(from);

  const fail = (failure: ChainFailure) => {
    failureCount++;
    if (failures.length < MAX_FAILURES) failures.push(failure);
  };

  const push = (link: ChainLink, verdict: Verdict | undefined) => {
    if (mode !== 'structural' && verdict === undefined) {
      throw new BullaError('CAPSULE_CHAIN_STATE', 'A check of hashes needs the verdict on every record.');
    }
    const index = count++;
    const before = failureCount;
    const { id, sequence } = link;
    const problem = linkProblem(link, head, stray);
    // Of a record that has no hash the verdict says all there is to say.
    if (problem !== undefined && !(link.hash === '' && verdict?.ok === false))
      fail({ index, sequence, id, ...problem });
    // Nothing is known to be wrong with what an unknown key signed.
    const isUndecided = verdict?.code === 'unknown_key';
    if (isUndecided) nameMissing(verdict.signedBy ?? '');
    else if (verdict !== undefined && verdict.code !== 'ok')
      fail({ index, sequence, id, code: verdict.code, error: sentence(verdict, sequence) });
    if (link.hash !== '' && sequence !== null) {
      if (problem === undefined) [head, stray] = [{ sequence, hash: link.hash }, null];
      else if (problem.code !== 'duplicate_record') stray = { sequence, hash: link.hash };
    }
    if (failureCount === before && !isUndecided) verified++;
    if (verdict?.ok) {
      tally(profiles, `${verdict.profile}/${verdict.form}`);
      if (verdict.key !== null) tally(keys, verdict.key);
      for (const { code, path } of verdict.warnings) {
        tally(warnings, code);
        if (code !== 'unauthenticated_field') notices.add(code, path, index);
      }
      for (const field of verdict.unauthenticated)
        notices.add('unauthenticated_field', pointer([field]), index);
    }
  };

  const state = (): ChainState => ({
    ...{ v: 2, mode, count, verified, head, stray, failureCount, failures: [...failures] },
    ...{ profiles: { ...profiles }, keys: { ...keys }, warnings: { ...warnings } },
    ...{ ...notices.list(), missingKeys: { ...missingKeys } },
  });

  return {
    push,
    state,
    finish() {
      const whole = { index: null, sequence: null, id: null };
      const last = (stray ?? head)?.hash;
      const end: ChainFailure[] = [];
      if (expectLength !== undefined && count !== expectLength) {
        const error = `Length mismatch: expected ${expectLength} records, got ${count}`;
        end.push({ ...whole, code: 'length_mismatch', error });
      }
      if (expectHead !== undefined && last !== expectHead) {
        const error = `Head mismatch: expected ${expectHead}, got ${last ?? 'none'}`;
        end.push({ ...whole, code: 'head_mismatch', error });
      }
      const { v: _, stray: __, ...known } = state();
      const total = failureCount + end.length;
      const isMissing = Object.keys(missingKeys).length > 0;
      const outcome = count === 0 ? 'empty' : total > 0 ? 'failed' : isMissing ? 'undecided' : 'ok';
      const all = [...known.failures, ...end];
      return { ok: outcome === 'ok', outcome, ...known, failureCount: total, failures: all };
    },
  };
}

/** Whether a state that somebody saved has all its parts; what they say is trusted. */
function isWhole(state: ChainState): boolean {
  const isLinkEnd = (end: unknown) =>
    end === null || (isRecord(end) && Number.isSafeInteger(end.sequence) && typeof end.hash === 'string');
  return (
    [state.count, state.verified, state.failureCount, state.moreNotices].every(
      (n) => Number.isSafeInteger(n) && n >= 0,
    ) &&
    [state.head, state.stray].every(isLinkEnd) &&
    [state.failures, state.notices].every((list) => Array.isArray(list) && list.every(isRecord)) &&
    [state.profiles, state.keys, state.warnings, state.missingKeys].every(
      (counts) => isRecord(counts) && Object.values(counts).every((n) => Number.isSafeInteger(n)),
    )
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Limit on the failures that are listed; all are counted. */
const MAX_FAILURES = 1000;
const MAX_NAMES = 100;
/** Stands for the names beyond those that are kept. */
const OTHERS = '…';

const START = {
  count: 0,
  verified: 0,
  head: null,
  stray: null,
  failureCount: 0,
} satisfies Partial<ChainState>;

/** What is wrong with the place of a record, by the order of the reference's checks: sequence, then linkage. */
function linkProblem(
  { sequence, previous_hash, hash }: ChainLink,
  head: LinkEnd | null,
  stray: LinkEnd | null,
): { code: Code; error: string } | undefined {
  if (hash === '') return { code: 'missing_hash', error: 'The record has no hash.' };
  const last = stray ?? head;
  if (last === null && sequence === 0) {
    if (previous_hash === null) return undefined;
    return { code: 'genesis_previous_hash', error: 'Genesis Capsule has previous_hash (should be null)' };
  }
  const follows = (end: LinkEnd | null) => end !== null && sequence === end.sequence + 1;
  for (const end of [head, stray]) if (follows(end) && previous_hash === end!.hash) return undefined;
  if (follows(head) || follows(stray)) {
    return { code: 'broken_link', error: `Chain broken: previous_hash mismatch at sequence ${sequence}` };
  }
  const expected = last === null ? 0 : last.sequence + 1;
  const error = `Sequence gap: expected ${expected}, got ${sequence ?? 'none'}`;
  if (sequence === null || sequence > expected) return { code: 'sequence_gap', error };
  return { code: hash === head?.hash || hash === stray?.hash ? 'duplicate_record' : 'out_of_order', error };
}

const NOWHERE: ChainLink = { id: null, sequence: null, previous_hash: null, hash: '' };

const CONTENT_CODES = new Set<Verdict['code']>([
  'hash_mismatch',
  'missing_hash',
  'malformed_hex',
  'not_an_object',
  'case_twin',
  'content_mismatch',
]);

function sentence({ code, message }: Verdict, sequence: number | null): string {
  const at = `at sequence ${sequence ?? 'none'}`;
  // What else is wrong with a signature than that it does not verify is said.
  if (/^(?:pq|key)_/.test(code)) return `${message.slice(0, -1)}, ${at}`;
  if (code === 'hash_mismatch') return `Content hash mismatch ${at}`;
  return CONTENT_CODES.has(code) || code.startsWith('JSON_')
    ? message
    : `Signature verification failed ${at}`;
}

function tally(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** The place of a sealed record in its chain; a missing `previous_hash` counts as null. */
export function chainLink(record: JsonObject): ChainLink {
  const [id, hash, previous] = [record.get('id'), record.get('hash'), record.get('previous_hash')];
  const sequence = record.get('sequence');
  const number = isInteger(sequence) ? toNumber(sequence)! : Number.NaN;
  return {
    id: typeof id === 'string' ? id : null,
    sequence: Number.isSafeInteger(number) ? number : null,
    // What is neither null nor a string links to nothing.
    previous_hash: previous === undefined || previous === null ? null : String(previous),
    hash: typeof hash === 'string' ? hash : '',
  };
}

/** A record as it is stored: the bytes or text of a sealed capsule, or a canonical text with its seal. */
export type StoredRecord = string | Uint8Array | CanonicalRecord;

export function isCanonicalRecord(record: StoredRecord): record is CanonicalRecord {
  return typeof record === 'object' && 'canonical' in record;
}

/** A stored record as it was read, with its place in the chain. */
interface CheckedRecord {
  readonly link: ChainLink;
  /** Undefined where the mode is structural and the record can be read. */
  readonly verdict: Verdict | undefined;
  /** The object that was parsed; null for what is none. */
  readonly content: JsonObject | null;
}

/**
 * Reads a stored record and verifies it by itself, as the mode says. Where the canonical text is stored, only what
 * that text says counts for its place, never a column beside it. Never throws for a bad record.
 */
export function checkRecord(
  record: StoredRecord,
  mode: ChainState['mode'],
  options: VerifyOptions,
): CheckedRecord {
  const isCanonical = isCanonicalRecord(record);
  const content = readObject(isCanonical ? record.canonical : record, options);
  const isRead = content instanceof JsonObject;
  const link = isRead ? chainLink(content) : NOWHERE;
  const isTrusted = mode === 'structural';
  const how = mode === 'hashes' ? { ...options, signatures: 'unchecked' as const } : options;
  if (isCanonical)
    return {
      link: { ...link, hash: record.hash },
      verdict: isTrusted ? undefined : verifyCanonical(record, how),
      content: isRead ? content : null,
    };
  if (!isRead) return { link, verdict: content, content: null };
  return { link, verdict: isTrusted ? undefined : verifyCapsule(content, how), content };
}
