import { quote } from '../mcp/index.ts';
import { Denial } from './denial.ts';
import type { Gate } from './gate.ts';
import type { Offer } from './stages/lists.ts';

// What the host does not see is told to the operator, and recorded once.

/** A name that somebody else chose, no longer than a record should have it. */
export function shown(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200).toWellFormed()}\u2026` : name;
}

/** A definition in a list is not as it was locked. */
export function tellOffer({ recorder, enforce, log }: Gate, method: string, offer: Offer): void {
  const { kind, key, status, digest } = offer;
  const name = shown(key ?? '');
  const what = status === 'changed' ? 'is not what was locked' : 'is not in the lock';
  const code = status === 'changed' ? 'GATEWAY_CHANGED' : 'GATEWAY_NOT_LOCKED';
  const denial = new Denial('lists', code, `${quote(name)} in ${method} ${what}.`);
  const about = { method, tool: { name, digest }, waived: enforce.lists ? null : denial };
  if (!recorder.incident(denial, about, `${kind} ${key} ${digest}`)) return;
  log(`${enforce.lists ? 'removed' : 'would remove'} ${quote(name)} from ${method}: it ${what} [${code}]`);
}

/** These name the server and decide nothing: they pass. */
const PASSED = ['/serverInfo/name', '/serverInfo/version'];

/** Something that the server says of itself is not as it was locked. */
export function tellSelf({ recorder, enforce, log }: Gate, method: string, path: string): void {
  const message = `The server's answer to ${method} is not what was locked at ${quote(path)}.`;
  const denial = new Denial('session', 'GATEWAY_SELF_CHANGED', message);
  const waived = enforce.lists && !PASSED.includes(path) ? null : denial;
  if (recorder.incident(denial, { method, tool: null, waived }, path)) log(`${message} [${denial.code}]`);
}
