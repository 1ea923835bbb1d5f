import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repo } from '../../../test/run.ts';
import { hostRequest, METHODS } from '../gates/methods.ts';

const document = readFileSync(join(repo, 'docs/eras.md'), 'utf8');

/** The rows of the table under a heading: the method, and what becomes of it in each of the four cells. */
function rows(heading: string): string[][] {
  const [, section = ''] = document.split(`### ${heading}\n`);
  return section
    .split(/\n#/)[0]!
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

test.each(Object.entries(METHODS))(
  'docs/eras.md says what becomes of each method: %s',
  (heading, methods) => {
    const found = rows(heading);
    expect(found.map(([method]) => method)).toEqual(methods.map((method) => `\`${method}\``));
    for (const cells of found) {
      expect(cells).toHaveLength(5);
      expect(cells.every((cell) => cell !== '')).toBe(true);
    }
  },
);

test('docs/eras.md refuses the requests that are not of the era of the host', () => {
  for (const [method, ...cells] of rows('Requests of the host')) {
    const { eras } = hostRequest(method!.slice(1, -1));
    const isRefused = cells.map((cell) => cell === 'refused: not of this era');
    const [old, young] = [!eras.includes('initialize'), !eras.includes('stateless')];
    expect([method, ...isRefused]).toEqual([method, old, young, old, young]);
  }
});
