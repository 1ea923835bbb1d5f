import { parse } from '@bulla/core/json';
import { expect, test } from 'vitest';
import type { ShownLink, ShownTool } from '../../capability/index.ts';
import { Shown } from './shown.ts';

const tool = (name: string, digest: string | null = `sha256:${name}`): ShownTool => ({
  definition: parse(JSON.stringify({ name })) as ShownTool['definition'],
  digest,
});

/** Links that say of which tools they are, and how often one was made. */
function shownOf() {
  const made: string[] = [];
  const shown = new Shown(async (tools) => {
    made.push(tools.map(({ definition }) => definition.get('name')).join());
    return { capability: { static: made.at(-1)! }, fingerprints: new Map() } satisfies ShownLink;
  });
  return { shown, made, link: async () => (await shown.link())?.capability.static ?? null };
}

test('a host that listed nothing was shown nothing', async () => {
  expect(await shownOf().link()).toBe(null);
});

test('the link is of the last complete list, and made once for it', async () => {
  const { shown, made, link } = shownOf();
  shown.gave(null, [tool('a'), tool('b')], 10, null);
  expect([await link(), await link()]).toEqual(['a,b', 'a,b']);
  shown.gave(null, [tool('a'), tool('b')], 10, null);
  expect(await link()).toBe('a,b');
  expect(made).toEqual(['a,b']);
  // Of the same name, and changed.
  shown.gave(null, [tool('a'), tool('b', 'sha256:other')], 10, null);
  expect([await link(), made.length]).toEqual(['a,b', 2]);
  shown.gave(null, [], 10, null);
  expect(await link()).toBe('');
});

test('pages count when the last one was given, also those of several hosts at a time', async () => {
  const { shown, link } = shownOf();
  shown.gave(null, [tool('x')], 10, null);
  shown.gave(null, [tool('a')], 10, 'p2');
  expect(await link()).toBe('x');
  shown.gave(null, [tool('a')], 10, 'q2');
  shown.gave('p2', [tool('b')], 10, 'p3');
  shown.gave('q2', [tool('c')], 10, null);
  expect(await link()).toBe('a,c');
  shown.gave('p3', [tool('d')], 10, null);
  expect(await link()).toBe('a,b,d');
});

test('lists that are never read to their end are forgotten, the oldest first', async () => {
  const { shown, link } = shownOf();
  for (let i = 0; i <= 16; i++) shown.gave(null, [tool(`t${i}`)], 10, `c${i}`);
  shown.gave('c0', [tool('end')], 10, null);
  expect(await link()).toBe(null);
  shown.gave('c1', [tool('end')], 10, null);
  expect(await link()).toBe('t1,end');
});

test('of a list that is too long nothing is said, nor of one before it', async () => {
  for (const [count, bytes] of [
    [10_001, 10],
    [1, 10 * 1024 * 1024 + 1],
  ] as const) {
    const { shown, link } = shownOf();
    shown.gave(null, [tool('a')], 10, null);
    expect(await link()).toBe('a');
    shown.gave(
      null,
      Array.from({ length: count }, (_, i) => tool(`${i}`)),
      bytes,
      null,
    );
    expect(await link()).toBe(null);
    shown.gave(null, [tool('a')], 10, null);
    expect(await link()).toBe('a');
  }
});

test('what could not be recorded is tried again with the next call', async () => {
  let failures = 2;
  const shown = new Shown(async () => {
    if (failures-- > 0) throw new Error('the store is away');
    return null;
  });
  shown.gave(null, [tool('a')], 10, null);
  await expect(shown.link()).rejects.toThrow('the store is away');
  await expect(shown.link()).rejects.toThrow('the store is away');
  expect(await shown.link()).toBe(null);
});
