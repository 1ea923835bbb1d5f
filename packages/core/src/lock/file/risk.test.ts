import { expect, test } from 'vitest';
import { object } from '../../../test/surface.ts';
import { riskLevel, riskOf } from '../index.ts';

const risk = (members: object) => {
  const { level, reasons } = riskOf(object(JSON.stringify(members)));
  return [level, ...reasons];
};

test.each([
  [
    'a destructive tool without a word of danger',
    { name: 'cleanup', annotations: { destructiveHint: true } },
    ['HIGH', 'destructiveHint'],
  ],
  ['rm inside a word', { name: 'get_information', description: 'Performs a format check.' }, ['LOW']],
  ['rm as a word', { name: 'rm' }, ['MEDIUM', 'rm']],
  ['snake case', { name: 'remove_file' }, ['MEDIUM', 'remove']],
  ['kebab case', { name: 'file-remove' }, ['MEDIUM', 'remove']],
  ['camel case', { name: 'removeFile' }, ['MEDIUM', 'remove']],
  ['an acronym before a word', { name: 'FSWrite' }, ['HIGH', 'write', 'fs']],
  [
    'other forms of a word',
    { name: 'a', description: 'Deletes it, after running a check, and killed.' },
    ['HIGH', 'delete', 'run', 'kill'],
  ],
  ['words in capitals', { name: 'SUDO', description: 'BASH' }, ['HIGH', 'bash', 'sudo']],
  [
    'harmless, as it says itself',
    { name: 'shell', description: 'Executes.', annotations: { readOnlyHint: true, destructiveHint: false } },
    ['HIGH', 'shell', 'execute'],
  ],
  [
    'a tool that changes something',
    { name: 'a', annotations: { readOnlyHint: false } },
    ['MEDIUM', 'readOnlyHint'],
  ],
  [
    'the same with a word of danger',
    { name: 'kill', annotations: { readOnlyHint: false } },
    ['MEDIUM', 'kill', 'readOnlyHint'],
  ],
  [
    'a tool that changes something and destroys nothing',
    { name: 'a', annotations: { readOnlyHint: false, destructiveHint: false } },
    ['LOW'],
  ],
  ['annotations that are none', { name: 'a', annotations: 'destructiveHint' }, ['LOW']],
])('%s', (_, members, expected) => {
  expect(risk(members)).toEqual(expected);
});

test("the released program's rule stays as it is", () => {
  expect([riskLevel('cleanup', ''), riskLevel('get_information', '')]).toEqual(['LOW', 'MEDIUM']);
});
