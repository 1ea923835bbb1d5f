import { httpOf } from '@bulla/core/codes';
import {
  equalBytes,
  formatNote,
  formatVkey,
  type NoteVerifier,
  noteVerifier,
  openNote,
  parseNote,
  publicKey,
  sha256Hex,
  signNote,
  toBase64,
  toHex,
} from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import {
  addSignatures,
  type Checkpoint,
  EMPTY_ROOT,
  type OpenedCheckpoint,
  openCheckpoint,
  parseCheckpointBody,
  verifyConsistency,
} from '@bulla/core/log';
import type { Cosigner } from './keys.ts';
import type { KnownLogs } from './logs.ts';
import { type AddCheckpoint, parseAddCheckpoint, SIZE_TYPE } from './request.ts';
import type { Cosigned, Decision, Evidence, EvidenceKind, WitnessState } from './state.ts';

/** What a witness answers over HTTP. The origin and the size are for the operator's own log. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly origin?: string;
  readonly size?: number;
  /** Whether more is cosigned of the log than before. */
  readonly isNew?: true;
}

/** A witness after https://c2sp.org/tlog-witness, without the network. */
export interface Witness {
  readonly name: string;
  /** The verifier keys that others configure, one for each key. */
  readonly vkeys: readonly string[];
  /** Answers a request to cosign a checkpoint. Never rejects: what fails here is answered with 500 or 503. */
  addCheckpoint(body: Uint8Array): Promise<Answer>;
  /** Answers a monitor that asks for the checkpoint last cosigned of the log whose origin has this SHA-256 in hex. */
  checkpoint(originHash: string): Answer;
}

export interface WitnessOptions {
  readonly state: WitnessState;
  /** The keys to cosign with, at least one, all of one name. */
  readonly cosigners: readonly Cosigner[];
  /** The logs that are known now; asked anew for each request. */
  readonly logs: () => KnownLogs;
  readonly now: () => Date;
  /**
   * Called once for each checkpoint that a log signed and that contradicts what was cosigned, when it is stored; each
   * time for one for which there is no room.
   */
  readonly onEvidence?: (evidence: Evidence, isKept: boolean) => void;
  /** Called for what failed here and was answered with 500 or 503. */
  readonly onError?: (error: unknown) => void;
}

/** A clock that was corrected by up to this many seconds does not stop the witness. */
const CLOCK_TOLERANCE = 60;

/**
 * Makes a witness. Throws `WITNESS_KEY` without a key to cosign with, and the codes of `noteVerifier` for one
 * that cannot cosign.
 *
 * A request is checked in this order, which is that of the specification, and the first check that fails is the
 * answer:
 *
 * 1. 400 if the body is not a request, or what it carries is no checkpoint;
 * 2. 404 if the origin is not that of a known log;
 * 3. 403 if no known key of that log signed, or one signed badly;
 * 4. 400 if there are extension lines and a key of the witness cannot cover them, or if the old size is above that
 *    of the checkpoint;
 * 5. 409 with the size cosigned last, if the old size is another;
 * 6. 422 if a tree without leaves has another root than it must have, if the proof does not show that the tree
 *    continues the one cosigned last, or if trees of one size have two roots.
 *
 * Then it cosigns, stores, and answers 200 when that is durable. 5 to 200 happen as one, also among processes. Version
 * 1.0.0 of the specification answered 409 without a size for two roots at one size; later text has 422.
 */
export function createWitness(options: WitnessOptions): Witness {
  const { state, cosigners, logs } = options;
  const name = cosigners[0]?.name;
  if (name === undefined) throw new BullaError('WITNESS_KEY', 'A witness needs a key to cosign with.');
  const verifiers = cosigners.map((by) =>
    noteVerifier(by.name, publicKey(by.signer.algorithm, by.signer.publicKey), by.type),
  );
  const vkeys = verifiers.map(formatVkey);
  const ownKeys = new Set(verifiers.map(({ publicKey: { bytes } }) => toHex(bytes)));
  const failed = (error: unknown): Answer => {
    options.onError?.(error);
    // Any other status says something about the checkpoint, which a failure of the witness does not.
    const passes = error instanceof BullaError && error.kind === 'unavailable';
    return plain(httpOf(passes ? 'unavailable' : 'defect'), 'The witness cannot answer now.');
  };

  return {
    name,
    vkeys,
    async addCheckpoint(body) {
      try {
        const submission = read(body);
        const keys = logs().get(submission.origin);
        if (keys === undefined) return plain(404, 'This log is not known here.', submission);
        // Who holds a key of the witness could otherwise make it say what it never saw, and the other way round.
        if (keys.some(({ publicKey: { bytes } }) => ownKeys.has(toHex(bytes))))
          throw new BullaError('WITNESS_KEY', `The log ${submission.origin} has the witness's own key.`);
        const opened = open(submission, keys);
        if (opened && opened.checkpoint.extensions.length > 0 && cosigners.some(({ type }) => type === 0x06))
          return plain(400, 'With ML-DSA-44 this witness cannot cosign extension lines.', submission);
        const context = { ...options, verifiers };
        return await state.update(submission.origin, (latest) => decide(submission, opened, latest, context));
      } catch (error) {
        return error instanceof Refusal ? error.answer : failed(error);
      }
    },
    checkpoint(originHash) {
      try {
        const origin = [...logs().keys()].find((known) => sha256Hex(known) === originHash);
        const latest = origin === undefined ? null : state.latest(origin);
        if (latest === null) return plain(404, 'Nothing was cosigned of this log.');
        return { ...plain(200, ''), body: latest.note, origin: latest.origin, size: latest.size };
      } catch (error) {
        return failed(error);
      }
    },
  };
}

/** A request that was read; nothing in it is verified. */
interface Submission extends AddCheckpoint, Pick<Checkpoint, 'origin' | 'size'> {
  readonly text: string;
  /** A tree without leaves whose root is not the hash of nothing: to be refused as inconsistent, not as malformed. */
  readonly wrongEmptyRoot: boolean;
}

/** Ends the work on a request with an answer. */
class Refusal extends Error {
  readonly answer: Answer;
  constructor(answer: Answer) {
    super(answer.body);
    this.answer = answer;
  }
}

/** An answer of one sentence, with what is known of the request. */
export function plain(status: number, sentence: string, seen: Partial<Submission> = {}): Answer {
  const { origin, size } = seen;
  return {
    ...{ status, contentType: 'text/plain; charset=utf-8', body: `${sentence}\n` },
    ...(origin !== undefined && { origin }),
    ...(size !== undefined && { size }),
  };
}

function read(body: Uint8Array): Submission {
  try {
    const request = parseAddCheckpoint(body);
    const { text } = parseNote(request.note);
    return { ...request, text, ...readCheckpoint(text) };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    throw new Refusal(plain(400, error.message));
  }
}

function readCheckpoint(text: string): Pick<Submission, 'origin' | 'size' | 'wrongEmptyRoot'> {
  const [origin, size, root, ...rest] = text.split('\n');
  if (size === '0' && root !== toBase64(EMPTY_ROOT)) {
    // Whatever else may be wrong with it, and with its root if it were of one leaf, is wrong all the same.
    parseCheckpointBody([origin, 1, root, ...rest].join('\n'));
    return { origin: origin!, size: 0, wrongEmptyRoot: true };
  }
  return { ...parseCheckpointBody(text), wrongEmptyRoot: false };
}

/** The checkpoint, verified with the keys of the log; null if it is one without leaves and with another root. */
function open(submission: Submission, keys: readonly NoteVerifier[]): OpenedCheckpoint | null {
  try {
    return openCheckpoint(submission.note, keys);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    if (submission.wrongEmptyRoot && error.code === 'LOG_CHECKPOINT') return null;
    throw new Refusal(plain(403, error.message, submission));
  }
}

/** The rest of the checks, while nobody can change what was cosigned last. */
async function decide(
  submission: Submission,
  opened: OpenedCheckpoint | null,
  latest: Cosigned | null,
  options: WitnessOptions & { readonly verifiers: readonly NoteVerifier[] },
): Promise<Decision<Answer>> {
  const { oldSize, size } = submission;
  const knownSize = latest?.size ?? 0;
  const found = opened && evidenceOf(opened, latest, options.now());
  const refuse = (answer: Answer, evidence = found): Decision<Answer> => {
    const onStored = (isKept: boolean) => void (evidence && options.onEvidence?.(evidence, isKept));
    return { cosigned: null, evidence, result: answer, onStored };
  };
  if (oldSize > size) return refuse(plain(400, 'The old size is above that of the checkpoint.', submission));
  if (oldSize !== knownSize) {
    const told = { status: 409, contentType: SIZE_TYPE, body: `${knownSize}\n` };
    return refuse({ ...told, origin: submission.origin, size });
  }
  if (opened === null)
    return refuse(plain(422, 'A tree without leaves has the hash of nothing as its root.', submission));
  const problem = inconsistency(opened.checkpoint, submission, latest);
  if (problem !== null) {
    const evidence =
      found ?? (latest && size > knownSize ? against('inconsistent', opened, latest, options.now()) : null);
    return refuse(plain(422, problem, submission), evidence);
  }
  const time = timeFor(options.now(), latest);
  const known = latest && cosignedAlready(opened, latest, time, options.verifiers);
  if (known) return refuse({ ...plain(200, '', submission), body: known });
  const { cosigned, lines } = await cosign(opened, options.cosigners, time);
  const isNew = size > knownSize && { isNew: true as const };
  return { cosigned, evidence: null, result: { ...plain(200, '', submission), body: lines, ...isNew } };
}

/**
 * The lines that were given for this very checkpoint at this very time; null if there are none. Who sends a checkpoint
 * again and again gets no new signature and writes nothing.
 */
function cosignedAlready(
  { text }: OpenedCheckpoint,
  latest: Cosigned,
  time: number,
  own: readonly NoteVerifier[],
): string | null {
  if (latest.time !== time || parseNote(latest.note).text !== text) return null;
  const { verified } = openNote(latest.note, own);
  return verified.length === own.length
    ? formatNote({ text, signatures: verified }).slice(text.length + 1)
    : null;
}

function inconsistency(
  { size, root }: Checkpoint,
  { oldSize, proof }: Submission,
  latest: Cosigned | null,
): string | null {
  if (oldSize === 0) {
    // Every tree continues one without leaves, so there is nothing to prove. Its root was checked when it was read.
    return proof.length === 0 ? null : 'From a tree without leaves the proof is empty.';
  }
  try {
    verifyConsistency({ oldSize, oldRoot: latest!.root, size, root, proof });
    return null;
  } catch (error) {
    if (error instanceof BullaError) return error.message;
    throw error;
  }
}

/** What the checkpoint says against the one cosigned last, whatever was sent with it. */
function evidenceOf(opened: OpenedCheckpoint, latest: Cosigned | null, now: Date): Evidence | null {
  const { size, root } = opened.checkpoint;
  if (latest === null || size > latest.size) return null;
  if (size < latest.size) return against('behind', opened, latest, now);
  return equalBytes(root, latest.root) ? null : against('split-view', opened, latest, now);
}

function against(kind: EvidenceKind, opened: OpenedCheckpoint, latest: Cosigned, now: Date): Evidence {
  const { origin, size, root } = opened.checkpoint;
  const note = formatNote({ text: opened.text, signatures: opened.verified });
  return { kind, origin, size, root, note, against: latest.note, time: seconds(now) };
}

/**
 * The time to state. A cosignature says that at this time the tree was the largest that was seen, so a larger tree
 * must not be cosigned for an earlier time than a smaller one. A clock that was set back a little is overruled; one
 * that is far behind, or was far ahead before, is not to be trusted, and there is no right answer until that time.
 */
function timeFor(now: Date, latest: Cosigned | null): number {
  const time = seconds(now);
  const behind = (latest?.time ?? 1) - time;
  if (behind <= 0) return time;
  if (latest !== null && behind <= CLOCK_TOLERANCE) return latest.time;
  throw new BullaError(
    'WITNESS_CLOCK',
    latest === null
      ? 'The clock does not tell the time.'
      : `The clock is ${behind} seconds behind what was cosigned last of ${latest.origin}.`,
  );
}

function seconds(now: Date): number {
  const time = Math.floor(now.getTime() / 1000);
  if (Number.isSafeInteger(time)) return time;
  throw new BullaError('WITNESS_CLOCK', 'The clock does not tell the time.');
}

async function cosign(
  { checkpoint, text, verified }: OpenedCheckpoint,
  cosigners: readonly Cosigner[],
  time: number,
): Promise<{ cosigned: Cosigned; lines: string }> {
  const signed = await signNote(
    text,
    cosigners.map((by) => ({ ...by, time })),
  );
  const lines = signed.slice(text.length + 1);
  const { origin, size, root } = checkpoint;
  // Lines of unknown keys are left out: whoever sent the request may have put anything there.
  const note = addSignatures(formatNote({ text, signatures: verified }), lines);
  return { cosigned: { origin, size, root, time, note }, lines };
}
