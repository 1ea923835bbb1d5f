import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { Failure, Stage } from '@bulla/core/evidence';
import { stringify } from '@bulla/core/json';

/**
 * The JSON-RPC codes of refusals. Those of the protocol are its own; ours lie outside the range that JSON-RPC and MCP
 * reserve (2026-07-28, Basic, Error Codes), and are the numbers that people know from HTTP.
 */
export const RPC = {
  parse: -32700,
  invalid: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  version: -32022,
  denied: 403,
  /** The server answered with something that must not reach the host. */
  bad: 502,
  /** It cannot be done now: there is no server, or nothing can be recorded. */
  unavailable: 503,
  timeout: 504,
} as const;

/** A message that may not pass: why, where that was decided, and how the sender is told. */
export class Denial extends BullaError {
  readonly stage: Stage;
  readonly rpc: number;
  /** Members of `data` beside our own. */
  readonly data: object;

  constructor(
    stage: Stage,
    code: string,
    message: string,
    options: { rpc?: number; data?: object; cause?: unknown } = {},
  ) {
    super(code, message, options.cause === undefined ? {} : { cause: options.cause });
    this.stage = stage;
    this.rpc = options.rpc ?? RPC.denied;
    this.data = options.data ?? {};
  }

  /** As it stands in a record. Its sentence names tools, members and methods, never a value of an argument. */
  get failure(): Failure {
    return { stage: this.stage, code: this.code, sentence: this.message };
  }
}

/** What is no denial is a defect of ours, and denies all the same. */
export function asDenial(error: unknown): Denial {
  if (error instanceof Denial) return error;
  return new Denial('bulla', 'GATEWAY_FAILED', 'The gateway failed.', { rpc: RPC.internal, cause: error });
}

/** What a denial was about, and the capsule that tells of it, if one could be sealed. */
export interface DenialContext {
  readonly tool?: string | null;
  readonly capsule?: string | null;
}

/**
 * The answer to a request that was denied, with the id exactly as the sender wrote it, or null. The text is for a model
 * and for people: what was refused and why, so that nobody tries again in vain.
 */
export function denialBytes(id: Uint8Array | null, denial: Denial, context: DenialContext = {}): Uint8Array {
  const { stage, code, rpc, message, data } = denial;
  const { tool = null, capsule = null } = context;
  const error = { code: rpc, message: `Bulla: ${message}`, data: { ...data, stage, code, tool, capsule } };
  return Buffer.concat([
    toUtf8('{"jsonrpc":"2.0","id":'),
    id ?? toUtf8('null'),
    toUtf8(`,"error":${stringify(error)}}`),
  ]);
}
