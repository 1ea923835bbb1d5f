import type { Words } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import { disclosureOf, grantRefusal, grantScopes, revokeScopes } from '../../app/index.ts';
import type { Consent, ListedGrant } from '../../consent/index.ts';
import { phrasesOf } from '../../consent/index.ts';
import type { Command } from '../command.ts';
import { openFor, sealOptions, storeOptions } from '../store.ts';
import { askKey, isAnswered } from '../terminal/ask.ts';
import {
  capsuleNames,
  colors,
  EXIT,
  type Exit,
  isoTime,
  report,
  reportOptions,
  say,
} from '../terminal/io.ts';
import {
  atTerminal,
  type ConsentOptions,
  consentOver,
  disclosureText,
  type LanguageOptions,
  languageOption,
  languageOptions,
  refused,
  wordsOf,
} from './options.ts';

interface GrantOptions extends ConsentOptions, LanguageOptions {
  agent: string;
  scope?: string[];
  all?: boolean;
  disclosure?: string;
}

const USER = 'whose (default: yours, as this installation names you)';

export function define(command: Command): void {
  command
    .subcommand('list', 'List what people last said of each scope.')
    .use(storeOptions, reportOptions, languageOption)
    .option('--user <id>', 'only of this person')
    .option('--agent <id>', 'only of this agent')
    .run(list);

  command
    .subcommand('show', 'Tell what an agent can do, as a person is told before any grant.')
    .use(storeOptions, reportOptions, languageOptions)
    .requiredOption('--agent <id>', 'the agent')
    .run(show);

  command
    .subcommand('grant', 'Grant scopes to an agent.')
    .use(sealOptions, reportOptions, languageOptions)
    .requiredOption('--agent <id>', 'the agent')
    .option('--scope <id...>', 'the scopes')
    .option('--all', 'all that it declares')
    .option('--user <id>', USER)
    .option(
      '--disclosure <digest>',
      'what you were shown, by `grants show`; without it you are shown it and asked',
    )
    .helpText(`
A terminal proves nobody. A high scope is granted over it only where the operator says so (consent.json in BULLA_HOME,
"highChannels": "out-of-band"); the record says that a terminal reported it.

Examples:
  $ bulla grants show --agent desk
  $ bulla grants grant --agent desk --scope filesystem:read --disclosure DIGEST`)
    .run(grant);

  command
    .subcommand('revoke', 'Take scopes back, at once.')
    .use(sealOptions, reportOptions, languageOption)
    .requiredOption('--agent <id>', 'the agent')
    .option('--scope <id...>', 'the scopes')
    .option('--all', 'all of them')
    .option('--user <id>', USER)
    .helpText(`
Open questions, windows and calls that were allowed and not begun end with it. A call that runs is not stopped; it is
named.

Example:
  $ bulla grants revoke --agent desk --scope filesystem:read`)
    .run(revoke);
}

async function list(options: ConsentOptions & LanguageOptions): Promise<void> {
  const [words] = wordsOf(options);
  await using at = await openFor(options, 'read');
  const { user, agent } = options;
  const grants = await consentOver(at.store, options).grants({
    ...(user !== undefined && { user }),
    ...(agent !== undefined && { agent }),
  });
  const document = { ok: true, grants: grants.map((one) => ({ ...one, at: isoTime(one.at) })) };
  await report(options, document, () =>
    grants.length === 0
      ? phrasesOf(words).nothingGranted
      : grants.map((grant) => lineOf(grant, words)).join('\n'),
  );
}

function lineOf(grant: ListedGrant, words: Words): string {
  const { user, agent, scope, status, sensitivity, channel, at, obstacle } = grant;
  const phrases = phrasesOf(words);
  const rests = status === 'granted' && obstacle !== null;
  const word = rests ? phrases.rests(words.terms[obstacle]) : words.terms[status];
  const colored = (obstacle === null ? colors.green : colors.yellow)(word);
  const said = phrases.said(visible(user), channel, isoTime(at));
  return `${colored}  ${visible(agent)} ${visible(scope)} ${words.terms[sensitivity]}  ${colors.dim(said)}`;
}

async function show(options: ConsentOptions & LanguageOptions & { agent: string }): Promise<void> {
  const [words] = wordsOf(options);
  await using at = await openFor(options, 'read');
  const { disclosure, digest } = await disclosureOf(consentOver(at.store, options), options.agent, words);
  await report(options, { ok: true, digest, disclosure }, () => disclosureText(disclosure, digest));
}

/** What the person names as seen, in whichever language that was; else what they are to be shown. */
async function seenDisclosure(consent: Consent, options: GrantOptions) {
  const [words, ...others] = wordsOf(options);
  const shown = await disclosureOf(consent, options.agent, words);
  if (options.disclosure === undefined || options.disclosure === shown.digest) return shown;
  for (const other of others) {
    const seen = await disclosureOf(consent, options.agent, other);
    if (seen.digest === options.disclosure) return seen;
  }
  return shown;
}

async function grant(options: GrantOptions): Promise<Exit> {
  await using at = await openFor(options, 'extend');
  const consent = consentOver(at.store, options);
  const { who, channel } = atTerminal(options);
  const [words] = wordsOf(options);
  const phrases = phrasesOf(words);
  const told = await seenDisclosure(consent, options);
  const { disclosure, digest } = told;
  const scopes = chosen(options) ?? disclosure.scopes.map(({ id }) => id);
  const refusal = grantRefusal(told, scopes, options.disclosure);
  if (refusal !== null) return await refused(refusal, options);
  if (options.disclosure === undefined) {
    say(`${disclosureText(disclosure, digest)}`);
    if (!isAnswered()) throw new BullaError('USAGE', 'Name what you were shown, with --disclosure.');
    if (!(await askKey(phrasesOf(disclosure).grantThese(scopes.join(', '))))) {
      say(phrases.nothingGranted);
      return EXIT.bad;
    }
  }
  const pair = { user: who, agent: options.agent };
  const step = await grantScopes(consent, pair, scopes, told, { who, channel });
  if (step.refusal !== null) return await refused(step.refusal, options);
  await report(options, { ok: true, ...pair, scopes, capsules: step.capsules.map(capsuleNames) }, () =>
    step.capsules.length === 0
      ? phrases.allGranted
      : `${colors.green(words.terms.granted)}  ${scopes.map((scope) => visible(scope)).join(', ')}`,
  );
  return EXIT.good;
}

/** The scopes that were named; null for all. */
function chosen({ scope, all }: GrantOptions): string[] | null {
  if ((scope === undefined) === (all === undefined))
    throw new BullaError('CONSENT_SCOPE', 'Name scopes with --scope, or say --all.');
  return scope ?? null;
}

async function revoke(options: GrantOptions): Promise<Exit> {
  const scopes = chosen(options) ?? 'all';
  const [words] = wordsOf(options);
  const phrases = phrasesOf(words);
  await using at = await openFor(options, 'extend');
  const { who, channel } = atTerminal(options);
  const pair = { user: who, agent: options.agent };
  const step = await revokeScopes(consentOver(at.store, options), pair, scopes, { who, channel });
  const isChanged = step.capsules.length > 0;
  if (step.refusal !== null) return await refused(step.refusal, options);
  const ended = step.decisions.map(({ id }) => id);
  const { running } = step;
  await report(options, { ok: true, ...pair, scopes, changed: isChanged, ended, running }, () => [
    isChanged
      ? `${colors.green(words.terms.revoked)}  ${scopes === 'all' ? phrases.everything : scopes.map((scope) => visible(scope)).join(', ')}`
      : phrases.noneRevoked,
    ...ended.map((id) => `  ${phrases.ended} ${id}`),
    ...running.map((id) => `  ${colors.yellow(phrases.stillRuns)} ${id}`),
  ]);
  return EXIT.good;
}
