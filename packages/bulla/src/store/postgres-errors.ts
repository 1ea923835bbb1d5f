import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import { NotWrittenError } from './driver.ts';

interface ServerError extends Error {
  /** SQLSTATE, or the code of a socket's error. */
  readonly code?: string;
  /** The function of the server that refused; unlike the message it is never translated. */
  readonly routine?: string;
}

type Sentence = readonly [pattern: RegExp, code: Code, sentence: string];

/** By SQLSTATE or the code of the socket. */
const BY_CODE: readonly Sentence[] = [
  [/^53100$/, 'STORE_FULL', 'The disk of the server is full; nothing was written.'],
  [/^25006$/, 'STORE_READ_ONLY', 'The server takes no writes: it is a standby, or set to read only.'],
  [/^3D000$/, 'STORE_MISSING', 'The server has no database of this name; create it first.'],
  [/^28P01$/, 'STORE_UNREADABLE', 'The server refuses the user or the password.'],
  [/^42501$/, 'STORE_UNREADABLE', 'The user has no right to do this in the database.'],
  [/^53300$/, 'STORE_UNAVAILABLE', 'The server has no connection left: too many clients.'],
  [/^57P03$/, 'STORE_UNAVAILABLE', 'The server is starting or stopping.'],
  [/^ECONNREFUSED$/, 'STORE_UNAVAILABLE', 'Nothing listens at the address of the server.'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'STORE_UNAVAILABLE', 'The host of the server is not known.'],
  [/^ENOENT$/, 'STORE_UNAVAILABLE', 'There is no socket of a server at this path.'],
  [
    /^(E(HOST|NET)UNREACH|ETIMEDOUT|EHOSTDOWN)$/,
    'STORE_UNAVAILABLE',
    'The host of the server cannot be reached.',
  ],
  [/^(08|57P|E[A-Z]+$)/, 'STORE_UNAVAILABLE', 'The connection to the server broke.'],
  [
    /CERT|^UNABLE_TO_|^ERR_TLS|^ERR_SSL|^EPROTO$/,
    'STORE_UNREADABLE',
    'The certificate of the server is not trusted, or TLS failed.',
  ],
];

/** By the words of the client library, which has no codes. */
const BY_MESSAGE: readonly Sentence[] = [
  [
    /does not support SSL/,
    'STORE_UNREADABLE',
    'The server does not offer TLS, and the address of the store asks for it.',
  ],
  [
    /client password must be/,
    'STORE_UNREADABLE',
    'The server asks for a password, and the address of the store has none.',
  ],
  [
    /timeout exceeded|timeout expired|connection timeout|Query read timeout/,
    'STORE_UNAVAILABLE',
    'The server did not answer in time.',
  ],
  [
    /^(Connection terminated|Client (was closed|has encountered))/,
    'STORE_UNAVAILABLE',
    'The connection to the server broke.',
  ],
];

/** An error of PostgreSQL, of the network or of the client library as one of ours. No secret is in its message. */
export function storeError(error: unknown, Type = BullaError): unknown {
  if (error instanceof BullaError) return error;
  const [code, sentence] = meaning(error as ServerError);
  return new Type(code, sentence, { cause: error });
}

/** The same for an error after which certainly nothing was written. */
export function notWritten(error: unknown): unknown {
  return storeError(error, NotWrittenError);
}

/** The same for a commit of which nobody knows whether it happened. */
export function uncertain(cause: unknown): BullaError {
  const sentence = 'The server failed while it committed; whether it wrote is not known.';
  return new BullaError('STORE_UNCERTAIN', sentence, { cause });
}

function meaning(error: ServerError): [code: Code, sentence: string] {
  const { code = '', message, routine } = error;
  if (code === '28000') return ['STORE_UNREADABLE', refusedUser(message, routine)];
  const found =
    code === ''
      ? BY_MESSAGE.find(([pattern]) => pattern.test(message))
      : BY_CODE.find(([pattern]) => pattern.test(code));
  if (found === undefined)
    return ['STORE_FAILED', `The store failed (${[code, message].filter(Boolean).join(': ')}).`];
  return [found[1], code === '' ? found[2] : `${found[2].slice(0, -1)} (${code}).`];
}

function refusedUser(message: string, routine: string | undefined): string {
  if (routine === 'InitializeSessionUserId') return 'The server has no such user (28000).';
  if (/no encryption|SSL off/.test(message))
    return 'The server refuses this user without TLS; try "?sslmode=verify-full" (28000).';
  return 'The server does not let this user connect to this database from here (28000).';
}

/** The SQLSTATE of an error, also of one that was made ours. */
export function sqlState(error: unknown): string {
  const found = (error instanceof BullaError ? error.cause : error) as { code?: string } | undefined;
  return found?.code ?? '';
}
