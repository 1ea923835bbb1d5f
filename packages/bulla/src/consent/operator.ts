import { randomUUID } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { People, Rules } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import {
  anyObject,
  anyText,
  type Check,
  integer,
  list,
  optional,
  orNull,
  parse,
  pointer,
  type Report,
  record,
  toPlain,
  word,
} from '@bulla/core/json';
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

/** The name of the file of what the operator decides. */
export const OPERATOR_FILE = 'consent.json';

/** What the operator decides. */
interface Operator {
  readonly rules: Partial<Rules>;
  /** Which principals are one person. */
  readonly people: People;
}

const count = optional(integer(1));
const countOrNull = optional(orNull(integer(1)));

const RULES: Readonly<Record<keyof Rules | 'people', Check>> = {
  highChannels: optional(word('authenticated', 'out-of-band', 'any')),
  startWithinMs: count,
  mediumPromptMs: countOrNull,
  grantPromptMs: countOrNull,
  parkMs: countOrNull,
  maxOpenPrompts: count,
  approvers: optional(list(anyText)),
  people: optional(anyObject),
};

/**
 * Reads `consent.json` in the data directory; nothing is decided where there is none. Throws `CONSENT_OPERATOR` with
 * the path for what is not exactly a rule, and `JSON_…` for what is not JSON.
 */
export function readOperator(home: string): Operator {
  const bytes = findInput(join(home, OPERATOR_FILE), 'document');
  if (bytes === null) return { rules: {}, people: new Map() };
  const document = parse(bytes);
  const refuse: Report = (_, at, sentence) => {
    throw new BullaError('CONSENT_OPERATOR', sentence, { path: pointer(at) });
  };
  record(RULES).run(document, [], refuse);
  const { people = {}, ...rules } = toPlain(document) as Partial<Rules> & {
    readonly people?: Readonly<Record<string, string>>;
  };
  for (const [principal, name] of Object.entries(people)) anyText.run(name, ['people', principal], refuse);
  return { rules, people: new Map(Object.entries(people)) };
}
