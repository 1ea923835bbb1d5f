import { attempt, BullaError } from '../error.ts';
import {
  type AnyObject,
  type FloatPaths,
  JsonNumber,
  JsonObject,
  member,
  sameDecimal,
  type Trail,
  trailPointer,
} from '../json/index.ts';
import { canonicalize, hashedPart } from './canonicalize.ts';
import { orderOf } from './order.ts';
import { type Profile, type ProfileId, profiles } from './profiles.ts';

/** One place at which the profiles of a family part, or at which a number loses digits. */
export interface Finding {
  readonly family: string;
  /**
   * `number`, `string`, `key-order`: written differently (for an order, the first key that differs);
   * `members`: the profiles hash different members of the root; `refused`: a profile refuses what stands here;
   * `inexact`: all profiles write it alike, but it is no longer the number that the source says.
   */
  readonly rule: 'number' | 'string' | 'key-order' | 'members' | 'refused' | 'inexact';
  /** JSON Pointer of the place. */
  readonly path: string;
  /** For each profile what it writes here, or the code with which it refuses. */
  readonly forms: Readonly<Record<string, string>>;
}

export const families: readonly string[] = [
  ...new Set(Object.values(profiles).map((profile) => profile.family)),
];

/**
 * Tells at which places the profiles of one family write a document differently, so that their hashes part,
 * and why. An empty list means that each of the families agrees on it. (The two envelope profiles also differ
 * in their domain separators, for every document; that is not told.) Throws `VALUE_…` for a value that is not
 * JSON at all.
 */
export function lint(value: unknown, only: readonly string[] = families): Finding[] {
  return only.flatMap((family) => {
    const members = Object.values(profiles as Record<string, Profile>).filter((p) => p.family === family);
    for (const member of members) {
      const refusal = attempt(() => canonicalize(value, member.id as ProfileId));
      if (refusal instanceof BullaError && !refusal.code.startsWith('CANON_')) throw refusal;
    }
    return lintFamily(value, family, members);
  });
}

interface Spot {
  readonly value: unknown;
  readonly trail: Trail | undefined;
  /** For each profile, where this place stands among its float paths. */
  readonly floats: readonly (FloatPaths | 'float' | undefined)[];
}

function lintFamily(root: unknown, family: string, members: readonly Profile[]): Finding[] {
  const findings: Finding[] = [];
  const report = (rule: Finding['rule'], spot: Spot, forms: readonly Form[]) => {
    findings.push({
      family,
      rule: forms.some((form) => form.refused) ? 'refused' : rule,
      path: trailPointer(spot.trail),
      forms: Object.fromEntries(members.map((member, i) => [member.id, forms[i]!.text])),
    });
  };
  const compare = (rule: Finding['rule'], spot: Spot, write: (profile: Profile, index: number) => string) => {
    const forms = members.map((member, i) => formOf(() => write(member, i)));
    if (forms.some((form) => form.refused || form.text !== forms[0]!.text)) report(rule, spot, forms);
    return forms;
  };

  const open: Spot[] = [
    { value: root, trail: undefined, floats: members.map((member) => member.floatPaths) },
  ];
  for (let spot = open.pop(); spot !== undefined; spot = open.pop()) {
    const { value, trail: parent, floats } = spot;
    const isFloat = (i: number) => floats[i] === 'float';
    if (typeof value === 'string') {
      compare('string', spot, (member) => `"${member.strings.escape(value)}"`);
    } else if (typeof value === 'number') {
      compare('number', spot, (member, i) => member.numbers.double(value, isFloat(i)));
    } else if (typeof value === 'bigint' || value instanceof JsonNumber) {
      const lexeme = typeof value === 'bigint' ? value.toString() : value.lexeme;
      const forms = compare('number', spot, ({ numbers }, i) =>
        typeof value === 'bigint' && numbers.bigint !== undefined
          ? numbers.bigint(value, isFloat(i))
          : numbers.lexeme(lexeme, isFloat(i)),
      );
      const agree = forms.every((form) => !form.refused && form.text === forms[0]!.text);
      if (agree && !sameDecimal(lexeme, forms[0]!.text)) report('inexact', spot, forms);
    } else if (Array.isArray(value)) {
      for (let i = value.length - 1; i >= 0; i--) {
        open.push({ value: value[i], trail: { key: i, parent }, floats: below(floats, null) });
      }
    } else if (typeof value === 'object' && value !== null) {
      const parts = members.map((member) => (parent === undefined ? hashedPart(value, member) : value));
      const keyLists = parts.map((part, i) => keysOf(part as object, members[i]!));
      const keySets = keyLists.map((keys) => new Set(keys));
      const common = keyLists[0]!.filter((key) => keySets.every((keys) => keys.has(key)));
      if (keyLists.some((keys) => keys.length !== common.length)) {
        const shared = new Set(common);
        compare('members', spot, (_, i) => keyLists[i]!.filter((key) => !shared.has(key)).join(' '));
      }
      compareOrders(common, members, (write) => compare('key-order', spot, write));
      for (const key of common.toReversed()) {
        const inner = {
          value: member(value as AnyObject, key),
          trail: { key, parent },
          floats: below(floats, key),
        };
        compare('string', inner, (member) => `"${member.strings.escape(key)}"`);
        open.push(inner);
      }
    }
  }
  return findings;
}

/** Compares the orders by the first place at which they part, so that a finding stays readable. */
function compareOrders(
  keys: readonly string[],
  members: readonly Profile[],
  compare: (write: (profile: Profile, index: number) => string) => unknown,
): void {
  const orders = members.map((member) =>
    attempt(() => Array.from(orderOf(keys, member.keys), (position) => keys[position]!)),
  );
  const lists = orders.filter((order) => Array.isArray(order));
  const at = keys.findIndex((_, i) => lists.some((list) => list[i] !== lists[0]![i]));
  compare((_, i) => {
    const order = orders[i]!;
    if (!Array.isArray(order)) throw order;
    return at < 0 ? '' : JSON.stringify(order[at]);
  });
}

interface Form {
  readonly text: string;
  readonly refused: boolean;
}

function formOf(write: () => string): Form {
  const text = attempt(write);
  return typeof text === 'string' ? { text, refused: false } : { text: text.code, refused: true };
}

function keysOf(value: object, member: Profile): readonly string[] {
  if (value instanceof JsonObject) return value.keys;
  const keys = Object.keys(value);
  if (member.undefinedProperty === 'refuse') return keys;
  return keys.filter((key) => (value as Record<string, unknown>)[key] !== undefined);
}

function below(floats: Spot['floats'], key: string | null): Spot['floats'] {
  return floats.map((node) => (node instanceof Map ? node.get(key) : undefined));
}
