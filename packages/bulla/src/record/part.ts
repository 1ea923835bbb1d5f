import { isDeepStrictEqual } from 'node:util';
import { BullaError } from '@bulla/core/error';
import type { AuthorityStep, Evidence, Failure } from '@bulla/core/evidence';
import { isPlain, memberAt, type Path, pointer } from '@bulla/core/json';
import type { Effect } from '../store/index.ts';
import type { Call } from './recorder.ts';

/**
 * What one decision adds to the record of a call: what it rests on, whose authority that is, and what becomes true
 * together with the intent and with the outcome. Gates and domain modules give parts; the recorder joins them.
 */
export interface Part {
  readonly evidence?: Evidence | undefined;
  readonly authority?: readonly AuthorityStep[] | undefined;
  /**
   * Runs in the transaction of the intent. It is given what the intent seals: whoever allowed one call refuses another.
   * What it throws keeps the call from being made.
   */
  onIntent?(intentId: string, sealing: Sealing): Effect;
  /** Runs in the transaction of the outcome. What it throws is reported, and the outcome is recorded all the same. */
  onOutcome?(outcome: Ended, outcomeId: string): Effect | null;
  /** Runs in the transaction of the record of a denial. */
  onDenied?(capsuleId: string, failure: Failure): Effect | null;
}

/** How a call ended. */
export interface Ended {
  readonly status: 'success' | 'failure' | 'partial' | 'blocked';
  readonly failure?: Failure | null;
  readonly durationMs: number;
}

/** What an intent seals: the call, the evidence of all parts and of the call, and the authority of all parts. */
export interface Sealing {
  readonly call: Call;
  readonly evidence: Evidence;
  readonly authority: readonly AuthorityStep[];
}

/** What a ruling says of its call. */
export type Statement = Omit<Sealing, 'call'>;

/**
 * Whether an intent is of the call that was ruled on, and says what the ruling said, and no more of it. Only of the tool
 * may more digests be known by now. Compare with what the ruling keeps to itself: a caller may have built the part anew.
 */
export function isOf({ call, evidence, authority }: Sealing, ruled: Call, own: Statement): boolean {
  const { tool, args, rest } = evidence;
  const { tool: _, ...exact } = own.evidence;
  return (
    isDeepStrictEqual(callerOf(call), callerOf(ruled)) &&
    tool?.server === ruled.tool?.server &&
    isDeepStrictEqual({ ...tool }, { ...tool, ...ruled.tool }) &&
    isDeepStrictEqual([args, rest], [ruled.args?.committed, ruled.rest?.committed]) &&
    isDeepStrictEqual({ ...evidence }, { ...evidence, ...exact }) &&
    own.authority.every((step) => authority.some((sealed) => isDeepStrictEqual(sealed, step)))
  );
}

/** The part of a denial. An intent that has it is refused with `CONSENT_DENIED`: nothing is begun on a denial. */
export function denialPart(part: Part): Part {
  return {
    ...part,
    onIntent() {
      throw new BullaError(
        'CONSENT_DENIED',
        'The call was denied, so that no intent can rest on the ruling.',
      );
    },
  };
}

function callerOf({ type = 'tool', agentId, sessionId = null, userId = null, request }: Call) {
  return { type, agentId, sessionId, userId, request };
}

/** What all parts say together. Throws `EVIDENCE_CONFLICT` with the path where two of them differ. */
export function evidenceOf(parts: readonly Part[]): Evidence {
  return parts.reduce<Evidence>((all, { evidence }) => merged(all, evidence, []) as Evidence, {});
}

function merged(before: unknown, value: unknown, at: Path): unknown {
  if (value === undefined) return before;
  if (before === undefined || isDeepStrictEqual(before, value)) return value;
  if (!isRecord(before) || !isRecord(value))
    throw new BullaError('EVIDENCE_CONFLICT', `Two decisions about the call differ in ${at.join('/')}.`, {
      path: pointer(at),
    });
  const names = new Set([...Object.keys(before), ...Object.keys(value)]);
  const both = [...names].map((name) => [
    name,
    merged(memberAt(before, [name]), memberAt(value, [name]), [...at, name]),
  ]);
  return Object.fromEntries(both);
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && isPlain(value);
}

/** One effect after the other; null where there is none. */
export function inOrder(effects: readonly (Effect | null | undefined)[]): Effect | null {
  const all = effects.filter((effect) => effect != null);
  if (all.length === 0) return null;
  return async (transaction) => {
    for (const effect of all) await effect(transaction);
  };
}
