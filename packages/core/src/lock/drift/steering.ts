import { type JsonObject, type JsonValue, type Path, pointer } from '../../json/index.ts';
import { entryOf } from '../file/entry.ts';
import { pathTo, walk } from '../file/walk.ts';
import type { DriftCode } from './codes.ts';
import { type DriftItem, itemOf, quoted, type Subject, shownValue, sides } from './item.ts';

/** Members that make a client do something, by their key and, where it matters, the one they stand in. */
const STEERING: readonly [key: RegExp, inside: string | null, DriftCode, what: string][] = [
  [/^x-mcp-header$/i, null, 'header-mirrored', 'makes the client copy an argument into an HTTP header'],
  [/^x-mcp-/i, null, 'client-steered', 'tells the client what to do'],
  [
    /^(?:ui|ui\/.*|openai\/.*|anthropic\/.*)$/i,
    '_meta',
    'client-steered',
    'makes the client show a page or act beyond the call',
  ],
];

interface Found {
  readonly path: Path;
  readonly value: JsonValue;
  readonly code: DriftCode;
  readonly sentence: string;
}

/** The members that steer the client and are new, or have another value than was locked. */
export function steeringItems(subject: Subject, before: JsonObject, after: JsonObject): DriftItem[] {
  const now = steering(after);
  if (now.size === 0) return [];
  const was = steering(before);
  return [...now].flatMap(([at, { path, value, code, sentence }]) => {
    const old = was.get(at)?.value;
    if (old !== undefined && entryOf([old]).digest === entryOf([value]).digest) return [];
    return [itemOf(subject, 'suspicious', code, 'critical', path, sentence, sides(old, value))];
  });
}

function steering(definition: JsonObject): Map<string, Found> {
  const found = new Map<string, Found>();
  walk(definition, (value, key, above) => {
    if (typeof key !== 'string') return;
    const row = STEERING.find(
      ([name, inside]) => name.test(key) && (inside === null || inside === above.key),
    );
    if (row === undefined) return;
    const [, , code, what] = row;
    const path = pathTo(key, above);
    const sentence = `The member ${quoted(key)} ${what}: ${shownValue(value)}.`;
    found.set(pointer(path), { path, value, code, sentence });
  });
  return found;
}
