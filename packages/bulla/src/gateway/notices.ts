import { digest } from '@bulla/core/canon';
import { JsonNumber, textAt } from '@bulla/core/json';
import { quote, type RequestFrame } from '../mcp/index.ts';
import type { Context } from './context.ts';
import { asDenial, Denial } from './denial.ts';
import type { Offer } from './lists/page.ts';
import type { SelfCheck } from './lists/self.ts';
import type { About } from './record.ts';

// What is removed before the host sees it is logged for the operator, and recorded once.

/**
 * A name that somebody else chose, cut to 200 characters. It is a copy: a slice of a string would keep the whole message
 * in memory.
 */
export function boundedName(name: string): string {
  // The engine copies a short slice anyway.
  if (name.length < 13) return name;
  const text = name.length > 200 ? `${name.slice(0, 200).toWellFormed()}\u2026` : name;
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** The cause of a denial that no gate decided, as text. */
export function causeOf({ cause }: Denial): string {
  return cause instanceof Error ? cause.message : String(cause);
}

const NAMED = ['tools/call', 'prompts/get'];
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * What a record says of a request of the host: its trace id (W3C Trace Context), else the host's own id, and the tool or
 * prompt as the host names it. Nothing of it is checked yet.
 */
export function aboutOf({ id, method, params }: RequestFrame, host: string): About {
  const traceId = TRACEPARENT.exec(textAt(params, ['_meta', 'traceparent']) ?? '')?.[1];
  const correlationId = traceId ?? boundedName(id instanceof JsonNumber ? id.lexeme : id);
  const name = NAMED.includes(method) ? textAt(params, ['name']) : null;
  const tool = name === null ? null : { name: boundedName(name) };
  return { method: boundedName(method), host, correlationId, tool };
}

/** An internal error refused a message. Never throws. */
export function tellFailure({ record, log }: Context, method: string, error: unknown): void {
  const denial = asDenial(error);
  try {
    const isNew = record.incident({ denial, method: boundedName(method), key: method });
    if (isNew) log(`${boundedName(method)}: ${denial.message} (${quote(causeOf(denial))}) [${denial.code}]`);
  } catch {} // the operator cannot be told
}

/** Limit on the names in the record of a list; what was locked and changed comes first. */
const MAX_NAMES = 64;

/**
 * Some definitions of a page are not as they were locked. One record says how many, which names, and the digest of all
 * that was cut.
 */
export function tellPage(
  { pins, record, enforce, log }: Context,
  method: string,
  offers: readonly Offer[],
): void {
  const cut = offers.filter(({ status }) => status !== 'same');
  if (cut.length === 0) return;
  const changed = cut.filter(({ status }) => status === 'changed');
  const unlocked = cut.filter(({ status }) => status !== 'changed');
  const [code, what] =
    changed.length > 0
      ? (['GATEWAY_CHANGED', 'not as they were locked'] as const)
      : (['GATEWAY_NOT_LOCKED', 'not in the lock'] as const);
  const nameOf = ({ key }: Offer): string => boundedName(key ?? '');
  const cutDigest = `sha256:${digest(
    cut.map((offer) => [nameOf(offer), offer.digest]),
    'jcs',
  )}`;
  const count = cut.length === 1 ? 'One definition' : `${cut.length} definitions`;
  const denial = new Denial('lists', code, `${count} of ${method} removed, because they are ${what}.`);
  const isNew = record.incident({
    denial,
    method,
    waived: !enforce.lists,
    facts: {
      removed: cut.length,
      changed: changed.slice(0, MAX_NAMES).map(nameOf),
      not_locked: unlocked.slice(0, Math.max(0, MAX_NAMES - changed.length)).map(nameOf),
      digest: cutDigest,
    },
    key: cutDigest,
    // A locked definition that changed matters most, so it has a budget of its own.
    budget: changed.length > 0 ? `${code} ${changed[0]!.kind} ${changed[0]!.key}` : `${code} ${cut[0]!.kind}`,
  });
  if (!isNew) return;
  const told = [...changed, ...unlocked].slice(0, 8).map((offer) => quote(nameOf(offer)));
  const more = cut.length > told.length ? ` and ${cut.length - told.length} more` : '';
  const leftOut = unlocked.filter(({ kind, key }) => key !== null && pins.isLeftOut(kind, key)).length;
  const why = leftOut === cut.length ? 'left out here' : what;
  log(
    `${enforce.lists ? 'removed' : 'would remove'} from ${method}: ${told.join(', ')}${more} (${why}) [${code}]`,
  );
}

/** Some of what the server says of itself is not as it was locked. */
export function tellSelf(
  { pins, record, enforce, log }: Context,
  method: string,
  { changed, passed }: SelfCheck,
): void {
  const isPassed = new Set(passed);
  for (const path of changed) {
    const message = `The server's answer to ${method} is not what was locked at ${quote(path)}.`;
    const denial = new Denial('session', 'GATEWAY_SELF_CHANGED', message);
    // What the lock holds has a budget of its own, whatever else the server adds to it.
    const [, part, name = ''] = path.split('/', 3);
    const locked =
      part === 'serverInfo' ? pins.serverInfo : part === 'capabilities' ? pins.capabilities : null;
    const budget = `${denial.code} ${part} ${locked?.has(name) ? name : ''}`;
    const waived = !enforce.lists || isPassed.has(path);
    if (record.incident({ denial, method, waived, key: path, budget })) log(`${message} [${denial.code}]`);
  }
}
