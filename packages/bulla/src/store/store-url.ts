import { BullaError } from '@bulla/core/error';

/** Where a store is. */
type StoreAddress =
  | { readonly kind: 'sqlite'; readonly file: string }
  /** `database` names it without user and password. */
  | { readonly kind: 'postgres'; readonly url: string; readonly database: string };

/**
 * Reads where a store is: a file name or `postgres://…`. Throws `STORE_URL` for everything else that looks like an
 * address. It is never shown: it may hold a password, wherever a typing error put it.
 */
export function parseStoreUrl(text: string): StoreAddress {
  if (text === '' || text.includes('\0')) throw badUrl('The store is a file or postgres://….');
  const [, scheme] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text) ?? [];
  // One letter and a slash are a drive of Windows.
  if (scheme === undefined || /^[A-Za-z]:[\\/]/.test(text)) {
    if (ADDRESS.test(text)) throw badUrl(UNREADABLE);
    return { kind: 'sqlite', file: text };
  }
  if (/^postgres(?:ql)?$/i.test(scheme)) return { kind: 'postgres', url: text, database: databaseOf(text) };
  throw badUrl(
    `There is no store of the kind "${scheme}:". It is a file or postgres://…; a file with a colon in its name is written "./…".`,
  );
}

const UNREADABLE =
  'The address of the store cannot be read. It begins with postgres://, without quotes or spaces; special characters in user and password are percent-encoded.';
/** No path, and yet an address: in quotes, set in, or in the words of libpq. As a file, its password would name it. */
const ADDRESS = /^(?!\.{0,2}\/)(?:\s|.*\s$|.*:\/\/|(?:.*\s)?(?:host|dbname|user|password)\s*=)/is;

function databaseOf(text: string): string {
  // A socket is named in the query, and then there may be a user without a host, which is no URL.
  const url = /^postgres(?:ql)?:\/\//.test(text)
    ? (URL.parse(text) ?? URL.parse(text.replace('@/', '@_/')))
    : null;
  if (url === null) throw badUrl(UNREADABLE);
  const host = url.host === '_' ? '' : url.host;
  return `${host || url.searchParams.get('host') || ''}${url.pathname}`;
}

function badUrl(sentence: string): BullaError {
  return new BullaError('STORE_URL', sentence);
}
