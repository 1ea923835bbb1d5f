import { formatVkey, fromUtf8, type NoteVerifier, parseVkey, toHex, toUtf8 } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import {
  LOG_TYPES,
  logSignature,
  type OpenedCheckpoint,
  openCheckpoint,
  WITNESS_TYPES,
} from './checkpoint.ts';

// Trust policies, https://c2sp.org/tlog-policy: which logs and witnesses are known, and which witnesses together
// are enough. A policy is a file of octets. Names and URLs are compared as octets: here as the text that their UTF-8
// spells or, for what is no UTF-8, with each octet above 0x7f as the lone surrogate U+DC00 plus its value.

/** A log, known by a key that bears its origin as its name. */
interface PolicyLog {
  readonly verifier: NoteVerifier;
  readonly url: string | null;
}

/** A witness; `name` is only for groups and the quorum and need not be the name of its key. */
export interface PolicyWitness {
  readonly name: string;
  readonly verifier: NoteVerifier;
  readonly url: string | null;
}

/** A group, which has witnessed a checkpoint when `threshold` of its members have. */
interface PolicyGroup {
  readonly name: string;
  readonly threshold: number;
  /** Names of witnesses and of groups before this one. */
  readonly members: readonly string[];
}

export interface Policy {
  readonly logs: readonly PolicyLog[];
  readonly witnesses: readonly PolicyWitness[];
  readonly groups: readonly PolicyGroup[];
  /** The name of a witness or group, or `none`. */
  readonly quorum: string;
}

/** The most logs, witnesses and groups that a policy may have, of each; the specification asks for at least 32. */
const maxPolicyItems = 1000;

/**
 * Reads a policy. Throws `LOG_POLICY` with the number of the line for anything that is not exactly as specified,
 * with the error of `parseVkey` as its cause where a key is wrong, and for more than 1,000 logs, witnesses or groups.
 */
export function parsePolicy(policy: Uint8Array): Policy {
  const reading: Reading = {
    ...{ logs: [], witnesses: [], groups: [], quorum: null },
    ...{ names: new Set(), members: new Set(), keys: new Set() },
  };
  for (let at = 0, line = 1; at < policy.length; line++) {
    const end = policy.indexOf(0x0a, at);
    if (end < 0) throw refused(`Line ${line}: The line does not end with a newline.`);
    const cause = attempt(() => readLine(items(policy.subarray(at, end)), reading));
    if (cause !== undefined) throw new BullaError('LOG_POLICY', `Line ${line}: ${cause.message}`, { cause });
    at = end + 1;
  }
  const { logs, witnesses, groups, quorum } = reading;
  if (quorum === null) throw refused('A policy has a quorum line.');
  return { logs, witnesses, groups, quorum };
}

/** The items of a line, which spaces and tabs separate; none for a comment. */
function items(line: Uint8Array): string[] {
  const found: string[] = [];
  let from = -1;
  for (let at = 0; at <= line.length; at++) {
    const octet = line[at] ?? 0x20;
    if ((octet < 0x20 && octet !== 0x09) || octet === 0x7f)
      throw refused('A policy holds no control character but tab and newline.');
    const space = octet === 0x20 || octet === 0x09;
    if (!space && from < 0) from = at;
    if (space && from >= 0) {
      found.push(octets(line.subarray(from, at)));
      from = -1;
    }
  }
  return found[0]?.startsWith('#') ? [] : found;
}

function octets(bytes: Uint8Array): string {
  try {
    return fromUtf8(bytes);
  } catch {
    let text = '';
    for (const octet of bytes) text += String.fromCharCode(octet < 0x80 ? octet : 0xdc00 + octet);
    return text;
  }
}

interface Reading {
  readonly logs: PolicyLog[];
  readonly witnesses: PolicyWitness[];
  readonly groups: PolicyGroup[];
  quorum: string | null;
  /** The names that are defined, those that are members of a group, and the public keys by who has them. */
  readonly names: Set<string>;
  readonly members: Set<string>;
  readonly keys: Set<string>;
}

function readLine([keyword, ...rest]: readonly string[], reading: Reading): void {
  if (keyword === undefined) return;
  const read = lines.get(keyword);
  if (read === undefined) throw refused('A line defines a log, a witness, a group or the quorum.');
  read(rest, reading);
}

const lines: ReadonlyMap<string, (rest: readonly string[], reading: Reading) => void> = new Map([
  ['log', readLog],
  ['witness', readWitness],
  ['group', readGroup],
  ['quorum', readQuorum],
]);

function readLog([vkey, url, ...more]: readonly string[], reading: Reading): void {
  if (vkey === undefined || more.length > 0) throw refused('A log is a key and perhaps a URL.');
  add(reading.logs, { verifier: readKey(vkey, 'log', LOG_TYPES, reading), url: url ?? null });
}

function readWitness([name, vkey, url, ...more]: readonly string[], reading: Reading): void {
  if (name === undefined || vkey === undefined || more.length > 0)
    throw refused('A witness is a name, a key and perhaps a URL.');
  define(name, reading);
  add(reading.witnesses, {
    name,
    verifier: readKey(vkey, 'witness', WITNESS_TYPES, reading),
    url: url ?? null,
  });
}

function readGroup([name, k, ...members]: readonly string[], reading: Reading): void {
  if (name === undefined || k === undefined || members.length === 0)
    throw refused('A group is a name, a threshold and at least one member.');
  // Before the group itself is defined, so that it cannot be its own member.
  for (const member of members) {
    if (!reading.names.has(member)) throw refused('A member of a group is defined on a line before it.');
    if (reading.members.has(member)) throw refused('A name is a member of one group at most, and once.');
    reading.members.add(member);
  }
  define(name, reading);
  add(reading.groups, { name, threshold: threshold(k, members.length), members });
}

function readQuorum([name, ...more]: readonly string[], reading: Reading): void {
  if (name === undefined || more.length > 0) throw refused('The quorum is one name.');
  if (reading.quorum !== null) throw refused('A policy has one quorum line, not two.');
  if (name !== 'none' && !reading.names.has(name))
    throw refused('The quorum names a witness or group that is defined on a line before it.');
  reading.quorum = name;
}

function define(name: string, { names }: Reading): void {
  if (name === 'none' || names.has(name)) throw refused('The name is defined already.');
  names.add(name);
}

/** Keys are told apart by the public key alone: one key under two names would count twice. */
function readKey(vkey: string, role: string, types: readonly number[], { keys }: Reading): NoteVerifier {
  const verifier = parseVkey(vkey);
  const { type, publicKey } = verifier;
  if (!types.includes(type))
    throw refused(`A ${role} does not sign with type 0x${toHex(Uint8Array.of(type))}.`);
  const id = `${role} ${publicKey.algorithm} ${toHex(publicKey.bytes)}`;
  if (keys.has(id)) throw refused(`Another ${role} has the same public key.`);
  keys.add(id);
  return verifier;
}

function threshold(k: string, members: number): number {
  const value = k === 'all' ? members : k === 'any' ? 1 : /^[1-9][0-9]*$/.test(k) ? Number(k) : 0;
  if (value >= 1 && value <= members) return value;
  throw refused('A threshold is all, any, or in decimal from 1 to the number of members.');
}

function add<T>(list: T[], item: T): void {
  if (list.push(item) > maxPolicyItems)
    throw refused(`A policy has at most ${maxPolicyItems} logs, witnesses and groups of each.`);
}

function refused(message: string): BullaError {
  return new BullaError('LOG_POLICY', message);
}

/**
 * Writes a policy: logs, witnesses, groups, the quorum, in the order in which each was defined. Throws `LOG_POLICY`
 * for what {@link parsePolicy} would not read back as the same policy, and for names and URLs that are no UTF-8.
 */
export function formatPolicy({ logs, witnesses, groups, quorum }: Policy): string {
  const written = [
    ...logs.map(({ verifier, url }) => ['log', formatVkey(verifier), url]),
    ...witnesses.map(({ name, verifier, url }) => ['witness', name, formatVkey(verifier), url]),
    ...groups.map(({ name, threshold: k, members }) => {
      return ['group', name, k === members.length ? 'all' : k === 1 ? 'any' : String(k), ...members];
    }),
    ['quorum', quorum],
  ].map((line) => line.filter((item) => item !== null));
  if (written.flat().some((item) => !item.isWellFormed() || /^$|[\u0000-\u0020\u007f]/.test(item)))
    throw refused(
      'A name or URL in a policy is not empty, is UTF-8, and holds no space or control character.',
    );
  const text = written.map((line) => `${line.join(' ')}\n`).join('');
  parsePolicy(toUtf8(text));
  return text;
}

interface PolicyOptions {
  /** Keys of logs that are known from elsewhere, besides those of the policy. */
  readonly logs?: readonly NoteVerifier[];
  /** A POSIX time in seconds. Only cosignatures that state an earlier time count; 0 states none. */
  readonly before?: number;
}

/** A checkpoint and how it stands under a policy: it satisfies it if `log` is not null and `quorum` is true. */
export interface PolicyResult extends OpenedCheckpoint {
  /** The key with which the log itself signed; null if no known one did. */
  readonly log: NoteVerifier | null;
  /** The witnesses whose cosignatures count, by their names in the policy. */
  readonly witnesses: readonly { readonly name: string; readonly time: number }[];
  readonly quorum: boolean;
}

/**
 * Opens a checkpoint with the keys of a policy and says how it stands under it. Throws as `openCheckpoint`: no known
 * key may have signed badly, and one must have signed.
 */
export function evaluatePolicy(
  policy: Policy,
  note: string | Uint8Array,
  { logs = [], before }: PolicyOptions = {},
): PolicyResult {
  const ofLogs = byVkey([...policy.logs.map(({ verifier }) => verifier), ...logs]);
  const all = byVkey([...ofLogs.values(), ...policy.witnesses.map(({ verifier }) => verifier)]);
  const opened = openCheckpoint(note, [...all.values()]);
  const signed = new Map(opened.verified.map((line) => [formatVkey(line.verifier), line]));
  const log = logSignature({
    ...opened,
    verified: opened.verified.filter((line) => ofLogs.has(formatVkey(line.verifier))),
  });
  const witnesses = policy.witnesses.flatMap(({ name, verifier }) => {
    const time = signed.get(formatVkey(verifier))?.time;
    const counts = time !== undefined && (before === undefined || (time > 0 && time < before));
    return counts ? [{ name, time }] : [];
  });
  const witnessed = new Set(witnesses.map(({ name }) => name));
  for (const { name, threshold: k, members } of policy.groups) {
    if (members.filter((member) => witnessed.has(member)).length >= k) witnessed.add(name);
  }
  const quorum = policy.quorum === 'none' || witnessed.has(policy.quorum);
  return { ...opened, log: log?.verifier ?? null, witnesses, quorum };
}

/** One of each key: a policy may name the same one as a log and as a witness. */
function byVkey(verifiers: readonly NoteVerifier[]): Map<string, NoteVerifier> {
  return new Map(verifiers.map((verifier) => [formatVkey(verifier), verifier]));
}
