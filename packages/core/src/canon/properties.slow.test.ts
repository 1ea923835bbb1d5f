import libraryCanonicalize from 'canonicalize';
import fc from 'fast-check';
import { parse as losslessParse, stringify as losslessStringify } from 'lossless-json';
import { describe, expect, inject, test } from 'vitest';
import { parse, stringify } from '../json/index.ts';
import { canonicalize, type ProfileId, profiles } from './index.ts';

const ids = Object.keys(profiles) as ProfileId[];
/** Profiles that take any JSON: the envelope takes integers only, the collation ASCII keys only. */
const general = ids.filter((id) => !id.startsWith('envelope') && id !== 'khora-icu' && id !== 'cps-ts');

const jsonText = fc.json({ maxDepth: 6, stringUnit: 'binary' });

/** JSON texts with numbers in all their spellings, which a generator of values never writes. */
const lexeme = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.bigInt({ min: 0n, max: 10n ** 25n }),
    fc.constantFrom('', '.0', '.50', '.125', '.1'),
    fc.constantFrom('', 'e0', 'E+5', 'e-7', 'e15', 'e-20'),
  )
  .map((parts) => parts.join(''));
const spelled = fc.array(lexeme, { maxLength: 20 }).map((list) => `[${list.join(' ,\t')}]`);

describe('properties', { timeout: 120_000 * inject('soak') }, () => {
  test('canonicalize ∘ parse ∘ canonicalize is canonicalize, under every general profile', () => {
    fc.assert(
      fc.property(fc.oneof(jsonText, spelled), fc.constantFrom(...general), (text, id) => {
        const once = canonicalize(parse(text), id);
        expect(canonicalize(parse(once), id)).toBe(once);
      }),
      { numRuns: 3000 * inject('soak') },
    );
  });

  test('stringify ∘ parse keeps the value, digit by digit', () => {
    fc.assert(
      fc.property(fc.oneof(jsonText, spelled), (text) => {
        const value = parse(text);
        expect(parse(stringify(value))).toEqual(value);
      }),
      { numRuns: 2000 * inject('soak') },
    );
  });

  test('jcs is what the library `canonicalize` writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), (value) => {
        expect(canonicalize(value, 'jcs')).toBe(libraryCanonicalize(value));
        expect(canonicalize(parse(JSON.stringify(value)), 'jcs')).toBe(libraryCanonicalize(value));
      }),
      { numRuns: 5000 * inject('soak') },
    );
  });

  test('jcs of every double is what the library writes', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(canonicalize(value, 'jcs')).toBe(libraryCanonicalize(value));
        expect(canonicalize(parse(String(value)), 'jcs')).toBe(libraryCanonicalize(value));
      }),
      { numRuns: 5000 * inject('soak') },
    );
  });

  test('what `lossless-json` reads and writes is what we read and write', () => {
    fc.assert(
      fc.property(fc.oneof(jsonText, spelled), (text) => {
        // The library builds plain objects, which reorder integer-like keys and lose __proto__.
        fc.pre(!/"(?:\d+|__proto__)":/.test(text));
        expect(stringify(parse(text))).toBe(losslessStringify(losslessParse(text)));
      }),
      { numRuns: 3000 * inject('soak') },
    );
  });

  test('a text that JSON.parse refuses is refused, and one it accepts is refused only for our own rules', () => {
    const edits = fc.tuple(jsonText, fc.nat(), fc.string({ maxLength: 2 })).map(([text, at, with_]) => {
      const i = at % (text.length + 1);
      return text.slice(0, i) + with_ + text.slice(i + (at % 3));
    });
    const ours = new Set(['JSON_DUPLICATE_KEY', 'JSON_LONE_SURROGATE', 'JSON_TOO_DEEP']);
    fc.assert(
      fc.property(edits, (text) => {
        let reference: unknown;
        let accepted = true;
        try {
          reference = JSON.parse(text);
        } catch {
          accepted = false;
        }
        try {
          const value = parse(text);
          expect(accepted, text).toBe(true);
          expect(JSON.parse(stringify(value))).toEqual(reference);
        } catch (error) {
          if (accepted) expect(ours.has((error as { code: string }).code), text).toBe(true);
        }
      }),
      { numRuns: 5000 * inject('soak') },
    );
  });

  test('the order of keys in the source never matters', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 5 }), { maxLength: 40 }),
        fc.constantFrom(...general),
        (keys, id) => {
          const write = (names: string[]) =>
            canonicalize(parse(`{${names.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`), id);
          expect(write(keys.toReversed())).toBe(write(keys));
        },
      ),
      { numRuns: 1000 * inject('soak') },
    );
  });
});
