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

test('every default that help shows can be typed, and means the default', async () => {
  const program = await programOf(
    () => async () => {},
    () => true,
  );
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
