import type { JsonValue, Path } from '../../json/index.ts';
import { inspectText, references, type TextFinding } from '../../text/index.ts';
import { type Parent, pathTo, walk } from '../file/walk.ts';
import type { DriftCode } from './codes.ts';
import { type DriftItem, itemOf, quoted, type Subject, some } from './item.ts';
import type { ToolNames } from './names.ts';
import { PHRASES, phrasesIn } from './orders.ts';
import { wordsForPath } from './text.ts';

/** A text inside a definition: a string, or the name of a member. */
interface Text {
  readonly text: string;
  readonly key: string | number;
  readonly above: Parent;
  readonly isName: boolean;
}

/** Members of a definition that are addresses or types: they are compared by themselves. */
const ADDRESSES: ReadonlySet<string | number> = new Set(
  'src websiteUrl mimeType uri uriTemplate resourceUri version'.split(' '),
);
/** Keywords of a schema that look like addresses and are none. */
const KEYWORDS: ReadonlySet<string | number> = new Set(
  '$schema $id $ref $dynamicRef $anchor $dynamicAnchor pattern format type'.split(' '),
);
/** Keywords whose values are no schemas. */
const VALUES: ReadonlySet<string | number> = new Set(['default', 'examples', 'enum', 'const']);

/** Texts that a person or a model takes for a sentence, whatever their length. */
const SENTENCES: ReadonlySet<string | number> = new Set(['description', 'title', 'instructions', '$comment']);

/**
 * What is new in the texts of a definition and worth a second look, one item for each text and code. `before` is what
 * was locked, null for what is wholly new, undefined when only its hash is known: then nobody can say whether it is
 * new, and the sentences do not claim it. Takes linear time.
 */
export function suspicions(
  subject: Subject,
  before: JsonValue | null | undefined,
  after: JsonValue,
  names: () => ToolNames,
): DriftItem[] {
  const now = textsOf(after);
  const was = before === null || before === undefined ? [] : textsOf(before);
  const [known, still] = [new Set(was.map(({ text }) => text)), new Set(now.map(({ text }) => text))];
  const fresh = now.filter(({ text }) => !known.has(text));
  if (fresh.length === 0) return [];
  const old = knownOf(was, still);
  const unsure = before === undefined;
  return fresh.flatMap(({ text, key, above, isName }) => {
    const items: DriftItem[] = [];
    let path: Path | undefined;
    const tell = (code: DriftCode, what: string, details: readonly string[], found: JsonValue) => {
      if (details.length === 0) return;
      path ??= pathTo(key, above);
      const where = isName ? 'The name of a member' : wordsForPath(path, after);
      const sentence = `${where} ${what}${unsure ? '; whether it did before cannot be told' : ''}.`;
      const more = { details: some(details), after: found };
      items.push(itemOf(subject, 'suspicious', code, 'critical', path, sentence, more));
    };
    const search = (code: keyof typeof PHRASES) => {
      const found = unlisted(phrasesIn(text, code), old.phrases(code));
      tell(code, PHRASES[code].what, found.map(toQuoted), found);
    };
    const hidden = inspectText(text).filter((finding) => !old.takeHidden(finding));
    tell('hidden-characters', 'holds characters that a person does not see', hidden.map(hiddenWords), text);
    search('mixed-script');
    if (isName || isNoProse(key, above)) return items;
    const named = destinations(text).filter(({ value }) => !old.destinations.has(value));
    const isNew = unsure ? '' : ' that was not in it';
    const addresses = unlisted(named.map(({ value }) => value));
    tell(
      'destination-added',
      `names an address or a file${isNew}`,
      unlisted(named.map(destinationWords)),
      addresses,
    );
    search('encoded-text');
    if (!SENTENCES.has(key) && !/\s/.test(text)) return items;
    const tools = names()
      .find(text, subject.name)
      .filter((tool) => !old.tools(names(), subject.name).has(tool));
    tell('tool-referenced', 'speaks of another tool', tools.map(toQuoted), tools);
    search('secret-named');
    search('order-added');
    return items;
  });
}

/** Every string inside a value, and every name of a member. */
function textsOf(value: JsonValue): Text[] {
  const texts: Text[] = [];
  walk(value, (inner, key, above) => {
    if (typeof key === 'string') texts.push({ text: key, key, above, isName: true });
    if (typeof inner === 'string') texts.push({ text: inner, key, above, isName: false });
  });
  return texts;
}

function isNoProse(key: string | number, above: Parent): boolean {
  if (!ADDRESSES.has(key) && !KEYWORDS.has(key)) return false;
  let isValue = false;
  let top: string | number = key;
  for (let parent = above; parent.above !== null; parent = parent.above) {
    top = parent.key;
    isValue ||= VALUES.has(top);
  }
  const inSchema = top === 'inputSchema' || top === 'outputSchema';
  return inSchema ? KEYWORDS.has(key) && !isValue : ADDRESSES.has(key);
}

/** What the locked texts already hold. */
function knownOf(was: readonly Text[], still: ReadonlySet<string>) {
  const hidden = new Map<string, number>();
  const prose = was.filter(({ isName }) => !isName).map(({ text }) => text);
  for (const { text } of was) {
    if (still.has(text)) continue;
    for (const finding of inspectText(text)) {
      const key = hiddenKey(finding);
      hidden.set(key, (hidden.get(key) ?? 0) + 1);
    }
  }
  let tools: ReadonlySet<string> | undefined;
  const phrases = new Map<string, ReadonlySet<string>>();
  return {
    destinations: new Set(prose.flatMap((text) => destinations(text, true).map(({ value }) => value))),
    phrases(code: keyof typeof PHRASES) {
      // Names of members are searched for mixed scripts alone.
      const texts = code === 'mixed-script' ? was.map(({ text }) => text) : prose;
      const known = phrases.get(code) ?? new Set(texts.flatMap((text) => phrasesIn(text, code)));
      phrases.set(code, known);
      return known;
    },
    tools(names: ToolNames, self: string) {
      tools ??= new Set(prose.flatMap((text) => names.find(text, self)));
      return tools;
    },
    /** Whether the locked texts had one such place that has gone since. */
    takeHidden(finding: TextFinding) {
      const key = hiddenKey(finding);
      const left = hidden.get(key) ?? 0;
      if (left > 0) hidden.set(key, left - 1);
      return left > 0;
    },
  };
}

function hiddenKey({ code, characters, hidden }: TextFinding): string {
  return JSON.stringify([code, characters.map(({ point }) => point), hidden ?? '']);
}

function hiddenWords({ message, hidden }: TextFinding): string {
  return hidden === undefined ? message : `${message} It spells ${quoted(hidden)}.`;
}

interface Destination {
  readonly value: string;
  readonly disguised: boolean;
}

/** Addresses, hosts and files. Of two, one inside the other, the outer is told, unless all are wanted. */
function destinations(text: string, all = false): Destination[] {
  // A page of the server's own, which is pinned by its content.
  if (/^ui:\/\/\S*$/.test(text)) return [];
  const { urls, emails, hosts, paths } = references(text);
  const found = [...urls, ...emails, ...hosts, ...paths];
  if (all) return found;
  let end = 0;
  return found
    .sort((a, b) => a.offset - b.offset || b.length - a.length)
    .filter(({ offset, length }) => {
      const isInner = offset + length <= end;
      end = Math.max(end, offset + length);
      return !isInner;
    });
}

function destinationWords({ value, disguised }: Destination): string {
  return disguised ? `${quoted(value)} (written in disguise)` : quoted(value);
}

const toQuoted = (text: string) => quoted(text);

/** Each text once, without those that are known. */
function unlisted(texts: readonly string[], known: ReadonlySet<string> = new Set()): string[] {
  return [...new Set(texts)].filter((text) => !known.has(text));
}
