import type { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { programOf } from './cli.ts';

/** Every command with its subcommands, and their options. */
function* optionsOf(command: Command, path: string): Generator<[string, Option]> {
  for (const option of command.options) yield [`${path} ${option.long}`, option];
  for (const sub of command.commands) yield* optionsOf(sub, `${path} ${sub.name()}`);
}

/** What help says the default is, where it is something to type. */
function shownDefault({ defaultValue, defaultValueDescription, description }: Option): string | null {
  if (typeof defaultValue === 'number' || typeof defaultValue === 'string')
    return defaultValueDescription ?? String(defaultValue);
  if (typeof defaultValue === 'object' && defaultValue !== null && !Array.isArray(defaultValue))
    return defaultValueDescription ?? JSON.stringify(defaultValue);
  return /\(default: ([0-9][0-9a-z.]*)\)/.exec(description)?.[1] ?? null;
}

async function everyCommand(): Promise<Command> {
  return programOf(
    () => async () => {},
    () => true,
  );
}

test('every default that help shows can be typed, and means the default', async () => {
  const program = await everyCommand();
  const tried: string[] = [];
  for (const [name, option] of optionsOf(program, 'bulla')) {
    const shown = shownDefault(option);
    if (shown === null || (option.parseArg === undefined && option.argChoices === undefined)) continue;
    const parsed = option.parseArg === undefined ? shown : option.parseArg(shown, undefined as never);
    if (option.defaultValue !== undefined) expect(parsed, name).toEqual(option.defaultValue);
    tried.push(name);
  }
  expect(tried).toEqual(
    expect.arrayContaining([
      'bulla lock --timeout',
      'bulla check --fail-on',
      'bulla guard --timeout',
      'bulla guard --recheck',
      'bulla envelope new --ttl',
      'bulla envelope authorize --not-before',
      'bulla witness serve --listen',
    ]),
  );
});

test('help says of an option that collects values that it may be repeated, not that its default is []', async () => {
  const program = await everyCommand();
  const help = program.createHelp();
  const described = [...optionsOf(program, 'bulla')].map(([name, option]) => [
    name,
    help.optionDescription(option),
  ]);
  expect(described.filter(([, text]) => text!.includes('default: []'))).toEqual([]);
  expect(Object.fromEntries(described)['bulla scan --header']).toBe(
    'a header "Name: value" for a server at an address (may be repeated)',
  );
});

test('an option with one value may be given only once; one that collects values may be repeated', async () => {
  const program = await everyCommand();
  const parse = (...words: string[]) => program.parseAsync(words, { from: 'user' });
  await expect(parse('chain', 'verify', '--chain', 'a', '--chain', 'b')).rejects.toThrow(
    "error: option '--chain <name>' may be given only once",
  );
  await expect(parse('chain', 'verify', '--checkpoint', 'a', '--checkpoint', 'b')).resolves.toBe(program);
  await expect(parse('grants', 'grant', '--agent', 'x', '--scope', 'a', '--scope', 'b')).resolves.toBe(
    program,
  );
});
