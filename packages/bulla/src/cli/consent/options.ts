import { join } from 'node:path';
import {
  CHINESE,
  type Channel,
  type Disclosure,
  disclosureLines,
  ENGLISH,
  identityOf,
  type Refusal,
  type Words,
  wordsFor,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import { Option } from 'commander';
import { defaultHome } from '../../app/index.ts';
import { type Consent, createConsent, installationId, phrasesOf, readOperator } from '../../consent/index.ts';
import { readInput } from '../../os/index.ts';
import type { Store } from '../../store/index.ts';
import type { Command } from '../command.ts';
import type { StoreOptions } from '../store.ts';
import {
  blanksCounted,
  colors,
  complain,
  EXIT,
  type Exit,
  errorDocument,
  printJson,
  type ReportOptions,
  say,
} from '../terminal/io.ts';

/** The options of the commands over what people allow. */
export interface ConsentOptions extends StoreOptions, ReportOptions {
  user?: string;
  agent?: string;
}

/** Consent over the store, under what the operator decides. */
export function consentOver(store: Store, { chain }: StoreOptions): Consent {
  return createConsent(store, { chain, rules: readOperator(defaultHome()).rules });
}

/**
 * Who sits at this terminal, as far as can be told. The store is a file, or a database with a password that the agent's
 * user may have as well, so that nothing proves who answers: it is `terminal`, and never `os-user`, which needs a
 * server that asks the socket. Throws `USAGE` where the system has no users and none is named.
 */
export function atTerminal({ user }: ConsentOptions): { who: string; channel: Channel } {
  const identity = identityOf(
    {
      transport: 'stdio',
      agent: null,
      uid: process.getuid?.() ?? null,
      installation: installationId(defaultHome()),
      process: null,
    },
    readOperator(defaultHome()).people,
  );
  const who = user ?? identity.user;
  if (who === null) throw new BullaError('USAGE', 'Say who you are, with --user.');
  return { who, channel: { kind: 'terminal', device: identity.device, session: null } };
}

/** Tells that an event was refused: nothing changed. */
export async function refused({ code, message }: Refusal, options: ReportOptions): Promise<Exit> {
  const error = new BullaError(code, message);
  complain(error);
  if (code === 'CONSENT_CHANNEL')
    say(
      `A terminal proves nobody. Answer where people sign in, or let terminals answer: "highChannels": "out-of-band" in ${join(defaultHome(), 'consent.json')}; see bulla consent allow --help.`,
    );
  if (options.json) await printJson(errorDocument(error));
  return EXIT.bad;
}

export function disclosureText(disclosure: Disclosure, digest: string): string {
  const { canDo, disclosure: named } = phrasesOf(disclosure);
  return [
    canDo(colors.bold(blanksCounted(disclosure.agent)), disclosure.version),
    ...disclosureLines(disclosure).map((line) => `  ${line.replace(/\S.*$/s, blanksCounted)}`),
    colors.dim(named(digest)),
  ].join('\n');
}

/** The options of the commands that show people what they allow. */
export interface LanguageOptions {
  lang?: 'en' | 'zh';
  catalogue?: string;
}

export function languageOption(command: Command): void {
  const words = 'the language (default: that of LC_ALL, LC_MESSAGES or LANG)';
  command.addOption(new Option('--lang <language>', words).choices(['en', 'zh']));
}

export function languageOptions(command: Command): void {
  command
    .use(languageOption)
    .option('--catalogue <file>', 'a JSON object with the texts of the i18n keys that manifests have');
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
