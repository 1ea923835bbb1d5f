import { CHINESE, ENGLISH, type Words, wordsFor } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import { Option } from 'commander';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';

/** The options of the commands that show people what they allow. */
export interface LanguageOptions {
  lang?: 'en' | 'zh';
  catalogue?: string;
}

export function languageOption(command: Command): Command {
  return command.addOption(
    new Option('--lang <language>', 'the language (default: that of LC_ALL, LC_MESSAGES or LANG)').choices([
      'en',
      'zh',
    ]),
  );
}

export function languageOptions(command: Command): Command {
  return languageOption(command).option(
    '--catalogue <file>',
    'a JSON object with the texts of the i18n keys that manifests have',
  );
}

/** The words to show things in, and those in which they may have been shown before: all languages, that one first. */
export function wordsOf({ lang, catalogue }: LanguageOptions): readonly [Words, ...Words[]] {
  const texts = catalogue === undefined ? {} : { catalogue: readCatalogue(catalogue) };
  const chosen = wordsFor(lang ?? localeOf(process.env));
  const others = [ENGLISH, CHINESE].filter((words) => words !== chosen);
  return [{ ...chosen, ...texts }, ...others.map((words) => ({ ...words, ...texts }))];
}

/** As POSIX says: the first of them that is set and not empty. */
function localeOf(env: NodeJS.ProcessEnv): string {
  return env.LC_ALL || env.LC_MESSAGES || env.LANG || 'C';
}

/** Throws `CONSENT_CATALOGUE` for anything but an object of texts, and what the parser throws. */
function readCatalogue(file: string): { readonly [key: string]: string } {
  const value = parse(readInput(file, 'document'));
  const wrong = (path: string) =>
    new BullaError('CONSENT_CATALOGUE', 'A catalogue is a JSON object whose members are texts.', { path });
  if (!(value instanceof JsonObject)) throw wrong('');
  for (const [key, text] of value) if (typeof text !== 'string') throw wrong(`/${key}`);
  return Object.fromEntries(value) as { readonly [key: string]: string };
}
