import { BullaError } from '../../error.ts';
import { JsonObject, type Member } from '../../json/index.ts';

/**
 * Which server was scanned: how it was reached, not what it called itself. Of the environment only the names
 * of the variables are kept, never a value.
 */
export type Identity =
  | {
      readonly transport: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: readonly string[];
    }
  | { readonly transport: 'http'; readonly url: string };

/**
 * With which rights it was scanned. A server may show each caller other tools, so a lock holds for one
 * context. It names what was used and holds no secret.
 */
export interface Authorization {
  readonly scheme: 'none' | 'bearer' | 'oauth' | 'headers';
  /** Who issued the token. */
  readonly issuer: string | null;
  /** For whom it was issued. */
  readonly subject: string | null;
  readonly scopes: readonly string[];
  /** The names of the headers that were sent, never their values. */
  readonly headers: readonly string[];
}

export const NO_AUTHORIZATION: Authorization = {
  scheme: 'none',
  issuer: null,
  subject: null,
  scopes: [],
  headers: [],
};

const STDIO = { required: ['transport', 'command', 'args', 'env'] };
const HTTP = { required: ['transport', 'url'] };
const AUTHORIZATION = { required: ['scheme', 'issuer', 'subject', 'scopes', 'headers'] };
const SCHEMES = ['none', 'bearer', 'oauth', 'headers'] as const;

/** The text of `server_command` in the released program's files. */
export function commandText(identity: Identity): string {
  return identity.transport === 'http' ? identity.url : [identity.command, ...identity.args].join(' ');
}

export function writeIdentity(identity: Identity): JsonObject {
  checkIdentity(identity);
  if (identity.transport === 'http') return JsonObject.from(Object.entries({ ...identity }));
  const { transport, command, args, env } = identity;
  return JsonObject.from(Object.entries({ transport, command, args: [...args], env: [...env] }));
}

/** Throws `LOCK_FIELD`, `LOCK_CASE_TWIN` and `LOCK_IDENTITY`. */
export function readIdentity(value: Member): Identity {
  const isHttp = value.object().get('transport') === 'http';
  const record = value.record(isHttp ? HTTP : STDIO);
  const transport = record.get('transport').word(['stdio', 'http']);
  const identity: Identity =
    transport === 'http'
      ? { transport, url: record.get('url').text() }
      : {
          transport,
          command: record.get('command').text(),
          args: record.get('args').texts(),
          env: record.get('env').texts(),
        };
  checkIdentity(identity);
  return identity;
}

function checkIdentity(identity: Identity): void {
  if (identity.transport === 'http') {
    const url = URL.canParse(identity.url) ? new URL(identity.url) : null;
    if (url === null || !['http:', 'https:'].includes(url.protocol))
      throw new BullaError('LOCK_IDENTITY', 'The address of a server is an absolute http or https URL.');
    if (url.username !== '' || url.password !== '')
      throw new BullaError('LOCK_IDENTITY', 'The address of the server holds a user name or a password.');
    return;
  }
  if (identity.command === '') throw new BullaError('LOCK_IDENTITY', 'The command of the server is empty.');
  checkNames(identity.env, /^[^=\u0000]+$/, 'An environment variable is named without its value.');
}

export function writeAuthorization(authorization: Authorization): JsonObject {
  checkAuthorization(authorization);
  const { scheme, issuer, subject, scopes, headers } = authorization;
  return JsonObject.from(
    Object.entries({ scheme, issuer, subject, scopes: [...scopes], headers: [...headers] }),
  );
}

/** Throws `LOCK_FIELD`, `LOCK_CASE_TWIN` and `LOCK_IDENTITY`. */
export function readAuthorization(value: Member): Authorization {
  const record = value.record(AUTHORIZATION);
  const authorization = {
    scheme: record.get('scheme').word(SCHEMES),
    issuer: record.get('issuer').orNull((issuer) => issuer.text()),
    subject: record.get('subject').orNull((subject) => subject.text()),
    scopes: record.get('scopes').texts(),
    headers: record.get('headers').texts(),
  };
  checkAuthorization(authorization);
  return authorization;
}

function checkAuthorization({ headers }: Authorization): void {
  checkNames(headers, /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'A header is named without its value.');
}

function checkNames(names: readonly string[], form: RegExp, sentence: string): void {
  if (!names.every((name) => form.test(name)) || new Set(names).size !== names.length)
    throw new BullaError('LOCK_IDENTITY', `${sentence} Each is named once.`);
}
