import { createInterface } from 'node:readline';
import { BullaError } from '@bulla/core/error';
import { riskOf } from '@bulla/core/lock';
import { counted, visible } from '@bulla/core/text';
import type { ToolChoice } from '../../app/index.ts';
import type { Surface } from '../../mcp/index.ts';
import type { Command } from '../command.ts';
import { isAnswered, type Terminal, terminal } from '../terminal/ask.ts';
import { textOf } from './scan-document.ts';

/** Which of the tools are approved. */
export interface ChoiceOptions {
  only?: string[];
  except?: string[];
  choose?: boolean;
}

export function choiceOptions(command: Command): Command {
  return command
    .option('--only <name...>', 'lock these tools and leave out the others; * stands for any text')
    .option('--except <name...>', 'leave out these tools; * stands for any text')
    .option('--choose', 'ask on the terminal which tools to lock');
}

export function choiceOf({ only, except, choose }: ChoiceOptions): ToolChoice {
  return { only, except, ...(choose && { choose: (tools, before) => chooseTools(tools, before) }) };
}

const MAX_DESCRIPTION = 60;

/**
 * Shows the tools with their numbers, and asks until an answer can be read; an input that ends is no answer. Rejects
 * with `LOCK_SELECTION` then, and where nobody can be asked.
 */
export async function chooseTools(
  tools: Surface['tools'],
  before: ReadonlySet<string>,
  at: Terminal = terminal,
): Promise<ReadonlySet<string>> {
  if (!isAnswered(at))
    throw new BullaError('LOCK_SELECTION', 'There is no terminal to ask on; name the tools with --only.');
  const { input, output } = at;
  const names = tools.map((tool) => textOf(tool, 'name'));
  const rows = tools.map((tool, i) => {
    const [name, description] = [textOf(tool, 'name'), textOf(tool, 'description')];
    const mark = before.has(name) ? ' (left out so far)' : '';
    const cut =
      description.length > MAX_DESCRIPTION ? `${description.slice(0, MAX_DESCRIPTION)}…` : description;
    return `${String(i + 1).padStart(4)}  ${riskOf(tool).level.padEnd(6)}  ${visible(name)}${mark}  ${visible(cut.toWellFormed())}`;
  });
  output.write(`The server offers ${counted(names.length, 'tool')}:\n${rows.join('\n')}\n`);
  const ask = () => output.write('Which may be used? Numbers and ranges (1,3-5), all, or none: ');
  const lines = createInterface({ input, output, terminal: false });
  try {
    ask();
    for await (const answer of lines) {
      const chosen = parseChoice(answer, names.length);
      if (chosen !== null) return new Set([...chosen].map((number) => names[number - 1]!));
      output.write(`That is none of the numbers 1 to ${names.length}.\n`);
      ask();
    }
    throw new BullaError('LOCK_SELECTION', 'No tools were chosen.');
  } finally {
    lines.close();
  }
}

/** Null for what cannot be read: nothing is guessed. */
export function parseChoice(answer: string, count: number): ReadonlySet<number> | null {
  const word = answer.trim().toLowerCase();
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  if (word === 'all') return new Set(range(1, count));
  if (word === 'none') return new Set();
  const chosen = new Set<number>();
  for (const part of word.split(/[\s,]+/).filter((piece) => piece !== '')) {
    const [, first, last = first] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (!(from >= 1 && from <= to && to <= count)) return null;
    for (const number of range(from, to)) chosen.add(number);
  }
  return chosen.size === 0 ? null : chosen;
}
