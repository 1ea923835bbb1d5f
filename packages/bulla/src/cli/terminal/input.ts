import { type CanonOptions, type ProfileId, profile } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_DEPTH, type Leniency } from '@bulla/core/json';
import { DURATION_FORM, MAX_TIMER_MS, parseDuration } from '@bulla/core/text';
import { InvalidArgumentError, Option } from 'commander';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';

/** The options of the commands that read one JSON document. */
export interface DocumentOptions {
  profile: ProfileId;
  allow: Leniency[];
  maxDepth: number;
  maxBytes: number;
}

const LENIENCIES: Leniency[] = ['duplicate-keys', 'non-finite', 'lone-surrogates', 'bom'];

export function nonNegative(text: string): number {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError('A whole number is expected.');
  return Number(text);
}

export function positiveInteger(text: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new InvalidArgumentError('A positive integer is expected.');
  return Number(text);
}

interface DurationOption {
  /** What is counted: milliseconds for a timer, else whole seconds. Default `ms`. */
  readonly unit?: 'ms' | 's';
  /** The shortest one. Default: one unit. */
  readonly least?: string;
  readonly initial?: string;
}

/** An option that takes a duration; one grammar, and the same words, wherever there is one. */
export function durationOption(flag: string, description: string, given: DurationOption = {}): Option {
  const { unit = 'ms', least = `1${unit}`, initial } = given;
  const divisor = unit === 's' ? 1000 : 1;
  const parse = (text: string) => {
    const ms = parseDuration(text);
    if (ms === null || ms % divisor !== 0)
      throw new InvalidArgumentError(`A duration is expected, ${DURATION_FORM}.`);
    if (ms < parseDuration(least)! || (unit === 'ms' && ms > MAX_TIMER_MS))
      throw new InvalidArgumentError(`It is at least ${least}${unit === 'ms' ? ' and at most 24d' : ''}.`);
    return ms / divisor;
  };
  const option = new Option(`${flag} <duration>`, description).argParser(parse);
  return initial === undefined ? option : option.default(parse(initial), initial);
}

function profileId(text: string): ProfileId {
  try {
    return profile(text).id as ProfileId;
  } catch (error) {
    throw new InvalidArgumentError(`${(error as BullaError).message} 'bulla profiles' lists them.`);
  }
}

export function profileOption(): Option {
  return new Option('-p, --profile <id>', 'the canonical form').argParser(profileId).default('jcs');
}

/** Adds the options by which the strict reading of a document is tuned. */
export function parsingOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--allow <rule...>',
        'lift a rule of strict JSON; with non-finite, cps-python also writes NaN',
      )
        .choices(LENIENCIES)
        .default([], 'none'),
    )
    .option('--max-depth <n>', 'the deepest nesting accepted', positiveInteger, DEFAULT_MAX_DEPTH)
    .option('--max-bytes <n>', 'the longest document accepted', positiveInteger, DEFAULT_MAX_BYTES);
}

/** Reads a JSON document. Throws `JSON_UNEXPECTED_END` for one that is empty or blank, and as `readInput`. */
export function readDocument(file: string, kind: 'document' | 'chain'): Uint8Array {
  const bytes = readInput(file, kind);
  if (bytes.every((byte) => ' \t\r\n'.includes(String.fromCharCode(byte))))
    throw new BullaError('JSON_UNEXPECTED_END', 'The input is empty.');
  return bytes;
}

export function canonOptions({ allow, maxDepth }: DocumentOptions): CanonOptions {
  return { nonFinite: allow.includes('non-finite'), maxDepth };
}
