import { expect, test } from 'vitest';
import { createRepeats } from './repeats.ts';

const ID = ['6b1fd2a0-0000-4000-8000-000000000001', '6b1fd2a0-0000-4000-8000-000000000002'];

test('a line that comes again is counted, and told with the next other line or when a minute is over', () => {
  const told: string[] = [];
  const { tell, flush } = createRepeats((line) => told.push(line));
  for (let i = 0; i < 95; i++) tell('tools/call: killed');
  expect(told).toEqual(['tools/call: killed']);
  tell(`the outcome of ${ID[0]} is not recorded`);
  tell(`the outcome of ${ID[1]} is not recorded`);
  tell('tools/call: killed');
  flush();
  flush();
  tell('tools/call: killed');
  expect(told).toEqual([
    'tools/call: killed',
    'tools/call: killed (and 94 more like it)',
    `the outcome of ${ID[0]} is not recorded`,
    'tools/call: killed (and 1 more like it)',
    `the outcome of ${ID[0]} is not recorded (and 1 more like it)`,
    'tools/call: killed',
  ]);
});

test('what is kept to count has an end', () => {
  const told: string[] = [];
  const { tell } = createRepeats((line) => told.push(line));
  for (const line of Array.from({ length: 65 }, (_, i) => `line ${i}`)) tell(line);
  tell('line 0');
  expect([told.length, told.at(-1)]).toEqual([66, 'line 0']);
});
