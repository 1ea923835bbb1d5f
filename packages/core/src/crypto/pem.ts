import { attempt, BullaError } from '../error.ts';
import { fromBase64, toBase64 } from './bytes.ts';

const columns = 64;

/** One PEM block. */
interface Pem {
  readonly label: string;
  readonly bytes: Uint8Array;
}

/** Writes one PEM block, wrapped at 64 columns (RFC 7468 §2), ending with a newline. */
export function writePem(label: string, bytes: Uint8Array): string {
  const lines = toBase64(bytes).match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

/**
 * Reads a text that is one PEM block and nothing else, in the strict form of RFC 7468 §3: lines of exactly 64
 * columns but for the last, no headers, no white space. Lines end with LF or all with CRLF; the last line end
 * may be missing. Throws `KEY_MALFORMED` for anything else.
 */
export function readPem(text: string): Pem {
  const lines = text.split(text.includes('\r\n') ? '\r\n' : '\n');
  if (lines.at(-1) === '') lines.pop();
  const label = /^-----BEGIN ([A-Z0-9]+(?: [A-Z0-9]+)*)-----$/.exec(lines[0] ?? '')?.[1];
  if (label === undefined || lines.at(-1) !== `-----END ${label}-----`) {
    throw malformed('The text is not one PEM block with the same label at both ends.');
  }
  const body = lines.slice(1, -1);
  const wrapped = body.every((line, i) =>
    i < body.length - 1 ? line.length === columns : line.length > 0 && line.length <= columns,
  );
  if (body.length === 0 || !wrapped) throw malformed(`The PEM block is not wrapped at ${columns} columns.`);
  const bytes = attempt(() => fromBase64(body.join('')));
  if (bytes instanceof BullaError) throw malformed('The PEM block does not hold canonical base64.', bytes);
  return { label, bytes };
}

function malformed(message: string, cause?: unknown): BullaError {
  return new BullaError('KEY_MALFORMED', message, { cause });
}
