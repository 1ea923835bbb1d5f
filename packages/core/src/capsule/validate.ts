import { digest, sortNames } from '../canon/index.ts';
import { attempt } from '../error.ts';
import {
  type AnyObject,
  isInteger,
  isObject,
  JsonObject,
  type JsonValue,
  keysOf,
  member,
  toNumber,
} from '../json/index.ts';
import { CAPSULE_TYPES, CONTENT, type Form, SECTION_NAMES, SECTIONS } from './model.ts';
import { isMoment } from './time.ts';

type ValidationCategory =
  | 'missing_field'
  | 'wrong_type'
  | 'invalid_value'
  | 'chain_violation'
  | 'integrity_violation';

interface Validation {
  readonly ok: boolean;
  readonly category: ValidationCategory | null;
  /** The field as the reference names it, `section.key`; null when all is well, empty for the root. */
  readonly field: string | null;
  readonly message: string;
}

interface ValidateOptions {
  /** Which key set is demanded. Default `'12'`, the seed's. */
  readonly form?: Form;
  /** Refuse every top-level key outside the form; the seal fields are outside it too. Default false. */
  readonly strictUnknownKeys?: boolean;
  /** A hash that the content must have under `cps`; no fallback profile is tried. */
  readonly claimedHash?: string;
}

/**
 * Checks a parsed or plain value in the order of the references' validator, and stops at the first failure. Where
 * the two references disagree, the stricter verdict holds: sequences and durations are integer lexemes and never
 * booleans, UUIDs are hyphenated, timestamps are what both can read, NaN is no confidence. It checks little:
 * `lint` is what a capsule needs to be sealed. Never throws.
 */
export function validate(value: unknown, options: ValidateOptions = {}): Validation {
  try {
    check(value, options);
  } catch (error) {
    if (error instanceof Failure) return error.validation;
    throw error;
  }
  return { ok: true, category: null, field: null, message: '' };
}

class Failure extends Error {
  readonly validation: Validation;
  constructor(category: ValidationCategory, field: string, message: string) {
    super(message);
    this.validation = { ok: false, category, field, message };
  }
}

function demand(ok: boolean, category: ValidationCategory, field: string, message: string): asserts ok {
  if (!ok) throw new Failure(category, field, message);
}

function check(value: unknown, options: ValidateOptions): void {
  const form = options.form ?? '12';
  const content = CONTENT[form];
  demand(isObject(value), 'wrong_type', '', 'A capsule must be an object.');
  if (options.strictUnknownKeys === true) {
    const extra = keysOf(value).filter((key) => !(content as readonly string[]).includes(key));
    const first = sortNames(extra, 'cps')[0];
    demand(first === undefined, 'invalid_value', first ?? '', 'This key is not part of a capsule.');
  }
  for (const key of content) {
    demand(member(value, key) !== undefined, 'missing_field', key, 'This key is required.');
  }
  checkHead(value, form);
  for (const name of SECTION_NAMES) checkSection(value, name);
  if (options.claimedHash !== undefined) checkHash(value, form, options.claimedHash);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const HASH = /^[0-9a-f]{64}$/i;

function checkHead(value: AnyObject, form: Form): void {
  const id = member(value, 'id');
  demand(typeof id === 'string', 'wrong_type', 'id', 'The id must be a string.');
  demand(UUID.test(id), 'invalid_value', 'id', 'The id must be a UUID.');

  const type = member(value, 'type');
  demand(typeof type === 'string', 'wrong_type', 'type', 'The type must be a string.');
  const known = (CAPSULE_TYPES as readonly string[]).includes(type);
  demand(known, 'invalid_value', 'type', `The type must be one of ${CAPSULE_TYPES.join(', ')}.`);

  const domain = member(value, 'domain');
  demand(typeof domain === 'string', 'wrong_type', 'domain', 'The domain must be a string.');

  const parent = member(value, 'parent_id');
  const parentType = parent === null || typeof parent === 'string';
  demand(parentType, 'wrong_type', 'parent_id', 'The parent_id must be null or a string.');
  demand(parent === null || UUID.test(parent), 'invalid_value', 'parent_id', 'The parent_id must be a UUID.');

  const sequence = member(value, 'sequence');
  demand(isInteger(sequence), 'wrong_type', 'sequence', 'The sequence must be an integer.');
  demand(toNumber(sequence)! >= 0, 'invalid_value', 'sequence', 'The sequence must not be negative.');

  const previous = member(value, 'previous_hash');
  const previousType = previous === null || typeof previous === 'string';
  demand(previousType, 'wrong_type', 'previous_hash', 'The previous_hash must be null or a string.');
  const previousForm = previous === null || HASH.test(previous);
  demand(previousForm, 'invalid_value', 'previous_hash', 'The previous_hash must be 64 hex digits.');

  if (form === '13') {
    const version = member(value, 'spec_version');
    demand(typeof version === 'string', 'wrong_type', 'spec_version', 'The spec_version must be a string.');
    demand(version !== '', 'invalid_value', 'spec_version', 'The spec_version must not be empty.');
  }

  const genesis = toNumber(sequence) === 0;
  demand(
    genesis === (previous === null),
    'chain_violation',
    'previous_hash',
    genesis ? 'The genesis capsule has no previous_hash.' : 'Only the genesis capsule has no previous_hash.',
  );
}

function checkSection(value: AnyObject, name: keyof typeof SECTIONS): void {
  const section = member(value, name);
  demand(isObject(section), 'wrong_type', name, 'A section must be an object.');
  for (const key of Object.keys(SECTIONS[name])) {
    demand(member(section, key) !== undefined, 'missing_field', `${name}.${key}`, 'This key is required.');
  }
  checks[name]?.(
    (key) => member(section, key),
    (ok, category, key, message) => demand(ok, category, `${name}.${key}`, message),
  );
}

type Require = (ok: boolean, category: ValidationCategory, key: string, message: string) => void;

/** The references look no further into authority and outcome. */
const checks: Partial<
  Record<keyof typeof SECTIONS, (get: (key: string) => unknown, require: Require) => void>
> = {
  trigger(get, require) {
    require(typeof get('type') === 'string', 'wrong_type', 'type', 'The trigger type must be a string.');
    const timestamp = get('timestamp');
    require(typeof timestamp === 'string', 'wrong_type', 'timestamp', 'The timestamp must be a string.');
    const real = isMoment(timestamp as string);
    require(real, 'invalid_value', 'timestamp', 'The timestamp must be an ISO 8601 moment with a timezone.');
  },
  context(get, require) {
    require(isObject(get('environment')), 'wrong_type', 'environment', 'The environment must be an object.');
  },
  reasoning(get, require) {
    const confidence = toNumber(get('confidence'));
    require(confidence !== undefined, 'wrong_type', 'confidence', 'The confidence must be a number.');
    const within = confidence! >= 0 && confidence! <= 1;
    require(within, 'invalid_value', 'confidence', 'The confidence must lie within 0 and 1.');
  },
  execution(get, require) {
    require(Array.isArray(get('tool_calls')), 'wrong_type', 'tool_calls', 'The tool_calls must be an array.');
    const duration = isInteger(get('duration_ms'));
    require(duration, 'wrong_type', 'duration_ms', 'The duration_ms must be an integer.');
    const resources = isObject(get('resources_used'));
    require(resources, 'wrong_type', 'resources_used', 'The resources_used must be an object.');
  },
};

function checkHash(value: AnyObject, form: Form, claimed: string): void {
  demand(HASH.test(claimed), 'invalid_value', 'hash', 'The claimed hash must be 64 hex digits.');
  const content = new JsonObject(
    [...CONTENT[form]],
    CONTENT[form].map((key) => member(value, key) as JsonValue),
  );
  const isSame = attempt(() => digest(content, 'cps')) === claimed.toLowerCase();
  demand(isSame, 'integrity_violation', 'hash', 'The content does not have the claimed hash.');
}
