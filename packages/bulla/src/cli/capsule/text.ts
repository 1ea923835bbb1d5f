import { JsonObject, type JsonValue, stringify } from '@bulla/core/json';
import { visible } from '@bulla/core/text';
import { blanksCounted, colors } from '../terminal/io.ts';

const SECTIONS = ['trigger', 'context', 'reasoning', 'authority', 'execution', 'outcome'] as const;
const HEAD = ['id', 'type', 'domain', 'parent_id', 'sequence', 'previous_hash', 'spec_version'] as const;
const SEAL = ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'] as const;

/** A capsule for people: what is there, section by section; empty fields are left out. */
export function capsuleText(capsule: JsonObject): string {
  const rows = (keys: readonly string[], object: JsonObject) =>
    keys
      .filter((key) => object.has(key) && !isEmpty(object.get(key)!))
      .map((key) => `  ${colors.dim(key.padEnd(20))}${valueText(object.get(key)!)}`);
  const sections = SECTIONS.map((name) => [name, capsule.get(name)] as const).filter(
    (entry): entry is [(typeof entry)[0], JsonObject] => entry[1] instanceof JsonObject,
  );
  return [
    [colors.bold('capsule'), ...rows(HEAD, capsule)],
    ...sections.map(([name, section]) => [colors.bold(name), ...rows(section.keys, section)]),
    [colors.bold('seal'), ...rows(SEAL, capsule)],
  ]
    .filter((lines) => lines.length > 1)
    .map((lines) => lines.join('\n'))
    .join('\n');
}

function isEmpty(value: JsonValue): boolean {
  return (
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0) ||
    (value instanceof JsonObject && value.size === 0)
  );
}

function valueText(value: JsonValue): string {
  const text = typeof value === 'string' ? value : stringify(value);
  // Control and format characters could rewrite the terminal or hide text.
  const shown = blanksCounted(visible(text.slice(0, 200)));
  return text.length > 200 ? `${shown}… (${text.length} characters)` : shown;
}
