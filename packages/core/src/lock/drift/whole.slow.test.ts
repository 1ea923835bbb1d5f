import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { lockOf } from '../../../test/drift.ts';
import { options, type SurfaceText, surface } from '../../../test/surface.ts';
import { DRIFT_CODES, drift, NO_AUTHORIZATION } from '../index.ts';

const WORDS = ['Reads', 'a', 'file', 'send_mail', 'https://a.example/', '\u200b', 'never tell', 'x'];
const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }).map((words) => words.join(' '));
const leaf = fc.oneof(text, fc.integer({ min: 0, max: 3 }), fc.boolean(), fc.constant(null));
const schemaOf = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.record(
    {
      type: fc.constantFrom('object', 'string', 'integer'),
      description: text,
      title: text,
      default: leaf,
      enum: fc.array(leaf, { maxLength: 3 }),
      minimum: fc.integer({ min: 0, max: 3 }),
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'c d e'), inner, { maxKeys: 2 }),
      required: fc.subarray(['a', 'b']),
      items: inner,
      'x-mcp-header': text,
      anyOf: fc.array(inner, { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: [] },
  );
const schema = schemaOf(schemaOf(fc.constant(true)));
const members = fc.record(
  {
    ...{ title: text, description: text, _meta: fc.dictionary(text, leaf, { maxKeys: 2 }) },
    annotations: fc.dictionary(fc.constantFrom('title', 'readOnlyHint', 'idempotentHint', 'z'), leaf),
    icons: fc.array(fc.record({ src: text }), { maxLength: 1 }),
  },
  { requiredKeys: [] },
);
const tool = fc
  .tuple(
    members,
    fc.record({ inputSchema: schema, outputSchema: schema, vendor: leaf }, { requiredKeys: [] }),
  )
  .map(([one, other]) => ({ ...one, ...other }));
const argument = fc.record(
  { name: fc.constantFrom('a', 'b'), description: text, required: fc.boolean(), y: leaf },
  { requiredKeys: ['name'] },
);
const prompt = fc
  .tuple(members, fc.uniqueArray(argument, { selector: ({ name }) => name, maxLength: 2 }))
  .map(([one, list]) => ({ ...one, arguments: list }));

const server = fc
  .record({
    tools: fc.array(tool, { maxLength: 3 }),
    prompts: fc.array(prompt, { maxLength: 2 }),
    resources: fc.array(members, { maxLength: 2 }),
    instructions: fc.option(text),
    capabilities: fc.dictionary(fc.constantFrom('tools', 'x'), fc.dictionary(text, leaf, { maxKeys: 1 })),
  })
  .map(({ tools, prompts, resources, instructions, capabilities }): SurfaceText => {
    const named = (key: string, list: readonly unknown[]) =>
      list.map((one, i) => JSON.stringify({ [key]: `${key}${i}`, ...(one as object) }));
    return {
      ...{ tools: named('name', tools), prompts: named('name', prompts), resources: named('uri', resources) },
      ...{ instructions, capabilities: JSON.stringify(capabilities) },
    };
  });

const identity = { identity: options.identity, authorization: NO_AUTHORIZATION };

test('what differs is told, what does not differ is not, and both ways round', () => {
  fc.assert(
    fc.property(server, server, (a, b) => {
      const [before, after] = [lockOf(a), lockOf(b)];
      const text = (lock: typeof before) =>
        JSON.stringify([lock.native!.instructions.digest, lock.native!.capabilities.digest]);
      const digests = (lock: typeof before, kind: 'tools' | 'prompts' | 'resources') =>
        new Map([...lock.native![kind]].map(([name, { digest }]) => [name, digest]));
      const found = drift(before, surface(b), identity);
      const touched = new Set(found.items.map(({ path }) => path.split('/').slice(1, 3).join('/')));
      for (const kind of ['tools', 'prompts', 'resources'] as const) {
        const [was, is] = [digests(before, kind), digests(after, kind)];
        const gone = new Set(found.items.flatMap(({ from }) => from ?? []));
        for (const name of new Set([...was.keys(), ...is.keys()])) {
          const isTold = touched.has(`${kind}/${name}`) || gone.has(name);
          expect([kind, name, isTold]).toEqual([kind, name, was.get(name) !== is.get(name)]);
        }
      }
      if (text(before) === text(after)) expect(touched.has('instructions')).toBe(false);
      else expect([...touched].some((at) => /^(?:instructions|capabilities)/.test(at))).toBe(true);
      expect(drift(before, after).items).toEqual(found.items);
      expect(drift(before, surface(a), identity).items).toEqual([]);
      expect(drift(after, before).items.length > 0).toBe(found.items.length > 0);
      for (const { code, severity, sentence } of found.items) {
        expect(Object.hasOwn(DRIFT_CODES, code)).toBe(true);
        // No difference is worse than its table says.
        if (severity === 'critical') expect(DRIFT_CODES[code].severity).toBe('critical');
        if (severity === 'moderate') expect(DRIFT_CODES[code].severity).not.toBe('info');
        expect(sentence).toMatch(/^[A-Z].*\.$/su);
      }
    }),
    { numRuns: 40 * inject('soak') },
  );
});
