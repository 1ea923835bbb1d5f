import { expect, test } from 'vitest';
import { guardOptions } from '../../discover/index.ts';
import { Command } from '../command.ts';
import { define } from './guard.ts';

test('discover knows every option of guard, and how many words it takes', () => {
  const command = new Command('guard', () => async () => {});
  define(command);
  const found = { valued: [] as string[], listed: [] as string[], bare: [] as string[] };
  for (const { short, long, required, variadic } of command.options) {
    const kind = variadic ? 'listed' : required ? 'valued' : 'bare';
    for (const name of [short, long]) if (name !== undefined && name !== null) found[kind].push(name);
  }
  const { valued, listed, plain, weaker } = guardOptions;
  expect(found.valued.sort()).toEqual([...valued].sort());
  expect(found.listed.sort()).toEqual([...listed].sort());
  expect(found.bare.sort()).toEqual([...plain, ...weaker].sort());
});
