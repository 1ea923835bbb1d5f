import { JsonObject, type JsonValue, pointer } from '@bulla/core/json';
import { LIST_KINDS } from '@bulla/core/lock';
import { inspectText } from '@bulla/core/text';
import type { Surface } from '../mcp/index.ts';

/** Members of a tool that reports add; what a server says under these names is not repeated behind them. */
export const OWN_MEMBERS: readonly string[] = ['riskLevel', 'riskReasons'];

/** Something that whoever looks at a server should know. */
export interface ScanFinding {
  readonly code: string;
  /** Where in the surface, as a JSON Pointer; empty for the server as a whole. */
  readonly path: string;
  readonly message: string;
  /** The text that invisible characters spell. */
  readonly hidden?: string;
}

/** What the scan met, and all that {@link deceptions} finds. */
export function findingsOf(surface: Surface): ScanFinding[] {
  return [...surface.findings, ...deceptions(surface)];
}

/** Every place where a person sees something else than a machine reads, and where a server speaks in our name. */
export function deceptions(surface: Surface): ScanFinding[] {
  const found: ScanFinding[] = [];
  surface.tools.forEach((tool, index) => {
    for (const key of OWN_MEMBERS.filter((member) => tool.has(member))) {
      const message = `The server has a member ${key} of its own in this tool; ours is shown in its place.`;
      found.push({ code: 'member_shadowed', path: pointer(['tools', index, key]), message });
    }
  });
  for (const part of ['serverInfo', 'instructions', 'capabilities', ...LIST_KINDS] as const) {
    for (const { text, path } of strings(surface[part] as JsonValue, part)) {
      for (const { code, message, hidden } of inspectText(text.slice(0, MAX_TEXT)))
        found.push({ code, path: pointer(path), message, ...(hidden === undefined ? {} : { hidden }) });
      if (text.length > MAX_TEXT) found.push({ code: 'text_long', path: pointer(path), message: LONG });
      if (found.length >= MAX_FINDINGS) return [...found.slice(0, MAX_FINDINGS), MORE];
    }
  }
  return found;
}

/** A server could make us remember more than there is memory for. */
const MAX_FINDINGS = 1000;
const MAX_TEXT = 100_000;
const LONG = 'The text is so long that only its beginning was looked through.';
const MORE: ScanFinding = {
  code: 'more_findings',
  path: '',
  message: 'There is more that is not told here.',
};

interface Path {
  readonly key: string | number;
  readonly above: Path | null;
}

/** Every string in a value, the names of members among them, in order. Never recurses. */
function* strings(root: JsonValue, name: string): Generator<{ text: string; path: (string | number)[] }> {
  const open: { value: JsonValue; at: Path }[] = [{ value: root, at: { key: name, above: null } }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, at } = next;
    if (typeof value === 'string') yield { text: value, path: pathOf(at) };
    else if (Array.isArray(value)) {
      for (let i = value.length - 1; i >= 0; i--) open.push({ value: value[i]!, at: { key: i, above: at } });
    } else if (value instanceof JsonObject) {
      for (let i = value.size - 1; i >= 0; i--) {
        const here = { key: value.keys[i]!, above: at };
        open.push({ value: value.values[i]!, at: here });
        open.push({ value: value.keys[i]!, at: here });
      }
    }
  }
}

function pathOf(end: Path): (string | number)[] {
  const path: (string | number)[] = [];
  for (let step: Path | null = end; step !== null; step = step.above) path.push(step.key);
  return path.reverse();
}
