import type { Showing, Words } from '@bulla/core/consent';
import type { DiffPart } from '@bulla/core/text';
import { phrasesOf } from './phrases.ts';

/** A longer question is not shown by hosts as a whole, and a part of it is no question. */
const MAX_TEXT = 6000;

/**
 * A question about a call as plain text, for a host that shows it to a person: all of it, or null where it is too long.
 * Hidden characters are visible in what it is made of.
 */
export function questionText(showing: Showing, words: Words): string | null {
  const phrases = phrasesOf(words);
  const { agent, user, server, server_tool, scope, scope_label, raised, hidden, previous, changed } = showing;
  const tool = server === null ? showing.tool : `${showing.tool} = ${server}/${server_tool}`;
  const why = raised.length === 0 ? null : raised.map((reason) => words.terms[reason]).join(', ');
  const time = (at: number) => new Date(at).toISOString();
  const lines = [
    phrases.asks(agent, user),
    phrases.toCall(tool, showing.description, ''),
    phrases.arguments(showing.arguments),
    ...(hidden.length === 0 ? [] : [phrases.hidden(hidden.length)]),
    phrases.scope(
      scope_label === scope ? scope : `${scope_label} (${scope})`,
      words.terms[showing.sensitivity],
      why,
    ),
    ...(previous === null ? [] : [phrases.lastAllowed(time(previous.at))]),
    ...showing.redefined.map((what) => phrases.redefined[what]),
    ...(changed === null ? [] : [phrases.changed(changed.map(marked).join(''))]),
    phrases.when(time(showing.opened_at), showing.expires_at === null ? null : time(showing.expires_at)),
  ];
  const text = lines.map((line) => line.trimEnd()).join('\n');
  return text.length > MAX_TEXT ? null : text;
}

function marked({ kind, text }: DiffPart): string {
  if (kind === 'same') return text;
  return kind === 'added' ? `{+${text}+}` : `[-${text}-]`;
}
