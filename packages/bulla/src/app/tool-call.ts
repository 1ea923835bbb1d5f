import { commit, opens, SALT_BYTES } from '@bulla/core/canon';
import { fromHex, fromUtf8 } from '@bulla/core/crypto';
import { type Envelope, TOOL_CALL, toolOf } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import { lockDigest } from '@bulla/core/lock';
import { createToolCall, type EnvelopeDraft } from '../envelope/index.ts';
import { openLock } from './locked.ts';

/** A call of a tool that somebody shall approve. */
interface ToolCallInput {
  /** The lockfile. */
  readonly lock: string;
  /** The server, as the operator calls it. */
  readonly server: string;
  readonly tool: string;
  /** The arguments, as JSON. */
  readonly args: Uint8Array;
  readonly salt: Uint8Array;
  readonly draft: Omit<EnvelopeDraft, 'action_type' | 'rail' | 'target'>;
}

/**
 * Makes the envelope of one call of a tool that a lock pins. Throws what reading the lock throws, `USAGE` for a tool that
 * it does not hold whole and for arguments that are no object, the `JSON_…` codes, and as `toolCallEnvelope`.
 */
export function toolCallOf({ lock: file, server, tool, args, salt, draft }: ToolCallInput): Envelope {
  const { lock } = openLock(file);
  const entry = lock.native?.tools.get(tool);
  if (entry === undefined)
    throw new BullaError(
      'USAGE',
      `The lock ${file} holds no definition of the tool ${JSON.stringify(tool)}.`,
    );
  const given = argumentsIn(args);
  const call = { lock: lockDigest(lock), server, name: tool, locked: entry.digest };
  return createToolCall({ ...call, args: commit('args', given, salt) }, draft);
}

/**
 * The arguments that the envelope of a tool call approves. Throws `EE_TOOL_CALL` for an envelope of another action, and
 * for other arguments or another salt than those that it commits to.
 */
export function approvedArguments(envelope: Envelope, args: Uint8Array, saltText: Uint8Array): JsonObject {
  const committed = toolOf(envelope)?.args ?? null;
  if (envelope.action_type !== TOOL_CALL || committed === null)
    throw new BullaError('EE_TOOL_CALL', 'The envelope commits to no arguments of a tool.');
  const given = argumentsIn(args);
  if (!opens(committed, 'args', given, saltIn(saltText)))
    throw new BullaError('EE_TOOL_CALL', 'These are not the arguments that the envelope commits to.', {
      path: '/target/to',
    });
  return given;
}

function argumentsIn(bytes: Uint8Array): JsonObject {
  const value = parse(bytes);
  if (!(value instanceof JsonObject))
    throw new BullaError('USAGE', 'The arguments of a tool are a JSON object.');
  return value;
}

function saltIn(bytes: Uint8Array): Uint8Array {
  const text = fromUtf8(bytes).trim();
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new BullaError('COMMIT_SALT', `A salt has ${SALT_BYTES} bytes, as hex digits.`);
  return fromHex(text);
}
