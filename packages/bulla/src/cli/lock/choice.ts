import { createInterface } from 'node:readline';
import { BullaError } from '@bulla/core/error';
import { type Lock, matchNames, riskOf } from '@bulla/core/lock';
import { visible } from '@bulla/core/text';
import type { Command } from 'commander';
import type { Surface } from '../../mcp/index.ts';
import { isAnswered, type Terminal, terminal } from '../terminal/ask.ts';
import { counted } from '../terminal/words.ts';

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

/** Whether a choice was asked for; without one, that of the lockfile stands. */
export function isChoosing({ only, except, choose }: ChoiceOptions): boolean {
  return only !== undefined || except !== undefined || choose === true;
}

/**
 * The names of the tools that are left out on purpose. Throws `LOCK_SELECTION` for a name that no tool has, and where
 * nobody can be asked.
 */
export async function leftOutOf(
  { tools }: Surface,
  old: Lock | null,
  options: ChoiceOptions,
  at: Terminal = terminal,
): Promise<ReadonlySet<string>> {
  const names = tools.map((tool) => tool.get('name') as string);
  const before = new Set(names.filter((name) => old?.native?.leftOut.has(name)));
  if (!isChoosing(options)) return before;
  const { only = ['*'], except = [] } = options;
  const named =
    names.length === 0 && options.only === undefined ? new Set<string>() : matchNames(only, names);
  for (const name of matchNames(except, names)) named.delete(name);
  if (!options.choose) return new Set(names.filter((name) => !named.has(name)));
  if (!isAnswered(at))
    throw new BullaError('LOCK_SELECTION', 'There is no terminal to ask on; name the tools with --only.');
  const kept = await choose(
    tools.filter((tool) => named.has(tool.get('name') as string)),
    before,
    at,
  );
  return new Set(names.filter((name) => !kept.has(name)));
}

const MAX_DESCRIPTION = 60;

/** Shows the tools with their numbers, and asks until an answer can be read; an input that ends is no answer. */
async function choose(
  tools: Surface['tools'],
  before: ReadonlySet<string>,
  { input, output }: Terminal,
): Promise<ReadonlySet<string>> {
  const text = (tool: (typeof tools)[number], key: string) => {
    const value = tool.get(key);
    return typeof value === 'string' ? value : '';
  };
  const names = tools.map((tool) => text(tool, 'name'));
  const rows = tools.map((tool, i) => {
    const [name, description] = [text(tool, 'name'), text(tool, 'description')];
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
