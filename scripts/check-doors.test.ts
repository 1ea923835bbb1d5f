import { expect, test } from 'vitest';
import { complaints } from './check-doors.mjs';

const CORE = JSON.stringify({ exports: { '.': {}, './*': {} } });
const SHELL = JSON.stringify({ exports: { '.': {}, './keys': {} } });

/** What is said about a repository with these files, next to the two packages. */
function said(files: Record<string, string>) {
  const all = { 'packages/core/package.json': CORE, 'packages/bulla/package.json': SHELL, ...files };
  return complaints(new Map(Object.entries(all)));
}

const JSON_DOOR = 'packages/core/src/json/index.ts';
const UNUSED = [`${JSON_DOOR}: nobody outside the folder uses parse`];

test.each([
  ['packages/core/src/canon/x.ts', "import { parse } from '../json/index.ts';"],
  ['packages/core/src/canon/x.test.ts', "import {\n  other,\n  parse as read,\n} from '../json/index.ts';"],
  ['packages/core/test/x.ts', "import { parse } from '../src/json/index.ts';"],
  ['packages/bulla/src/cli/x.ts', "const { parse } = await import('@bulla/core/json');"],
  ['packages/bulla/src/cli/x.ts', "import * as json from '@bulla/core/json';\njson.parse('1');"],
  ['packages/core/src/index.ts', "export { parse as read } from './json/index.ts';"],
  ['examples/x.mjs', "import { parse } from '@bulla/core/json';"],
  ['docs/canon.md', 'Read it with `parse`.'],
  ['docs/canon.md', 'Read it with `parse(text)`.'],
  ['README.md', "```ts\nconst value = json.parse('1');\n```\n"],
])('a name is used in %s by %j', (file, text) => {
  const found = said({ [JSON_DOOR]: "export { parse } from './parse.ts';", [file]: text });
  expect(found.filter((complaint) => complaint.startsWith(JSON_DOOR))).toEqual([]);
});

test.each([
  ['packages/core/src/json/x.ts', "import { parse } from './index.ts';"],
  ['packages/core/src/json/x.test.ts', "import { parse } from './parse.ts';"],
  ['packages/core/src/canon/x.ts', "import { parse } from './own.ts';"],
  ['packages/core/src/canon/x.ts', "import { other } from '../json/index.ts';\nparse();"],
  ['packages/core/test/doors.test.ts', "import * as parse from '../src/json/index.ts';"],
  ['docs/canon.md', 'We parse it, `bulla parse --strict` does too.'],
])('a name is not used in %s by %j', (file, text) => {
  expect(said({ [JSON_DOOR]: "export { parse } from './parse.ts';", [file]: text })).toEqual(UNUSED);
});

test('what a door declares itself is looked at too', () => {
  expect(said({ [JSON_DOOR]: 'export function parse() {}' })).toEqual(UNUSED);
  expect(said({ [JSON_DOOR]: "import { parse } from './parse.ts';" })).toEqual([]);
});

test('a published door may export the types in the signatures of what is documented', () => {
  const types =
    'export interface Options {\n  readonly depth: Depth;\n}\nexport type Depth = number;\nexport type Lost = 1;\n';
  const source = `${types}export function parse(text: string, options?: Options) {\n  const lost: Lost = 1;\n}\n`;
  const door = "export { type Depth, type Lost, type Options, parse } from './parse.ts';";
  const docs = { 'docs/canon.md': '`parse`' };
  expect(said({ ...docs, [JSON_DOOR]: door, 'packages/core/src/json/parse.ts': source })).toEqual([
    `${JSON_DOOR}: nobody outside the folder uses Lost`,
  ]);
  const published = { 'packages/bulla/src/keys/index.ts': door, 'packages/bulla/src/keys/parse.ts': source };
  expect(said({ ...docs, ...published })).toHaveLength(1);
  const inner = { 'packages/bulla/src/os/index.ts': door, 'packages/bulla/src/os/parse.ts': source };
  expect(said({ ...docs, ...inner })).toHaveLength(4);
});
