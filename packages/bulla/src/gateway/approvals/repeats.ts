import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalize, opens } from '@bulla/core/canon';
import { sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { execHash, parseEnvelope } from '@bulla/core/envelope';
import { attempt } from '@bulla/core/error';
import { type Evidence, isCommitment } from '@bulla/core/evidence';
import { JsonObject, stringify } from '@bulla/core/json';
import { type ErrorFrame, parseFrame, type ResultFrame } from '../../mcp/index.ts';
import type { Call, Part } from '../../record/index.ts';
import {
  type ApprovedCall,
  type ApprovedState,
  beginApproved,
  endApproved,
  findApproved,
  lostApproved,
  moveApproved,
  type Store,
} from '../../store/index.ts';
import { Denial } from '../denial.ts';
import type { Gate, GatedCall, Reply, Ruling } from '../gates/gate.ts';
import { type Edit, locate, replace, setMembers, splice } from '../wire/splice.ts';
import { unusable } from './state.ts';

/** A call under an approval that is being made, whose answer is kept. */
export interface Kept {
  readonly part: Part;
  /** The message that the host is to get; set before the outcome is recorded. */
  answer: Uint8Array | null;
  /** Whether the host left before it had the answer. */
  readonly isLeft: boolean;
  left(): void;
  /** The answer was written, and the host was there or not. */
  written(isGone: boolean): void;
}

export interface RepeatOptions {
  readonly store: Pick<Store, 'reading' | 'time' | 'transaction'>;
  /** The person for whom the agent acts; null where nobody is known. */
  readonly user: string | null;
  /** The name of this process in its records. */
  readonly holder: string;
  /** How long answers are kept. Default one hour. */
  readonly keepMs?: number | undefined;
  /** Writes one line for the operator. */
  log(line: string): void;
}

const KEEP_MS = 3_600_000;
/** How often a call that runs elsewhere is looked for. */
const POLL_MS = 100;
const REPEATS = 'bulla/repeats';

/**
 * A call that was made under an approval and comes again, because its answer did not arrive or with the same approval, is
 * not made twice: it gets the sealed outcome. Every other call is a new one.
 */
export function repeatGate({ store, user, holder, keepMs = KEEP_MS, log }: RepeatOptions): Gate {
  const callerOf = ({ agentId, tool }: Call, { lock }: Evidence): string =>
    sha256Hex(
      canonicalize(
        [user, agentId, tool?.server ?? null, tool?.name ?? null, tool?.locked ?? null, lock ?? null],
        'jcs',
      ),
    );
  const move = (approval: string, from: readonly ApprovedState[], to: ApprovedState): Promise<boolean> =>
    store.transaction((transaction) => moveApproved(transaction, approval, from, to));
  /** What cannot be written now is found by whoever looks after this process has ended. */
  const moving = (approval: string, from: readonly ApprovedState[], to: ApprovedState): void =>
    void move(approval, from, to).catch(() => log(`it is not noted that an answer is ${to}`));

  const isSame = ({ args, salt, caller }: ApprovedCall, { subject, call, evidence }: GatedCall): boolean =>
    caller === callerOf(call, evidence) && opens(args, 'args', subject.args, salt);

  /** The call whose answer is to be given again, which nobody else gives now; null for a new call. */
  const found = async (gated: GatedCall): Promise<ApprovedCall | null> => {
    const now = await store.time();
    const named = gated.recalled?.approval;
    if (named !== undefined) {
      const before = await findApproved(store.reading, named, now);
      if (before === null)
        throw unusable('It was used before, or its question is over. Call again without it.');
      if (!isSame(before, gated)) throw otherCall();
      return before;
    }
    const { presented } = gated;
    if (presented !== null) {
      const hash = attempt(() => execHash(parseEnvelope(presented.envelope)));
      const before = typeof hash === 'string' ? await findApproved(store.reading, hash, now) : null;
      // Whoever verifies the envelope says what is wrong with it, and with another call under it.
      return before !== null && isSame(before, gated) ? before : null;
    }
    for (const lost of await lostApproved(store.reading, callerOf(gated.call, gated.evidence), now))
      if (isSame(lost, gated) && (await move(lost.approval, ['lost', 'open'], 'repeating'))) return lost;
    return null;
  };

  const reply = ({ approval, outcome, answer }: ApprovedCall): Ruling => ({
    reply: {
      bytes: (id) => repeated(answer!, id, outcome!),
      written: (isGone) => moving(approval, ['lost', 'repeating'], isGone ? 'lost' : 'delivered'),
      repeats: outcome!,
    } satisfies Reply,
  });

  /** Waits for the outcome of a call that its host left. */
  const awaited = async (before: ApprovedCall, signal: AbortSignal): Promise<Ruling> => {
    const { approval } = before;
    for (let call: ApprovedCall | null = before; ; ) {
      if (call === null) return { deny: unknownOutcome(before) };
      // Nobody will know, and nobody may take it for a new call.
      if (call.outcome === null && !call.isLiving) {
        moving(approval, ['repeating'], 'lost');
        return { deny: unknownOutcome(call) };
      }
      if (call.outcome !== null) return call.answer === null ? { deny: unknownOutcome(call) } : reply(call);
      if (signal.aborted) {
        moving(approval, ['repeating'], 'lost');
        return { deny: unknownOutcome(call) };
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => {});
      call = await findApproved(store.reading, approval, await store.time());
    }
  };

  return {
    name: 'repeat',
    needsRecord: true,
    async committed({ approval, continues }, args) {
      if (approval === undefined || continues === undefined) return null;
      const before = await findApproved(store.reading, approval, await store.time());
      if (before === null || !opens(before.args, 'args', args, before.salt)) throw otherCall();
      return {
        kind: 'args',
        committed: before.args,
        opening: { kind: 'args', salt: before.salt, payload: null },
      };
    },
    async rule(gated) {
      if (gated.frame.method !== 'tools/call') return { pass: {} };
      const before = await found(gated);
      // A part that went on already is a repetition of the part after it.
      if (before === null || before.intent === gated.recalled?.continues) return { pass: {} };
      if (before.outcome !== null && before.answer !== null) return reply(before);
      return { ask: awaited(before, gated.signal) };
    },
    keep({ call, evidence, recalled }): Kept | null {
      const { consent, envelope } = evidence;
      const approval = consent?.answered === undefined ? envelope?.exec_hash : consent.id;
      const { committed, opening } = call.args ?? {};
      if (approval === undefined || !committed || !isCommitment(committed) || !opening) return null;
      const row = { approval, caller: callerOf(call, evidence), args: committed, salt: opening.salt, holder };
      let isLeft = false;
      const kept: Kept = {
        answer: null,
        part: {
          onIntent: beginApproved(row, keepMs, recalled?.continues),
          onOutcome: (_: unknown, outcome: string) =>
            endApproved(approval, outcome, kept.answer && Buffer.from(kept.answer).toString('utf8')),
        },
        get isLeft() {
          return isLeft;
        },
        left() {
          if (isLeft) return;
          isLeft = true;
          moving(approval, ['open'], 'lost');
        },
        written: (isGone: boolean) => moving(approval, ['open'], isGone ? 'lost' : 'delivered'),
      };
      return kept;
    },
  };
}

function otherCall(): Denial {
  return new Denial('consent', 'CONSENT_OTHER_CALL', 'The approval was given for another call.');
}

function unknownOutcome({ intent }: ApprovedCall): Denial {
  const message =
    'This call was made before under the same approval, and what came of it is not known. It is not made again. Somebody must look before it is called anew.';
  return new Denial('repeat', 'GATEWAY_OUTCOME_UNKNOWN', message, { data: { intent } });
}

/** A kept message under another id, which says which capsule it repeats. */
function repeated(answer: string, id: Uint8Array, outcome: string): Uint8Array {
  const frame = parseFrame(toUtf8(answer)) as ResultFrame | ErrorFrame;
  return splice(frame.bytes, [replace(locate(frame, 'id')!, id), ...marks(frame, outcome)]);
}

function marks(frame: ResultFrame | ErrorFrame, outcome: string): Edit[] {
  const mark = [REPEATS, toUtf8(stringify(outcome))] as const;
  const [parent, member] = frame.kind === 'result' ? ['result', '_meta'] : ['error', 'data'];
  const inner = locate(frame, parent!, member!);
  if (inner === null) {
    const value = toUtf8(stringify({ [REPEATS]: outcome }));
    return setMembers(locate(frame, parent!)!, [[member!, value]]);
  }
  // Data of an error may be anything; what is no object stays as it is.
  return inner.value instanceof JsonObject ? setMembers(inner, [mark]) : [];
}
