import type { Code } from '@bulla/core/codes';
import {
  formatNote,
  type NoteVerifier,
  openNote,
  parseNote,
  type VerifiedSignature,
} from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import {
  addSignatures,
  evaluatePolicy,
  type Policy,
  type PolicyWitness,
  parseCheckpointBody,
} from '@bulla/core/log';
import type { Submission, Submit } from '../store/index.ts';
import { formatAddCheckpoint, parseSize, parseWitnessUrl, printable, SIZE_TYPE } from './request.ts';

/** Something is wrong with this log itself: it was set back or forked, or another one bears its name and key. */
const ALARMS: readonly Code[] = ['WITNESS_AHEAD', 'WITNESS_INCONSISTENT'];

/** How it went with one witness of the policy. */
export type WitnessResult =
  | { readonly name: string; readonly ok: true /** POSIX seconds. */; readonly time: number }
  | {
      readonly name: string;
      readonly ok: false;
      readonly code: Code;
      readonly message: string;
      /** What it says it has cosigned, where that is above the size of the checkpoint. */
      readonly size?: number;
    };

/** How it went with a checkpoint. */
export interface SubmitOutcome {
  readonly origin: string;
  readonly size: number;
  /** The checkpoint with all good cosignatures, also if they are too few. */
  readonly note: string;
  /** Whether the witnesses that cosigned are enough under the policy. If not, the checkpoint is not witnessed. */
  readonly quorum: boolean;
  readonly results: readonly WitnessResult[];
  /** The results that say that something is wrong with this log. They are never to be passed over. */
  readonly alarms: readonly WitnessResult[];
}

export interface SubmitOptions {
  /**
   * Called once for each checkpoint. It must be given, because `Submit` resolves with the checkpoint even when too few
   * witnesses cosigned it, and when one of them raised an alarm.
   */
  readonly onOutcome: (outcome: SubmitOutcome) => void;
  /** How long one witness may take for all of its part, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /**
   * How many records the log has by now. Where several processes make checkpoints of one log, it tells a witness
   * that has seen a newer one from a log that was set back. Without it both are `WITNESS_AHEAD`.
   */
  readonly length?: (origin: string) => Promise<number>;
}

/**
 * Makes what shows checkpoints to the witnesses of a policy, all at once. Resolves with the checkpoint and those
 * cosignatures that verified; whether they are enough is passed to `onOutcome`, and is no rejection. Rejects only
 * for a checkpoint that cannot be read, with the codes of `evaluatePolicy`.
 */
export function createSubmit(policy: Policy, options: SubmitOptions): Submit {
  /** What each witness has cosigned of each log, as far as it is known. */
  const sizes = new Map<string, number>();
  return async (submission) => {
    const { text } = parseNote(submission.note);
    const { origin } = parseCheckpointBody(text);
    const results: WitnessResult[] = [];
    const lines: VerifiedSignature[] = [];
    const remaining: PolicyWitness[] = [];
    for (const witness of policy.witnesses) {
      const time = cosignedAt(submission.note, witness);
      if (time === null) remaining.push(witness);
      else results.push({ name: witness.name, ok: true, time });
    }
    // A witness with two keys stands in a policy twice, under one address, and is asked once.
    const byUrl = Map.groupBy(remaining, ({ url }) => url);
    await Promise.all(
      [...byUrl].map(async ([url, witnesses]) => {
        const answer = await ask({ ...submission, origin, url, sizes, options }).catch(asFailure);
        for (const { name, verifier } of witnesses) {
          const line = answer instanceof Failure ? answer : readCosignature(text, answer, verifier);
          if (line instanceof Failure) results.push(failed(name, line));
          else {
            lines.push(line);
            results.push({ name, ok: true, time: line.time! });
          }
        }
      }),
    );
    const order = policy.witnesses.map(({ name }) => name);
    results.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
    const note = lines.length === 0 ? submission.note : addSignatures(submission.note, linesOf(text, lines));
    options.onOutcome({
      ...{ origin, size: submission.size, note, quorum: isQuorum(policy, note), results },
      alarms: results.filter((result) => !result.ok && ALARMS.includes(result.code)),
    });
    return note;
  };
}

/** The time of the cosignature of a witness that the checkpoint has already; null if it has none. */
function cosignedAt(note: string, { verifier }: PolicyWitness): number | null {
  try {
    return openNote(note, [verifier]).verified[0]!.time!;
  } catch (error) {
    if (error instanceof BullaError && error.code === 'NOTE_UNVERIFIED') return null;
    throw error;
  }
}

/** Why one witness failed. */
class Failure extends Error {
  readonly code: Code;
  readonly size: number | undefined;
  constructor(code: Code, message: string, size?: number) {
    super(message);
    this.code = code;
    this.size = size;
  }
}

function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  throw error;
}

function failed(name: string, { code, message, size }: Failure): WitnessResult {
  return { name, ok: false, code, message, ...(size !== undefined && { size }) };
}

interface Part extends Submission {
  readonly origin: string;
  readonly url: string | null;
  readonly sizes: Map<string, number>;
  readonly options: SubmitOptions;
}

/** Asks one witness, twice if its first answer tells what it has cosigned; gives its lines, not yet verified. */
async function ask(part: Part): Promise<string> {
  const { origin, size, sizes } = part;
  const url = endpoint(part.url);
  const known = `${origin}\n${part.url}`;
  const signal = AbortSignal.timeout(part.options.timeoutMs ?? 10_000);
  let oldSize = Math.min(sizes.get(known) ?? 0, size);
  for (let attempt = 1; ; attempt++) {
    const body = formatAddCheckpoint({ oldSize, proof: await prove(part, oldSize), note: part.note });
    const answer = await post(url, body, signal);
    if (answer.status === 200) {
      sizes.set(known, size);
      return answer.body;
    }
    const cosigned = cosignedSize(answer);
    if (cosigned === null) throw failureOf(answer);
    if (cosigned > size) throw await aheadOf(part, cosigned);
    sizes.set(known, cosigned);
    if (cosigned === oldSize)
      throw new Failure('WITNESS_RESPONSE', `It refuses ${cosigned} as the size that it cosigned last.`);
    if (attempt === 2)
      throw new Failure('WITNESS_CONFLICT', 'Another process is showing checkpoints of this log to it.');
    oldSize = cosigned;
  }
}

function endpoint(url: string | null): URL {
  const parsed = url === null ? null : parseWitnessUrl(url);
  if (parsed === null) throw new Failure('WITNESS_OPTION', 'The policy names no address of HTTP for it.');
  parsed.pathname = `${parsed.pathname.replace(/\/$/, '')}/add-checkpoint`;
  return parsed;
}

async function prove({ size, consistency }: Part, oldSize: number): Promise<readonly Uint8Array[]> {
  if (oldSize === 0 || oldSize === size) return [];
  try {
    return await consistency(oldSize);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(
      'WITNESS_PROOF_UNAVAILABLE',
      `The proof from ${oldSize} to ${size} cannot be made: ${reason}`,
    );
  }
}

async function aheadOf({ origin, size, options }: Part, cosigned: number): Promise<Failure> {
  if (((await options.length?.(origin)) ?? 0) >= cosigned)
    return new Failure(
      'WITNESS_CONFLICT',
      `It has cosigned ${cosigned} records of this log by now.`,
      cosigned,
    );
  return new Failure(
    'WITNESS_AHEAD',
    `It has cosigned ${cosigned} records of ${origin}, but the checkpoint covers ${size}: this log was set back, or another one bears its name and key.`,
    cosigned,
  );
}

interface HttpAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly body: string;
}

/** Sixteen cosignatures by ML-DSA-44 are 53 kB. */
const MAX_RESPONSE = 64 * 1024;

async function post(url: URL, body: string, signal: AbortSignal): Promise<HttpAnswer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'accept-encoding': 'identity' },
      redirect: 'manual',
      signal,
    });
    const { status, headers } = response;
    return { status, type: headers.get('content-type'), body: await readText(response) };
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (signal.aborted) throw new Failure('WITNESS_UNAVAILABLE', 'It took too long.');
    const { cause, message } = error as Error & { cause?: NodeJS.ErrnoException };
    throw new Failure('WITNESS_UNAVAILABLE', `It cannot be reached (${cause?.code ?? message}).`);
  }
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the rest.
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_RESPONSE)
      throw new Failure('WITNESS_RESPONSE', `It answered with more than ${MAX_RESPONSE} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function cosignedSize({ status, type, body }: HttpAnswer): number | null {
  if (status !== 409 || type !== SIZE_TYPE) return null;
  const size = parseSize(body);
  if (size === null) throw new Failure('WITNESS_RESPONSE', 'It answered 409, but not with a size.');
  return size;
}

const CODES: ReadonlyMap<number, Code> = new Map([
  [400, 'WITNESS_RESPONSE'],
  [403, 'WITNESS_UNKNOWN_LOG'],
  [404, 'WITNESS_UNKNOWN_LOG'],
  // Without a size it is what version 1.0.0 of the specification answers to two roots at one size.
  [409, 'WITNESS_INCONSISTENT'],
  [413, 'WITNESS_RESPONSE'],
  [422, 'WITNESS_INCONSISTENT'],
  [429, 'WITNESS_UNAVAILABLE'],
]);

const KNOW = 'Its operator adds what "bulla checkpoint vkey" prints to its --log file, and sends it SIGHUP.';
/** What to do about what does not pass by itself. */
const CURES: ReadonlyMap<number, string> = new Map([
  [403, `. It does not know the key of this log, as after a rotation. ${KNOW}`],
  [404, `. It does not know this log. ${KNOW}`],
]);

function failureOf({ status, body }: HttpAnswer): Failure {
  const said = `It answered ${status}: ${printable(body)}${CURES.get(status) ?? ''}`;
  if (status >= 300 && status < 400) return new Failure('WITNESS_RESPONSE', said);
  if (status >= 500) return new Failure('WITNESS_UNAVAILABLE', said);
  return new Failure(CODES.get(status) ?? 'WITNESS_RESPONSE', said);
}

/** The line of this key, verified. What other keys signed is left alone. */
function readCosignature(text: string, lines: string, verifier: NoteVerifier): VerifiedSignature | Failure {
  try {
    const note = `${text}\n${lines}`;
    if (parseNote(note).text === text) {
      const [line] = openNote(note, [verifier]).verified;
      if (line!.time! > 0) return line!;
      return new Failure('WITNESS_RESPONSE', 'Its cosignature states no time.');
    }
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    if (error.code === 'NOTE_UNVERIFIED')
      return new Failure('WITNESS_RESPONSE', 'It answered without a cosignature by its key.');
    if (error.code === 'NOTE_SIGNATURE_INVALID')
      return new Failure('WITNESS_FORGED', 'Its cosignature does not verify.');
  }
  return new Failure('WITNESS_RESPONSE', 'It answered with what are no signature lines.');
}

function linesOf(text: string, signatures: readonly VerifiedSignature[]): string {
  return formatNote({ text, signatures }).slice(text.length + 1);
}

function isQuorum(policy: Policy, note: string): boolean {
  try {
    return evaluatePolicy(policy, note).quorum;
  } catch (error) {
    // The log itself need not be in the policy.
    if (error instanceof BullaError && error.code === 'NOTE_UNVERIFIED') return policy.quorum === 'none';
    throw error;
  }
}
