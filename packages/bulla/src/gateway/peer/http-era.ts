import type { IncomingMessage } from 'node:http';
import { fromBase64, fromUtf8 } from '@bulla/core/crypto';
import { JsonNumber, JsonObject, memberAt } from '@bulla/core/json';
import type { Era } from '@bulla/core/lock';
import {
  type Frame,
  INITIALIZE_VERSIONS,
  META_VERSION,
  quote,
  type RequestFrame,
  requestHeaders,
  STATELESS_VERSIONS,
} from '../../mcp/index.ts';
import { RPC } from '../denial.ts';
import { META_CAPABILITIES } from '../gates/session.ts';
import { Refusal } from './http-response.ts';

type Headers = IncomingMessage['headersDistinct'];

/**
 * What the arguments of a call require of its `Mcp-Param-*` headers, by their names in lower case: the value that must
 * stand there, or null for one that must not be there.
 */
export type ExpectedHeaders = Readonly<Record<string, string | boolean | JsonNumber | null>>;

const VERSION = 'mcp-protocol-version';
const METHOD = 'mcp-method';
const NAME = 'mcp-name';

/** The one value of a header, or undefined. Throws a refusal for several, and for bytes that no value may have. */
function single(headers: Headers, name: string): string | undefined {
  const [value, ...more] = headers[name] ?? [];
  if (more.length > 0) throw mismatch(`The header ${name} is given twice.`);
  if (value !== undefined && !/^[\t\x20-\x7e]*$/.test(value)) {
    throw mismatch(`The header ${name} has a character that it may not have.`);
  }
  return value;
}

function mismatch(message: string): Refusal {
  return new Refusal(400, 'session', 'GATEWAY_HEADER', message, { rpc: RPC.header });
}

/** Whether the header names a version of the stateless era, where the body does not tell. */
export function isStatelessHeader(headers: Headers): boolean {
  return STATELESS_VERSIONS.includes(headers[VERSION]?.[0] ?? '');
}

/** Throws a refusal for a version that is not one of the initialize era. */
export function checkLegacyVersion(headers: Headers): void {
  const version = single(headers, VERSION);
  if (version !== undefined && !INITIALIZE_VERSIONS.includes(version)) {
    throw unsupported(INITIALIZE_VERSIONS, version);
  }
}

/**
 * Which era a message is of: the stateless one if its body or its header names a version of it (2026-07-28, Versioning),
 * whose rules it then must follow. Throws a refusal for one that does not, and for an unknown version.
 */
export function eraOf(
  frame: Frame,
  headers: Headers,
  expected: (frame: RequestFrame) => ExpectedHeaders,
): Era {
  const inHeader = single(headers, VERSION);
  const params = frame.kind === 'request' || frame.kind === 'notification' ? frame.params : null;
  const inBody = memberAt(params, ['_meta', META_VERSION]);
  if (inBody === undefined && !STATELESS_VERSIONS.includes(inHeader ?? '')) {
    checkLegacyVersion(headers);
    return 'initialize';
  }
  if (frame.kind === 'result' || frame.kind === 'error') {
    const message = 'In this version of the protocol a host answers nothing.';
    throw new Refusal(400, 'frame', 'GATEWAY_HTTP', message);
  }
  if (frame.kind === 'request' || inBody !== undefined) checkVersion(inHeader, inBody);
  if (frame.kind === 'request') checkRequest(frame, headers, expected);
  else checkText(METHOD, single(headers, METHOD) ?? frame.method, frame.method);
  return 'stateless';
}

function checkVersion(inHeader: string | undefined, inBody: unknown): void {
  if (typeof inBody !== 'string') throw missingMeta(META_VERSION);
  if (inHeader !== undefined) checkText(VERSION, inHeader, inBody);
  if (!STATELESS_VERSIONS.includes(inBody)) throw unsupported(STATELESS_VERSIONS, inBody);
  checkText(VERSION, inHeader, inBody);
}

/** 2026-07-28, Streamable HTTP, Server Validation. */
function checkRequest(
  frame: RequestFrame,
  headers: Headers,
  expected: (frame: RequestFrame) => ExpectedHeaders,
): void {
  if (!(memberAt(frame.params, ['_meta', META_CAPABILITIES]) instanceof JsonObject)) {
    throw missingMeta(META_CAPABILITIES);
  }
  const { [METHOD]: method, [NAME]: name } = requestHeaders(frame);
  checkText(METHOD, single(headers, METHOD), method!);
  if (name !== undefined) checkText(NAME, decoded(NAME, single(headers, NAME)), decoded(NAME, name)!);
  for (const [header, value] of Object.entries(expected(frame))) {
    const given = decoded(header, single(headers, header));
    if (value === null && given !== undefined) {
      throw mismatch(`The header ${quote(header)} is given, and the message has no value for it.`);
    }
    if (value instanceof JsonNumber) checkInteger(header, given, value);
    else if (value !== null) checkText(header, given, String(value));
  }
}

function checkText(header: string, given: string | undefined, value: string): void {
  if (given === undefined) throw mismatch(`The header ${quote(header)} is missing.`);
  if (given !== value) throw mismatch(`The header ${quote(header)} says something else than the message.`);
}

/** 2026-07-28, Streamable HTTP, Server Validation: `42.0` and `42` are the same. */
function checkInteger(header: string, given: string | undefined, value: JsonNumber): void {
  const isNumber =
    given === undefined || /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(given);
  const isEqual = isNumber && Number.isSafeInteger(value.toNumber()) && Number(given) === value.toNumber();
  checkText(header, isEqual ? value.lexeme : given, value.lexeme);
}

const ENCODED = /^=\?base64\?(.*)\?=$/;

/** 2026-07-28, Streamable HTTP, Value Encoding. */
function decoded(header: string, value: string | undefined): string | undefined {
  const [, base64] = ENCODED.exec(value ?? '') ?? [];
  if (base64 === undefined) return value;
  try {
    return fromUtf8(fromBase64(base64));
  } catch {
    throw mismatch(`The header ${quote(header)} is not the Base64 of a text.`);
  }
}

function missingMeta(key: string): Refusal {
  const message = `The member ${key} of _meta is missing, or not what it should be.`;
  return new Refusal(400, 'arguments', 'GATEWAY_PARAMS', message);
}

function unsupported(supported: readonly string[], version: string): Refusal {
  const data = { supported, requested: version.slice(0, 40) };
  const message = 'The gateway does not know this protocol version.';
  return new Refusal(400, 'session', 'GATEWAY_VERSION', message, { rpc: RPC.version, data });
}
