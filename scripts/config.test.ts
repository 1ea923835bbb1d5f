import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, onTestFinished, test } from 'vitest';
import { type LoadedConfig, readConfig } from '../packages/bulla/src/app/index.ts';
import { configDocument, exampleOf, membersOf, schemaDocument } from './config.mjs';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const document = read('docs/config.md');
const schema = JSON.parse(read('packages/bulla/schema/bulla.schema.json'));

interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Every schema in a schema, with the way to it. */
function* schemasIn(value: unknown, at = ''): Generator<[string, Schema]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value) && ('type' in value || 'enum' in value || 'anyOf' in value))
    yield [at, value as Schema];
  for (const [key, inner] of Object.entries(value))
    if (key !== 'examples') yield* schemasIn(inner, `${at}/${key}`);
}

function load(text: string): LoadedConfig {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'bulla.json'), text);
  return readConfig(join(folder, 'bulla.json'));
}

test('the published schema and the table of members are what `npm run config` writes', () => {
  expect(schema).toEqual(schemaDocument(document));
  expect(document).toBe(configDocument(document));
});

test('every object is closed, and every member is described', () => {
  const all = [...schemasIn(schema)];
  expect(all.length).toBeGreaterThan(100);
  for (const [at, { type, properties = {}, additionalProperties, propertyNames }] of all) {
    if (type !== 'object') continue;
    expect([at, additionalProperties === false || propertyNames !== undefined]).toEqual([at, true]);
    for (const [name, { description }] of Object.entries(properties))
      expect([at, name, /^[A-Z`].*\.$/.test(`${description}`)]).toEqual([at, name, true]);
  }
});

test('every example is one', () => {
  const ajv = new Ajv2020();
  let count = 0;
  for (const [at, { examples, ...rest }] of schemasIn(schema)) {
    for (const example of (examples ?? []) as unknown[]) {
      expect([at, example, ajv.compile(rest)(example)]).toEqual([at, example, true]);
      count++;
    }
  }
  expect(count).toBeGreaterThan(50);
});

test('the examples of the documentation can be loaded', () => {
  const [, full, small] = /```json\n(.*?)^```.*?```json\n(.*?)^```/ms.exec(document)!;
  const config = load(full!);
  expect([...config.servers.keys(), ...config.agents!.keys()]).toEqual([
    ...['files', 'tickets', 'mail', 'wiki'],
    ...['claude', 'nightly'],
  ]);
  expect(config.servers.get('files')!.tools!.get('write_file')).toEqual({
    record: { arguments: true, result: true, redact: ['/password'] },
    irreversible: true,
    envelope: {
      action: 'PUBLISH',
      bind: new Map([['/path', '/target/to']]),
      free: ['/content'],
      fixed: new Map([['/rail/network', 'intranet']]),
    },
  });
  expect(config.servers.get('tickets')!.headers!.get('X-Api-Key')).toBe(
    `file:${join(config.folder, 'secrets/api-key')}`,
  );
  expect([...load(small!).servers.keys()]).toEqual(['files']);
});

test('the first of them has every member', () => {
  const used = new Set<string>();
  const visit = (value: unknown, at: Schema, path: string): void => {
    if (Array.isArray(value) || typeof value !== 'object' || value === null) return;
    const forms = [at, ...((at.anyOf ?? []) as Schema[])];
    for (const [name, inner] of Object.entries(value)) {
      for (const form of forms) {
        const own = form.properties?.[name];
        if (own !== undefined) used.add(`${path}${name}`);
        if (own !== undefined) visit(inner, own, `${path}${name}.`);
        else if (typeof form.additionalProperties === 'object')
          visit(inner, form.additionalProperties as Schema, `${path}*.`);
      }
    }
  };
  visit(exampleOf(document), schema, '');
  const all: string[] = membersOf(schema, '').map(([name]: string[]) => name);
  // A reference to a secret can be a program wherever it stands; the example has one.
  const programs = [
    ...['servers.*.env.*', 'servers.*.headers.*', 'servers.*.tokens.*', 'agents.*.token', 'store.url'],
  ];
  expect(all.filter((name) => !used.has(name))).toEqual(programs.map((name) => `${name}.command`));
});
