import { BullaError } from '@bulla/core/error';
import type { ListKind, Lock } from '@bulla/core/lock';
import { skeleton } from '@bulla/core/text';
import { quote } from '../../mcp/index.ts';
import { type Pins, pinsOf } from '../lists/pins.ts';
import { matchesTemplate } from '../lists/uri.ts';
import { PREFIX, shownName } from './names.ts';

/** What is routed: one server by its key, its prefix and what is locked of it. */
export interface Routed {
  /** What the operator calls the server. */
  readonly key: string;
  /** Before the names of its tools and prompts. */
  readonly prefix: string;
  readonly lock: Lock;
}

/** A tool or prompt by its place: the member that has it, and its name there. */
export interface Place {
  readonly member: number;
  readonly name: string;
}

/** The lists whose items a host calls by a name, which is shown with the prefix. */
export type NamedList = Extract<ListKind, 'tools' | 'prompts'>;
export const NAMED_LISTS: readonly NamedList[] = ['tools', 'prompts'];

/** Which member a request of the host is for. */
export type Routes = ReturnType<typeof routesOf>;

/**
 * Decides from the locks alone to which server a name or an address leads: no server has a say in it. Throws
 * `GATEWAY_COLLISION` for two names that are the same to a host, a model or a person, for an address that two servers
 * have, and for two servers with one key or prefix; `GATEWAY_PREFIX` for what cannot be a prefix.
 */
export function routesOf(members: readonly Routed[]) {
  checkPrefixes(members);
  const pins = members.map(({ lock }) => pinsOf(lock));
  const named = { tools: namesOf('tools', members, pins), prompts: namesOf('prompts', members, pins) };
  const resources = addressesOf('resources', members, pins);
  const templates = addressesOf('resourceTemplates', members, pins);
  checkTemplates([...templates], members);
  checkContents(resources, members, pins);
  return {
    /** What each lock permits. */
    pins,
    /** The locked tool or prompt that is shown by this name; null for none. */
    named: (kind: NamedList, shown: string): Place | null => named[kind].get(shown) ?? null,
    /** The name by which a tool or prompt of a member is shown. */
    shown: (member: number, name: string): string => shownName(members[member]!.prefix, name),
    /**
     * Where a name belongs that is not shown: to the member whose prefix it has, under a name that is not locked there. Null
     * for one without a prefix.
     */
    strange(kind: NamedList, shown: string): Place | null {
      const own = members
        .map(({ prefix }, member) => ({ prefix: `${prefix}_`, member }))
        .filter(({ prefix }) => shown.startsWith(prefix))
        .toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
      if (own === undefined) return null;
      return this.unlocked(kind, own.member, shown.slice(own.prefix.length));
    },
    /** A name for the record of a call that a member must not take for one of a tool that it has. */
    unlocked(kind: NamedList, member: number, called: string): Place {
      let name = called;
      while (pins[member]!.has(kind, name)) name += ' (not as shown)';
      return { member, name };
    },
    /** The member that has a resource, or a template that leads to it; null for none. */
    resource(uri: string): number | null {
      const exact = resources.get(uri);
      if (exact !== undefined) return exact;
      for (const [template, member] of templates) if (matchesTemplate(template, uri)) return member;
      return null;
    },
    /** The member that has a resource or a template by exactly this text; null for none. */
    reference: (uri: string): number | null => resources.get(uri) ?? templates.get(uri) ?? null,
  };
}

function checkPrefixes(members: readonly Routed[]): void {
  const known = { key: new Map<string, string>(), prefix: new Map<string, string>() };
  for (const member of members) {
    if (!PREFIX.test(member.prefix)) {
      const message = `${quote(member.prefix)} cannot stand before names: a prefix has at most 32 letters, digits and the characters "_", "." and "-".`;
      throw new BullaError('GATEWAY_PREFIX', message);
    }
    for (const what of ['key', 'prefix'] as const) {
      const other = known[what].get(skeleton(member[what]));
      if (other !== undefined) {
        const message = `Two servers have a ${what} that cannot be told apart: ${quote(other)} and ${quote(member[what])}.`;
        throw new BullaError('GATEWAY_COLLISION', message);
      }
      known[what].set(skeleton(member[what]), member[what]);
    }
  }
}

/** Every shown name of a list. The skeleton also ignores case. */
function namesOf(kind: NamedList, members: readonly Routed[], pins: readonly Pins[]): Map<string, Place> {
  const places = new Map<string, Place>();
  const byLook = new Map<string, { readonly shown: string } & Place>();
  for (const [member, { prefix }] of members.entries()) {
    for (const name of pins[member]!.keys(kind)) {
      const shown = shownName(prefix, name);
      const look = skeleton(shown);
      const other = byLook.get(look);
      if (other !== undefined) {
        const of = (place: Place, text: string) =>
          `${quote(text)} (${quote(place.name)} of ${quote(members[place.member]!.key)})`;
        const message = `Two ${kind} would have names that cannot be told apart: ${of(other, other.shown)} and ${of({ member, name }, shown)}.`;
        throw new BullaError('GATEWAY_COLLISION', message);
      }
      byLook.set(look, { shown, member, name });
      places.set(shown, { member, name });
    }
  }
  return places;
}

function addressesOf(
  kind: 'resources' | 'resourceTemplates',
  members: readonly Routed[],
  pins: readonly Pins[],
): Map<string, number> {
  const owners = new Map<string, number>();
  for (const member of members.keys()) {
    for (const address of pins[member]!.keys(kind)) {
      const other = owners.get(address);
      if (other !== undefined) throw shared(address, address, members, other, member);
      owners.set(address, member);
    }
  }
  return owners;
}

/** Two templates that one address fits would leave it to chance which server reads it. */
function checkTemplates(templates: readonly (readonly [string, number])[], members: readonly Routed[]): void {
  for (const [one, first] of templates) {
    const sample = one.replace(/\{[^{}]*\}/g, 'x');
    for (const [other, second] of templates) {
      if (first === second || !matchesTemplate(one, sample) || !matchesTemplate(other, sample)) continue;
      throw shared(one, other, members, first, second);
    }
  }
}

/** A host could take one server's resource for the content that is pinned for another. */
function checkContents(
  resources: ReadonlyMap<string, number>,
  members: readonly Routed[],
  pins: readonly Pins[],
): void {
  for (const [uri, owner] of resources) {
    for (const [other, { contentLike }] of pins.entries()) {
      const content = other === owner ? undefined : contentLike(uri);
      if (content !== undefined) throw shared(content.uri, uri, members, other, owner);
    }
  }
}

function shared(
  one: string,
  other: string,
  members: readonly Routed[],
  first: number,
  second: number,
): BullaError {
  const [a, b] = [quote(members[first]!.key), quote(members[second]!.key)];
  const what = one === other ? quote(one) : `an address that is both ${quote(one)} and ${quote(other)}`;
  return new BullaError('GATEWAY_COLLISION', `Two servers have ${what}: ${a} and ${b}.`);
}
