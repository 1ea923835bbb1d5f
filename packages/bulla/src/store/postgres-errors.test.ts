import type { BullaError } from '@bulla/core/error';
import { expect, test } from 'vitest';
import { NotWrittenError } from './driver.ts';
import { notWritten, sqlState, storeError } from './postgres-errors.ts';

test.each([
  ['ENOTFOUND', 'STORE_UNAVAILABLE', 'The host of the server is not known (ENOTFOUND).'],
  ['EHOSTUNREACH', 'STORE_UNAVAILABLE', 'The host of the server cannot be reached (EHOSTUNREACH).'],
  ['ENOENT', 'STORE_UNAVAILABLE', 'There is no socket of a server at this path (ENOENT).'],
  ['ECONNRESET', 'STORE_UNAVAILABLE', 'The connection to the server broke (ECONNRESET).'],
  ['57P01', 'STORE_UNAVAILABLE', 'The connection to the server broke (57P01).'],
  ['57P03', 'STORE_UNAVAILABLE', 'The server is starting or stopping (57P03).'],
  ['53100', 'STORE_FULL', 'The disk of the server is full; nothing was written (53100).'],
  ['25006', 'STORE_READ_ONLY', 'The server takes no writes: it is a standby, or set to read only (25006).'],
  ['42501', 'STORE_UNREADABLE', 'The user has no right to do this in the database (42501).'],
  [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'STORE_UNREADABLE',
    'The certificate of the server is not trusted, or TLS failed (SELF_SIGNED_CERT_IN_CHAIN).',
  ],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'STORE_UNREADABLE', expect.stringContaining('is not trusted')],
  ['XX000', 'STORE_FAILED', 'The store failed (XX000: words).'],
])('%s is %s', (code, ours, message) => {
  const cause = Object.assign(new Error('words'), { code });
  expect(storeError(cause)).toMatchObject({ code: ours, message });
  const refused = notWritten(cause) as BullaError;
  expect([refused instanceof NotWrittenError, refused.code, sqlState(refused)]).toEqual([true, ours, code]);
});

test.each([
  ['Connection terminated unexpectedly', 'STORE_UNAVAILABLE'],
  ['timeout exceeded when trying to connect', 'STORE_UNAVAILABLE'],
  ['Query read timeout', 'STORE_UNAVAILABLE'],
  ['something else', 'STORE_FAILED'],
])('%s is %s', (message, code) => expect(storeError(new Error(message))).toMatchObject({ code }));
