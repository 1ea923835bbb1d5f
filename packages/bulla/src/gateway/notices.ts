import { quote } from '../mcp/index.ts';
import { asDenial, Denial } from './denial.ts';
import type { Gate } from './context.ts';
import type { Offer } from './lists/page.ts';
import type { SelfCheck } from './lists/self.ts';

// What the host does not see is told to the operator, and recorded once.

/**
 * A name that somebody else chose, no longer than a record should have it. It is a copy: a part of a text would keep
 * the whole message in memory for as long as it is kept.
 */
export function shown(name: string): string {
  const text = name.length > 200 ? `${name.slice(0, 200).toWellFormed()}\u2026` : name;
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/** What is behind a denial that is no decision, in words. */
export function causeOf({ cause }: Denial): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** We failed at a message, and it was refused. Never throws. */
export function tellFailure({ recorder, log }: Gate, method: string, error: unknown): void {
  const denial = asDenial(error);
  try {
    const isNew = recorder.incident(denial, { method: shown(method), tool: null }, method);
    if (isNew) log(`${shown(method)}: ${denial.message} (${quote(causeOf(denial))}) [${denial.code}]`);
  } catch {} // the operator cannot be told
}

/** A definition in a list is not as it was locked. */
export function tellOffer({ pins, recorder, enforce, log }: Gate, method: string, offer: Offer): void {
  const { kind, key, status, digest } = offer;
  const name = shown(key ?? '');
  const isLeftOut = status === 'unlocked' && key !== null && pins.isLeftOut(kind, key);
  const unlocked = isLeftOut ? 'is in the lock, but left out here' : 'is not in the lock';
  const what = status === 'changed' ? 'is not what was locked' : unlocked;
  const code = status === 'changed' ? 'GATEWAY_CHANGED' : 'GATEWAY_NOT_LOCKED';
  const denial = new Denial('lists', code, `${quote(name)} in ${method} ${what}.`);
  const about = { method, tool: { name, digest }, waived: enforce.lists ? null : denial };
  // What is locked and was changed matters most: each such item has a budget of its own.
  const budget = status === 'changed' ? `${code} ${kind} ${key}` : code;
  if (!recorder.incident(denial, about, `${kind} ${key} ${digest}`, budget)) return;
  log(`${enforce.lists ? 'removed' : 'would remove'} ${quote(name)} from ${method}: it ${what} [${code}]`);
}

/** Some of what the server says of itself is not as it was locked. */
export function tellSelf(gate: Gate, method: string, { changed, passed }: SelfCheck): void {
  const isPassed = new Set(passed);
  for (const path of changed) tellPath(gate, method, path, isPassed.has(path));
}

function tellPath(
  { pins, recorder, enforce, log }: Gate,
  method: string,
  path: string,
  isPassed: boolean,
): void {
  const message = `The server's answer to ${method} is not what was locked at ${quote(path)}.`;
  const denial = new Denial('session', 'GATEWAY_SELF_CHANGED', message);
  const waived = enforce.lists && !isPassed ? null : denial;
  // What the lock holds has a budget of its own, whatever else the server adds to it.
  const [, part, name = ''] = path.split('/', 3);
  const locked = part === 'serverInfo' ? pins.serverInfo : part === 'capabilities' ? pins.capabilities : null;
  const budget = `${denial.code} ${part} ${locked?.has(name) ? name : ''}`;
  if (recorder.incident(denial, { method, tool: null, waived }, path, budget))
    log(`${message} [${denial.code}]`);
}
