import { expect, test } from 'vitest';
import { between, tool } from '../../../test/drift.ts';
import { inspectText, references, visible, wordDiff } from '../../text/index.ts';
import { driftText } from '../index.ts';
import { phrasesIn } from './orders.ts';

// A message holds 10 MiB, and so does one text in it at worst: no scan may end because such a run overflows a stack.
const run = (unit: string): string => unit.repeat(6_000_000 / unit.length);

test('a run of marks is told in parts, and shown with at most four of them', () => {
  const marks = '\u0315\u0300'.repeat(1_500_000);
  const found = inspectText(`a${marks}`);
  expect(found[0]).toMatchObject({ code: 'combining-run', offset: 1, length: 65_535 });
  expect(found.reduce((sum, { length }) => sum + length, 0)).toBe(marks.length);
  const shown = visible(`a${marks.slice(0, 200_000)}`);
  expect(shown.length).toBe(1 + 4 + (200_000 - 4) * '⟨U+0300⟩'.length);
});

test('words, paths and addresses of millions of letters end no scan', () => {
  expect(phrasesIn(run('a\u0430'), 'mixed-script')).toHaveLength(1);
  expect(phrasesIn(run('/a'), 'encoded-text')).toHaveLength(1);
  expect(references(run('/a')).paths[0]).toMatchObject({ offset: 0, length: 513 });
  for (const unit of ['\u00e9', '\u0315']) {
    const parts = wordDiff('', run(unit));
    expect(parts.map(({ kind, text }) => [kind, text.length])).toEqual([['added', 6_000_000]]);
  }
});

test('more differences than a call has room for are all told', () => {
  const found = between({ tools: [tool('a')] }, { tools: [tool('b')] });
  const items = Array.from({ length: 130_000 }, () => found.items[0]!);
  expect(driftText({ ...found, items }).match(/^ {2}\S/gm)).toHaveLength(130_000);
});
