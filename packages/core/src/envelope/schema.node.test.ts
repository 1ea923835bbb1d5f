import { registerSchema, validate } from '@hyperjump/json-schema/draft-2020-12';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { hasVectors, readText } from '#test-files';
import { envelopeJson, type Json, type JsonRecord } from '../../test/envelope.ts';
import { explainEnvelope } from './index.ts';

// The checks are written by hand, so that numbers are judged by their digits and paths and sentences are ours. The
// published schema judges the same structures: whatever a mutation makes of an envelope, both agree. Left out is
// where they part on purpose: other spellings of an integer, such as 1.0, integers beyond 2^53-1, and amounts with a
// leading zero, which the words of the specification forbid and its schema allows.

const STRINGS = [
  ...['', 'a', 'AB', 'A_1', 'ab', '0', '12', '1.5', '-1', 'caller', 'tenant', 'global', 'CALLER', '0xabc1'],
  ...[64, 65, 80, 81, 128, 129, 256, 257, 512, 513].flatMap((n) => [
    'A'.repeat(n),
    '7'.repeat(n),
    '𝄞'.repeat(n),
  ]),
  'AB\n',
  '\u0661',
];
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Json>(null, true, false, 0, 1, 2, -1, 36, 37, 0.5, [], {}, [1]) },
  { weight: 6, arbitrary: fc.constantFrom(...STRINGS) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
  {
    weight: 1,
    arbitrary: fc.string({ maxLength: 300, unit: 'binary' }).filter((text) => text.isWellFormed()),
  },
);

type Edit = (root: JsonRecord) => void;

/** The objects of the envelope, and so also those that an earlier edit put there. */
function objects(root: JsonRecord): JsonRecord[] {
  const inner = Object.values(root).filter(
    (part) => typeof part === 'object' && part !== null && !Array.isArray(part),
  );
  return [root, ...(inner as JsonRecord[])];
}

const names = fc.constantFrom(
  ...'version intent_id rail type network chain_id contract actor caller role target to asset asset_class'.split(
    ' ',
  ),
  ...'amount decimals constraints ttl nonce replay_scope policy_binding policy_id metadata created_at'.split(
    ' ',
  ),
  ...['', 'Version', 'extra', 'toString', 'constructor'],
);

const edit: fc.Arbitrary<Edit> = fc
  .tuple(fc.nat(), fc.nat(), value, names, fc.constantFrom('set', 'set', 'set', 'remove', 'add', 'move'))
  .map(([where, which, to, name, kind]) => (root) => {
    const found = objects(root);
    const holder = found[where % found.length]!;
    const keys = Object.keys(holder);
    const key = keys[which % Math.max(keys.length, 1)] ?? name;
    if (kind === 'remove') delete holder[key];
    else if (kind === 'add') holder[name] = structuredClone(to);
    else if (kind === 'move')
      holder[name] = structuredClone(Object.hasOwn(holder, key) ? holder[key]! : null);
    else holder[key] = structuredClone(to);
  });

/** The usual run is the same each time; the long one seeks new cases. */
const repeatable = inject('soak') === 1 ? { seed: 1 } : {};

describe.skipIf(!hasVectors)('the published JSON Schema', () => {
  test('accepts and refuses the same structures', async () => {
    const uri = 'urn:execution-envelope:v1:schema';
    registerSchema(JSON.parse(await readText('envelope/schema.json')), uri);
    const accepts = await validate(uri);
    const tally = { accepted: 0, refused: 0 };
    const agree = (root: JsonRecord) => {
      const ours = explainEnvelope(JSON.stringify(root));
      const theirs = accepts(root as never).valid;
      tally[theirs ? 'accepted' : 'refused']++;
      expect(ours.length === 0, JSON.stringify([root, ours])).toBe(theirs);
    };
    agree(envelopeJson());
    const zeros = envelopeJson();
    (zeros.target as JsonRecord).amount = '007';
    expect(accepts(zeros as never).valid).toBe(true);
    expect(explainEnvelope(JSON.stringify(zeros)).map(({ path }) => path)).toEqual(['/target/amount']);
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
        const root = envelopeJson();
        for (const apply of edits) apply(root);
        agree(root);
      }),
      { numRuns: 3000 * inject('soak'), ...repeatable },
    );
    // Neither verdict is rare, or the agreement would mean little.
    expect(Math.min(tally.accepted, tally.refused)).toBeGreaterThan(200);
  });
});
