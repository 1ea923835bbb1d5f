import { type CapsuleInput, SEAL_FIELDS } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, parse } from '@bulla/core/json';

const GIVEN = [...SEAL_FIELDS, 'id', 'sequence', 'previous_hash', 'spec_version'];

/**
 * The content of a capsule as JSON, as the sealer takes it: sections, options and tool calls become plain, and
 * everything inside them keeps the digits that were written. Throws `CAPSULE_INVALID`, also for members
 * that only the sealer sets, and what `parse` throws.
 */
export function readContent(bytes: Uint8Array): CapsuleInput {
  const content = parse(bytes);
  if (!(content instanceof JsonObject))
    throw new BullaError('CAPSULE_INVALID', 'The content of a capsule is an object.');
  const given = GIVEN.filter((key) => content.has(key));
  if (given.length > 0)
    throw new BullaError('CAPSULE_INVALID', `The sealer gives ${given.join(', ')}; leave it out.`);
  const plain = (value: JsonValue | undefined) =>
    value instanceof JsonObject ? Object.fromEntries(value) : value;
  const list = (value: unknown) => (Array.isArray(value) ? value.map(plain) : value);
  const sections = Object.fromEntries([...content].map(([key, value]) => [key, plain(value)])) as Record<
    string,
    Record<string, unknown>
  >;
  if (sections.reasoning?.options !== undefined)
    sections.reasoning.options = list(sections.reasoning.options);
  if (sections.execution?.tool_calls !== undefined)
    sections.execution.tool_calls = list(sections.execution.tool_calls);
  return sections as CapsuleInput;
}
