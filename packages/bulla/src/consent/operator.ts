import { randomUUID } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { People, Rules } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse, toPlain } from '@bulla/core/json';
import { createDirectory, findInput, readInput } from '../os/index.ts';

// What lies in the data directory: the name of this installation, and what the operator decides about consent.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\n$/;

/**
 * The id of this installation, drawn the first time that it is asked for. It names the device of who calls from here.
 * Throws `CONSENT_STATE` for a file that holds none, and `HOME_UNWRITABLE`.
 */
export function installationId(home: string): string {
  const file = join(home, 'installation');
  const found = Buffer.from(findInput(file, 'key') ?? drawn(home, file)).toString('latin1');
  if (!UUID.test(found))
    throw new BullaError('CONSENT_STATE', `${file} does not hold the id of an installation.`);
  return found.trim();
}

/** Of two processes that draw at once, one is heard. */
function drawn(home: string, file: string): Uint8Array {
  createDirectory(home);
  const own = `${file}.${randomUUID()}`;
  try {
    writeFileSync(own, `${randomUUID()}\n`, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(own, file);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'EEXIST')
      throw new BullaError('HOME_UNWRITABLE', `${file} cannot be created (${code}).`, { cause });
  } finally {
    rmSync(own, { force: true });
  }
  return readInput(file, 'key');
}

/** What the operator decides. */
interface Operator {
  readonly rules: Partial<Rules>;
  /** Which principals are one person. */
  readonly people: People;
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) > 0;
const isCountOrNull = (value: unknown) => value === null || isCount(value);
const isText = (value: unknown) => typeof value === 'string' && value !== '';

const CHECKS: Readonly<Record<keyof Rules | 'people', (value: unknown) => boolean>> = {
  highChannels: (value) => ['authenticated', 'out-of-band', 'any'].includes(value as string),
  startWithinMs: isCount,
  mediumPromptMs: isCountOrNull,
  grantPromptMs: isCountOrNull,
  maxOpenPrompts: isCount,
  approvers: (value) => Array.isArray(value) && value.every(isText),
  people: (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every(isText),
};

/**
 * Reads `consent.json` in the data directory; nothing is decided where there is none. Throws `CONSENT_OPERATOR` with
 * the path for what is not exactly a rule, and `JSON_…` for what is not JSON.
 */
export function readOperator(home: string): Operator {
  const bytes = findInput(join(home, 'consent.json'), 'document');
  const document = bytes === null ? new JsonObject([], []) : parse(bytes);
  if (!(document instanceof JsonObject)) throw wrong('The rules of the operator are an object.', '');
  const { people = {}, ...rules } = toPlain(document) as Record<string, unknown>;
  for (const [name, value] of Object.entries({ people, ...rules })) {
    if (!Object.hasOwn(CHECKS, name)) throw wrong('There is no such rule.', `/${name}`);
    if (!CHECKS[name as keyof typeof CHECKS](value))
      throw wrong('The rule cannot have this value.', `/${name}`);
  }
  return { rules, people: new Map(Object.entries(people as Record<string, string>)) };
}

function wrong(sentence: string, path: string): BullaError {
  return new BullaError('CONSENT_OPERATOR', sentence, { path });
}
