import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { type Loose, manifestText, toolOf } from '../../test/manifest.ts';
import { diffManifests } from './diff.ts';
import { CHANGE_CODES } from './diff-codes.ts';
import { diffJson } from './report.ts';
import { readManifest } from './validate.ts';

const name = fc.constantFrom('read', 'write', 'list', 'send', 'find');
const scope = fc.constantFrom('a:b', 'c:d', 'e:f');
const schema = fc.record(
  {
    properties: fc.constantFrom({}, { x: { type: 'string' } }, { x: { type: 'integer' }, y: {} }),
    required: fc.constantFrom([], ['x']),
    title: fc.constantFrom('One', 'Two'),
  },
  { requiredKeys: [] },
);
const tool = fc.record({
  name,
  schema,
  permission_scope: scope,
  extra: fc.record(
    { timeout_ms: fc.constantFrom(10000, 20000), required: fc.boolean() },
    { requiredKeys: [] },
  ),
  key: fc.constantFrom('k.1', 'k.2', undefined),
});
const manifest = fc
  .record({
    tools: fc.uniqueArray(tool, { selector: (one) => one.name }),
    levels: fc.tuple(...[0, 1, 2].map(() => fc.constantFrom('low', 'medium', 'high'))),
    order: fc.shuffledSubarray(['a:b', 'c:d', 'e:f'], { minLength: 3 }),
    extra: fc.constantFrom([], ['g:h'], ['i:j']),
    voice: fc.boolean(),
    description: fc.constantFrom('d.1', undefined),
  })
  .map(({ tools, levels, order, extra, voice, description }) =>
    readManifest(
      manifestText((m: Loose) => {
        m.tools = tools.map((one) => ({
          ...toolOf(one.name, one.schema),
          permission_scope: one.permission_scope,
          ...one.extra,
          ...(one.key === undefined ? {} : { description_i18n_key: one.key }),
        }));
        m.permission_scopes = [...order, ...extra].map((id, i) => ({
          id,
          label_i18n_key: `label.${i}`,
          sensitivity: levels[i] ?? 'low',
          ...(description === undefined ? {} : { description_i18n_key: description }),
        }));
        m.capability_flags.supports_voice = voice;
      }),
    ),
  );

const runs = { numRuns: 300 * inject('soak') };

test('there are changes exactly when the hashes differ', () => {
  fc.assert(
    fc.property(manifest, manifest, (before, after) => {
      const { breaking, non_breaking } = diffManifests(before, after);
      expect(breaking.length + non_breaking.length > 0).toBe(before.hash !== after.hash);
    }),
    runs,
  );
});

test('a tool that can be called with fewer questions than before is always in a breaking change', () => {
  const LEVELS = ['low', 'medium', 'high'];
  fc.assert(
    fc.property(manifest, manifest, (before, after) => {
      const level = (side: typeof before, id: string) =>
        LEVELS.indexOf(side.permission_scopes.find((one) => one.id === id)!.sensitivity);
      const { breaking } = diffManifests(before, after);
      for (const now of after.tools) {
        const old = before.tools.find((one) => one.name === now.name);
        if (old === undefined) continue;
        const milder = level(after, now.permission_scope) < level(before, old.permission_scope);
        if (milder || old.permission_scope !== now.permission_scope) expect(breaking).not.toEqual([]);
      }
    }),
    runs,
  );
});

test('the table alone decides, and the JSON has what the specification names', () => {
  fc.assert(
    fc.property(manifest, manifest, (before, after) => {
      const diff = diffManifests(before, after);
      for (const { code } of diff.breaking) expect(CHANGE_CODES[code].breaking).toBe(true);
      for (const { code } of diff.non_breaking) expect(CHANGE_CODES[code].breaking).toBe(false);
      const { breaking, non_breaking } = JSON.parse(diffJson(diff));
      for (const change of [...breaking, ...non_breaking])
        expect(Object.keys(change)).toEqual(['code', 'path', 'message']);
    }),
    runs,
  );
});
