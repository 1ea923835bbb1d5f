import { type Code, type Kind, rpcOf } from '@bulla/core/codes';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { Failure, Stage } from '@bulla/core/evidence';
import { stringify } from '@bulla/core/json';

/** Codes of JSON-RPC and MCP (2026-07-28, Basic, Error Codes) for one case; else the kind of the denial decides. */
export const RPC = {
  parse: -32700,
  invalid: -32600,
  method: -32601,
  header: -32020,
  capability: -32021,
  version: -32022,
} as const;

/** Why a message does not pass, at which stage that was decided, and the error that the sender gets. */
export class Denial extends BullaError {
  readonly stage: Stage;
  readonly rpc: number;
  /** Members of `data` beside our own. */
  readonly data: object;
  /** As it stands in a record. Its sentence names tools, members and methods, never a value of an argument. */
  readonly failure: Failure;

  constructor(
    stage: Stage,
    code: Code,
    message: string,
    options: { failure?: Failure; rpc?: number; kind?: Kind; data?: object; cause?: unknown } = {},
  ) {
    super(code, message, { cause: options.cause, kind: options.kind });
    this.stage = stage;
    this.rpc = options.rpc ?? rpcOf(this.kind);
    this.data = options.data ?? {};
    this.failure = options.failure ?? { stage, code, sentence: message };
  }
}

/** Any other error is a defect of the gateway, and denies too. */
export function asDenial(error: unknown): Denial {
  if (error instanceof Denial) return error;
  return new Denial('bulla', 'GATEWAY_FAILED', 'The gateway failed.', { cause: error });
}

interface DenialAbout {
  readonly tool?: string | null;
  readonly capsule?: string | null;
  readonly words?: { readonly code: number; readonly message: string } | null;
}

/**
 * The answer to a request that was denied, with the id exactly as the sender wrote it, or null, the tool that it was
 * about and the capsule that records it. The text is for a model and for people: what was refused and why. `words` are
 * those of another program that is stood in for.
 */
export function denialBytes(
  id: Uint8Array | null,
  { stage, code, rpc, message, data }: Denial,
  { tool = null, capsule = null, words = null }: DenialAbout = {},
): Uint8Array {
  const said = words ?? { code: rpc, message: `Bulla: ${message}` };
  const error = { ...said, data: { ...data, stage, code, tool, capsule } };
  const bytes = Buffer.concat([
    toUtf8('{"jsonrpc":"2.0","id":'),
    id ?? toUtf8('null'),
    toUtf8(`,"error":${stringify(error)}}`),
  ]);
  own.add(bytes);
  return bytes;
}

const own = new WeakSet<Uint8Array>();

/** Whether a message is one that `denialBytes` wrote. */
export function isOwnDenial(bytes: Uint8Array): boolean {
  return own.has(bytes);
}
