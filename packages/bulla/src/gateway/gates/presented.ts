import { opens } from '@bulla/core/canon';
import { fromHex } from '@bulla/core/crypto';
import { parseEnvelope, toolOf } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue } from '@bulla/core/json';
import { parseFrame, type RequestFrame } from '../../mcp/index.ts';
import { cutMembers, locate, splice } from '../wire/splice.ts';
import { badParams, onlyMembers } from './params.ts';

/** Where a host puts the envelope of a call of a tool: a member of `_meta`. */
const ENVELOPE = 'bulla/envelope';

/** An envelope that came with a call, as texts: no reader of JSON on the way can change what was signed. */
export interface Presented {
  readonly envelope: string;
  readonly authorization: string;
  /** Opens the commitment to the arguments that an envelope of a tool call holds. */
  readonly salt: Uint8Array | null;
}

/** Limit on the texts of envelope and authorization together, in UTF-16 units. */
const MAX_TEXT = 256 * 1024;
const SALT = /^[0-9a-f]{64}$/;

/**
 * Takes the envelope out of a request: it is for the gateway, and the server does not get it. Every other byte stays.
 * Throws a denial for a member that is not exactly an envelope.
 */
export function takeEnvelope(frame: RequestFrame): {
  readonly frame: RequestFrame;
  readonly presented: Presented | null;
} {
  const meta = frame.params?.get('_meta');
  const given = meta instanceof JsonObject ? meta.get(ENVELOPE) : undefined;
  if (given === undefined) return { frame, presented: null };
  if (frame.method !== 'tools/call') throw badParams('Only a call of a tool has an envelope.');
  const presented = presentedIn(given);
  const { keys } = meta as JsonObject;
  const { span } = locate(frame, 'params', '_meta')!;
  const bytes = splice(
    frame.bytes,
    cutMembers(span, (i) => keys[i] === ENVELOPE),
  );
  return { frame: parseFrame(bytes, { maxBytes: bytes.length }) as RequestFrame, presented };
}

function presentedIn(given: JsonValue): Presented {
  if (!(given instanceof JsonObject)) throw badParams(`${ENVELOPE} is an object.`);
  onlyMembers(given, ['envelope', 'authorization', 'salt']);
  const [envelope, authorization, salt] = ['envelope', 'authorization', 'salt'].map((key) => given.get(key));
  if (typeof envelope !== 'string' || typeof authorization !== 'string')
    throw badParams(`The envelope and the authorization in ${ENVELOPE} are strings: the texts of the files.`);
  if (envelope.length + authorization.length > MAX_TEXT)
    throw badParams(`An envelope and its authorization have at most ${MAX_TEXT} characters.`);
  if (salt !== undefined && (typeof salt !== 'string' || !SALT.test(salt)))
    throw badParams(`The salt in ${ENVELOPE} is 64 hex digits in lower case.`);
  return { envelope, authorization, salt: salt === undefined ? null : fromHex(salt) };
}

/**
 * The salt under which the records of a call commit to its arguments: that of its envelope where it opens the commitment
 * there, so that both are one. Undefined otherwise; then they have a fresh one.
 */
export function saltFor(presented: Presented | null, args: JsonValue): Uint8Array | undefined {
  if (presented === null || presented.salt === null) return undefined;
  try {
    const committed = toolOf(parseEnvelope(presented.envelope))?.args ?? null;
    return committed !== null && opens(committed, 'args', args, presented.salt) ? presented.salt : undefined;
  } catch (error) {
    // Whoever verifies the envelope says what is wrong with it.
    if (error instanceof BullaError) return undefined;
    throw error;
  }
}
