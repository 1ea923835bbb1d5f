import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalize } from '../canon/index.ts';
import { concat, fromHex, sha256, toHex, toUtf8 } from '../crypto/index.ts';
import { JsonObject, parse } from '../json/index.ts';
import { leafData, leafHash, sealedLeaf } from './index.ts';
import { LEAF_BYTES } from './leaf.ts';

const seal = {
  hash: '0123456789abcdef'.repeat(4),
  signature: 'ab'.repeat(64),
  signature_pq: '',
  signed_at: '2026-11-15T12:00:00.000001+00:00',
  signed_by: 'qp_key_0123456789abcdef',
};
const code = (code: string) => expect.objectContaining({ code });
const expected = (hash: string, jcs: string) => concat(toUtf8('cps\n'), fromHex(hash), sha256(toUtf8(jcs)));

describe('the leaf of a capsule', () => {
  it('has these bytes', () => {
    const jcs = `{"hash":"${seal.hash}","signature":"${seal.signature}","signature_pq":"","signed_at":"2026-11-15T12:00:00.000001+00:00","signed_by":"qp_key_0123456789abcdef"}`;
    const leaf = leafData(seal);
    expect(leaf).toEqual(expected(seal.hash, jcs));
    expect(leaf).toHaveLength(LEAF_BYTES);
    expect(toHex(leaf)).toBe(`6370730a${seal.hash}${toHex(sha256(toUtf8(jcs)))}`);
    expect(sealedLeaf(seal)).toEqual(leaf);
    expect(leafHash(leaf)).toEqual(sha256(concat(Uint8Array.of(0), leaf)));
  });

  it('is the same for a stored record and for plain data, whatever else they hold and in any order', () => {
    const stored = parse(
      JSON.stringify({
        outcome: {},
        ...Object.fromEntries(Object.entries(seal).reverse()),
        id: 'x',
        sequence: 7,
      }),
    ) as JsonObject;
    expect(leafData(stored)).toEqual(leafData(seal));
    expect(leafData({ ...seal, domain: 'gateway' } as typeof seal)).toEqual(leafData(seal));
  });

  it('differs by each of the seal fields', () => {
    const leaves = new Set([toHex(leafData(seal))]);
    for (const key of Object.keys(seal) as (keyof typeof seal)[]) {
      leaves.add(toHex(leafData({ ...seal, [key]: `${'9'.repeat(64)}` })));
    }
    expect(leaves.size).toBe(6);
  });

  it('tells absent from null and from empty', () => {
    const { signature_pq: _, ...without } = seal;
    const fields = `"hash":"${seal.hash}","signature":"${seal.signature}"`;
    const rest = `"signed_at":"${seal.signed_at}","signed_by":"${seal.signed_by}"`;
    expect(leafData(without)).toEqual(expected(seal.hash, `{${fields},${rest}}`));
    expect(leafData({ ...seal, signature_pq: null } as never)).toEqual(
      expected(seal.hash, `{${fields},"signature_pq":null,${rest}}`),
    );
    const undated = { ...seal, signed_at: null };
    expect(leafData(undated)).toEqual(
      expected(seal.hash, `{${fields},"signature_pq":"","signed_at":null,"signed_by":"${seal.signed_by}"}`),
    );
    expect(sealedLeaf(undated)).toEqual(leafData(undated));
    expect(leafData({ hash: seal.hash })).toEqual(expected(seal.hash, `{"hash":"${seal.hash}"}`));
  });

  it('takes what a foreign record has in its seal, as JCS writes it', () => {
    const stored = parse(
      `{"hash":"${seal.hash}","signed_by":{"b":1.0,"a":[true,"\\u00e9\\n"]}}`,
    ) as JsonObject;
    expect(leafData(stored)).toEqual(
      expected(seal.hash, `{"hash":"${seal.hash}","signed_by":{"a":[true,"é\\n"],"b":1}}`),
    );
  });

  it('agrees with JCS for every text', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(text, text, text, text, (signature, signature_pq, signed_at, signed_by) => {
        const any = { hash: seal.hash, signature, signature_pq, signed_at, signed_by };
        expect(sealedLeaf(any)).toEqual(expected(seal.hash, canonicalize(any, 'jcs')));
        expect(leafData(any)).toEqual(sealedLeaf(any));
      }),
    );
  });

  it('is refused without a hash of 64 lower-case hex digits', () => {
    const { hash: _, ...without } = seal;
    const bad = ['', seal.hash.slice(1), `${seal.hash}0`, seal.hash.toUpperCase(), `${seal.hash}\n`, 7, null];
    for (const hash of bad) {
      expect(() => leafData({ ...seal, hash } as never)).toThrow(code('LOG_HASH'));
      expect(() => sealedLeaf({ ...seal, hash } as never)).toThrow(code('LOG_HASH'));
    }
    expect(() => leafData(without)).toThrow(code('LOG_HASH'));
    expect(() => leafData(new JsonObject())).toThrow(code('LOG_HASH'));
    expect(() => leafData(Object.create(seal) as never)).toThrow(code('LOG_HASH'));
  });

  it('is refused when the seal has no JCS form', () => {
    for (const signed_by of ['\ud800', undefined, Number.NaN, () => 1, parse('1e999')]) {
      expect(() => leafData({ ...seal, signed_by } as never)).toThrow(code('LOG_HASH'));
      expect(() => sealedLeaf({ ...seal, signed_by } as never)).toThrow(code('LOG_HASH'));
    }
  });
});
