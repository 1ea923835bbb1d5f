import {
  type Choice,
  type Disclosure,
  disclosureDigest,
  type Prompt,
  type Showing,
  type Words,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { type DiffPart, visible } from '@bulla/core/text';
import { answerQuestion, isUnanswerable, pendingQuestions, type Question } from '../../app/index.ts';
import type { Consent } from '../../consent/index.ts';
import { type Phrases, phrasesOf } from '../../consent/index.ts';
import type { Command } from '../command.ts';
import { openFor, sealOptions, storeOptions } from '../store.ts';
import { askKey, isAnswered } from '../terminal/ask.ts';
import {
  blanksCounted,
  capsuleNames,
  colors,
  EXIT,
  type Exit,
  errorDocument,
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

interface AnswerOptions extends ConsentOptions, LanguageOptions {
  session?: boolean;
  never?: boolean;
  shown?: string;
}

export function define(command: Command): void {
  command
    .subcommand('pending', 'Show what is asked, exactly, and can still be answered.')
    .use(storeOptions, reportOptions, languageOptions)
    .option('--user <id>', 'only what this person is asked')
    .option('--agent <id>', 'only what this agent asks for')
    .run(pending);

  const answering = (name: string, description: string) =>
    command
      .subcommand(name, description)
      .use(sealOptions, reportOptions)
      .argument('<id>', 'the question, as `consent pending` names it; the beginning of its id will do')
      .option('--user <id>', 'who answers (default: you, as this installation names you)')
      .option('--shown <digest>', 'what you saw, as `consent pending` names it');

  answering('allow', 'Allow one call, or grant the scope that is asked for.')
    .use(languageOptions)
    .option(
      '--session',
      'and the tools of its scope on this device in this session, for 24 hours after the last use',
    )
    .helpText(`
Without --shown you are shown it and asked. A terminal proves nobody: a high call is refused here (CONSENT_CHANNEL)
unless the operator says otherwise (consent.json in BULLA_HOME, "highChannels": "out-of-band"), and the record says that
a terminal reported the answer. Exits with 0 if it was allowed, 1 if that was refused.

Examples:
  $ bulla consent pending
  $ bulla consent allow 6b1f… --shown DIGEST
  $ bulla consent allow 6b1f… --session`)
    .run((id: string, options: AnswerOptions) => answer(id, options, allowing));

  answering('deny', 'Deny it.')
    .use(languageOption)
    .option('--never', 'and the scope from now on, until you grant it again')
    .run((id: string, options: AnswerOptions) => answer(id, options, denying));
}

async function pending(options: ConsentOptions & LanguageOptions): Promise<void> {
  const [words] = wordsOf(options);
  await using at = await openFor(options, 'read');
  const { user, agent } = options;
  const of = { ...(user !== undefined && { user }), ...(agent !== undefined && { agent }) };
  const all = await pendingQuestions(consentOver(at.store, options), of, words);
  await report(options, { ok: true, pending: all.map(documentOf) }, () =>
    all.length === 0
      ? phrasesOf(words).nothingAsked
      : all.map((shown) => textOf(shown, words, { withCommands: true })).join('\n\n'),
  );
}

function documentOf(shown: Question) {
  if ('error' in shown) return { id: shown.id, ...errorDocument(shown.error) };
  const { prompt, showing, disclosure } = shown;
  const { id, kind, agent, scope, sensitivity, asked, choices, opened_at, expires_at } = prompt;
  const digest = disclosure && disclosureDigest(disclosure);
  const times = {
    opened_at: isoTime(opened_at),
    expires_at: expires_at === null ? null : isoTime(expires_at),
  };
  const previous = showing?.previous && { ...showing.previous, at: isoTime(showing.previous.at) };
  return {
    ...{ id, kind, agent, scope, sensitivity, asked, choices, ...times, shown: prompt.shown },
    showing: showing && { ...showing, ...times, previous },
    disclosure: disclosure && { digest, ...disclosure },
  };
}

/** A question as text; with the commands that answer it, unless one of them is showing it. */
function textOf(shown: Question, words: Words, { withCommands }: { withCommands: boolean }): string {
  if ('error' in shown) return `${shown.id}  ${shown.error.message} [${shown.error.code}]`;
  const { prompt, showing, disclosure } = shown;
  const phrases = phrasesOf(words);
  const time = (at: number) => new Date(at).toISOString();
  const until = prompt.expires_at === null ? null : time(prompt.expires_at);
  const head = `${colors.bold(prompt.id)}  ${phrases.asks(blanksCounted(visible(prompt.agent)), blanksCounted(visible(prompt.asked)))}`;
  const what =
    disclosure !== null
      ? [
          phrases.toBeGranted(colors.bold(grantText(prompt.scope, disclosure))),
          disclosureText(disclosure, disclosureDigest(disclosure)),
        ]
      : callLines(showing!, words);
  return [
    head,
    phrases.when(time(prompt.opened_at), until),
    ...what,
    ...(withCommands ? commandLines(prompt, words) : []),
    colors.dim(phrases.shown(prompt.shown)),
  ].join('\n  ');
}

/** What is typed for each choice. */
const TYPED: Readonly<Record<Choice, (id: string) => string>> = {
  grant: (id) => `allow ${id}`,
  'allow-once': (id) => `allow ${id}`,
  'allow-session': (id) => `allow ${id} --session`,
  'deny-once': (id) => `deny ${id}`,
  never: (id) => `deny ${id} --never`,
};

function commandLines({ id, choices }: Prompt, words: Words): string[] {
  return choices.map(
    (choice) => `bulla consent ${TYPED[choice](id)}  ${colors.dim(`# ${words.terms[choice]}`)}`,
  );
}

/** A scope by its label and its id. */
function scopeText(label: string, id: string): string {
  return label === id ? id : `${label} (${id})`;
}

function grantText(scope: string, { scopes }: Disclosure): string {
  const label = scopes.find(({ id }) => id === scope)?.label ?? visible(scope);
  return scopeText(label, visible(scope));
}

function callLines(showing: Showing, words: Words): string[] {
  const phrases = phrasesOf(words);
  const { server, server_tool, declared, locked, scope, sensitivity, raised } = showing;
  const { hidden, changed, previous, redefined, description } = showing;
  const tool = colors.bold(
    blanksCounted(server === null ? showing.tool : `${showing.tool} = ${server}/${server_tool}`),
  );
  const digests = locked === null ? declared : phrases.declaredAndLocked(declared, locked);
  const why = raised.length === 0 ? null : raised.map((reason) => words.terms[reason]).join(', ');
  const covers = showing.session_covers.map(({ name, description }) =>
    description === null ? name : `${name}: ${description}`,
  );
  return [
    phrases.toCall(tool, description && preview(description, phrases), colors.dim(digests)),
    phrases.scope(
      scopeText(blanksCounted(showing.scope_label), blanksCounted(scope)),
      words.terms[sensitivity],
      why,
    ),
    phrases.arguments(preview(showing.arguments, phrases)),
    ...(hidden.length === 0 ? [] : [colors.yellow(phrases.hidden(hidden.length))]),
    ...(previous === null ? [] : [phrases.lastAllowed(isoTime(previous.at))]),
    ...redefined.map((what) => colors.yellow(phrases.redefined[what])),
    ...(changed === null ? [] : [phrases.changed(changedText(changed, phrases))]),
    ...(covers.length === 0 ? [] : [phrases.covers(preview(covers.join('; '), phrases))]),
  ];
}

/** The parts that fit in a preview. */
function changedText(parts: readonly DiffPart[], phrases: Phrases): string {
  let room = 2 * MAX_END;
  let leftOut = 0;
  const shown = parts.map(({ kind, text }) => {
    if (text.length > room) leftOut += text.length;
    room -= text.length;
    if (room < 0) return '';
    const seen = blanksCounted(text);
    if (kind === 'same') return seen;
    return kind === 'added' ? colors.green(`{+${seen}+}`) : colors.red(`[-${seen}-]`);
  });
  return shown.join('') + (leftOut === 0 ? '' : colors.yellow(phrases.leftOut(leftOut)));
}

/** How much of each end of a long text is shown. */
const MAX_END = 1000;

/** A text of somebody else, exactly; of a long one both ends, since what matters could stand at either. */
function preview(text: string, phrases: Phrases): string {
  const leftOut = text.length - 2 * MAX_END;
  if (leftOut <= 0) return blanksCounted(text);
  const [start, end] = [text.slice(0, MAX_END), text.slice(-MAX_END)].map((part) =>
    blanksCounted(part.toWellFormed()),
  );
  return `${start}${colors.yellow(phrases.leftOut(leftOut))}${end}`;
}

/** What a person chose, and the digest of what they saw. */
interface Chosen {
  readonly choice: Choice;
  readonly seen: string;
  readonly disclosure: Disclosure | null;
}

/** Gives null when the person says no. */
type Choosing = (consent: Consent, id: string, options: AnswerOptions) => Promise<Chosen | null>;

const allowing: Choosing = async (consent, id, options) => {
  const [words] = wordsOf(options);
  const shown = await consent.show(id, words);
  const { prompt, disclosure } = shown;
  const choice = prompt.kind === 'grant' ? 'grant' : options.session ? 'allow-session' : 'allow-once';
  if (options.shown !== undefined) return { choice, seen: options.shown, disclosure };
  say(textOf(shown, words, { withCommands: false }));
  if (!isAnswered()) throw new BullaError('USAGE', 'Name what you were shown, with --shown.');
  return (await askKey(phrasesOf(words).questions[choice]))
    ? { choice, seen: prompt.shown, disclosure }
    : null;
};

/** Nobody needs to see what they deny. */
const denying: Choosing = async (consent, id, { shown, never }) => ({
  choice: never ? 'never' : 'deny-once',
  seen: shown ?? (await consent.prompt(id))?.shown ?? '',
  disclosure: null,
});

async function answer(given: string, options: AnswerOptions, choosing: Choosing): Promise<Exit> {
  const [words] = wordsOf(options);
  const phrases = phrasesOf(words);
  await using at = await openFor(options, 'extend');
  try {
    const consent = consentOver(at.store, options);
    const id = questionId(
      given,
      (await consent.pending()).map((prompt) => prompt.id),
    );
    const chosen = await choosing(consent, id, options);
    if (chosen === null) {
      say(phrases.nothingAnswered(visible(id)));
      return EXIT.bad;
    }
    const { choice, seen, disclosure } = chosen;
    const { who, channel } = atTerminal(options);
    const step = await answerQuestion(consent, { id, choice, seen, disclosure, who, channel });
    if (step.refusal !== null) return await refused(step.refusal, options);
    const { by, reason } = step.decisions[0]!;
    const capsule = step.capsules[0]!;
    await report(
      options,
      { ok: true, id, choice, by, reason, who, channel: channel.kind, ...capsuleNames(capsule) },
      () => `${colors.green(phrases.answered[choice])}  ${id}  ${colors.dim(phrases.sealedAs(capsule.hash))}`,
    );
    return EXIT.good;
  } catch (error) {
    if (!isUnanswerable(error)) throw error;
    return await refused(error, options);
  }
}

/** Fewer characters would name a question by accident. */
const SHORTEST = 4;

/**
 * The one question that somebody means by the beginning of its id, also with the dots of `6b1f…`. What no open question
 * begins with is given back as it is. Throws `CONSENT_AMBIGUOUS` with those that it could be.
 */
export function questionId(given: string, open: readonly string[]): string {
  if (open.includes(given)) return given;
  const start = given.replace(/(?:…|\.\.\.)$/, '');
  if (start.length < SHORTEST) return given;
  const found = open.filter((id) => id.startsWith(start));
  if (found.length > 1)
    throw new BullaError('CONSENT_AMBIGUOUS', `${start} could be any of ${found.join(', ')}.`);
  return found[0] ?? given;
}
