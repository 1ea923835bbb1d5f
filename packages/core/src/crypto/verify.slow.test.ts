import { describe, expect, it } from 'vitest';
import { provider as active } from '#provider';
import { hasVectors, readText } from '#test-files';
import type { BullaError } from '../error.ts';
import type { AlgorithmName } from './algorithms.ts';
import { fromHex, toHex, toUtf8 } from './bytes.ts';
import type { CryptoProvider } from './provider.ts';
import { provider as noble } from './provider-noble.ts';
import { checkSeed, publicKey, verifyWith } from './signer.ts';

// On Node.js both providers run here; in a browser there is only one.
const providers = [...new Set([active, noble])];

interface Case {
  readonly id: string;
  readonly key: string;
  readonly message: Uint8Array;
  readonly signature: string;
  readonly expected: boolean;
}

interface Group<Test> {
  readonly publicKey: string | { readonly pk: string };
  readonly privateSeed: string;
  readonly tests: readonly (Test & {
    readonly tcId: number;
    readonly sig: string;
    readonly result: string;
  })[];
}

async function groups<Test>(file: string): Promise<readonly Group<Test>[]> {
  return JSON.parse(await readText(`crypto/${file}`)).testGroups;
}

/** Wycheproof's own verdicts, except that a signature for a context is not one for ours, which is empty. */
async function wycheproof(file: string): Promise<Case[]> {
  return (await groups<{ msg: string; ctx?: string }>(file)).flatMap((group) =>
    group.tests.map((test) => ({
      id: `${file} ${test.tcId}`,
      key: typeof group.publicKey === 'string' ? group.publicKey : group.publicKey.pk,
      message: fromHex(test.msg),
      signature: test.sig,
      expected: test.result === 'valid' && (test.ctx ?? '') === '',
    })),
  );
}

/**
 * CCTV gives no verdicts, only what each case is made of. Ours follow from that: cofactorless checking fails on a
 * residue of low order, and what has small order or is not canonical is refused.
 */
async function cctv(): Promise<Case[]> {
  const refused = ['low_order_residue', 'low_order_A', 'low_order_R', 'non_canonical_A', 'non_canonical_R'];
  const suite: { number: number; key: string; sig: string; msg: string; flags: string[] | null }[] =
    JSON.parse(await readText('crypto/cctv-ed25519.json'));
  return suite.map(({ number, key, sig, msg, flags }) => ({
    id: `cctv ${number}`,
    key,
    message: toUtf8(msg),
    signature: sig,
    expected: !refused.some((flag) => flags?.includes(flag)),
  }));
}

/** The verdict on raw bytes; a key that is refused on load verifies nothing. */
function judge(by: CryptoProvider, name: AlgorithmName, test: Case): boolean | string {
  try {
    return verifyWith(by, publicKey(name, fromHex(test.key)), test.message, fromHex(test.signature));
  } catch (error) {
    return (error as BullaError).code;
  }
}

const refusals = new Set<unknown>(['KEY_SIZE', 'KEY_NOT_CANONICAL', 'KEY_SMALL_ORDER']);

function tally(by: CryptoProvider, name: AlgorithmName, cases: readonly Case[]) {
  const counts: Record<string, number> = {};
  const wrong: string[] = [];
  for (const test of cases) {
    const verdict = judge(by, name, test);
    counts[String(verdict)] = (counts[String(verdict)] ?? 0) + 1;
    if (verdict !== test.expected && (test.expected || !refusals.has(verdict))) wrong.push(test.id);
  }
  return { counts, wrong };
}

describe.skipIf(!hasVectors).each(providers)('verification by $name', (by) => {
  it('agrees with Wycheproof on Ed25519', async () => {
    const cases = await wycheproof('wycheproof-ed25519.json');
    expect(tally(by, 'Ed25519', cases)).toEqual({ counts: { true: 88, false: 63 }, wrong: [] });
  });

  it('accepts of CCTV what is canonical, not of small order, and holds without the cofactor', async () => {
    expect(tally(by, 'Ed25519', await cctv())).toEqual({
      counts: { true: 43, false: 345, KEY_NOT_CANONICAL: 226, KEY_SMALL_ORDER: 300 },
      wrong: [],
    });
  });

  it('agrees with Wycheproof on ML-DSA-65', async () => {
    const cases = await wycheproof('wycheproof-mldsa65-verify.json');
    expect(tally(by, 'ML-DSA-65', cases)).toEqual({
      counts: { true: 77, false: 129, KEY_SIZE: 4 },
      wrong: [],
    });
  });
});

describe.skipIf(!hasVectors || providers.length < 2)('both providers', () => {
  it('give the same verdict on every case', async () => {
    const [a, b] = providers as [CryptoProvider, CryptoProvider];
    expect([a.name, b.name]).toEqual(['node', 'noble']);
    const suites: [AlgorithmName, Case[]][] = [
      ['Ed25519', await wycheproof('wycheproof-ed25519.json')],
      ['Ed25519', await cctv()],
      ['ML-DSA-65', await wycheproof('wycheproof-mldsa65-verify.json')],
    ];
    const differing = suites.flatMap(([name, cases]) =>
      cases.filter((test) => judge(a, name, test) !== judge(b, name, test)),
    );
    expect(suites.map(([, cases]) => cases.length)).toEqual([151, 914, 210]);
    expect(differing).toEqual([]);
  });
});

describe.skipIf(!hasVectors).each(providers)('ML-DSA-65 signing by $name', (by) => {
  const { 'ML-DSA-65': scheme } = by.signatures;

  it('derives the public keys and makes good signatures of the Wycheproof seeds', async () => {
    const counts = {
      refusedSeeds: 0,
      derived: 0,
      signed: 0,
      exact: 0,
      otherContext: 0,
      randomized: 0,
      external: 0,
    };
    for (const group of await groups<{ msg?: string; ctx?: string; rnd?: string }>(
      'wycheproof-mldsa65-sign-seed.json',
    )) {
      const seed = fromHex(group.privateSeed);
      if (seed.length !== 32) {
        expect(() => checkSeed('ML-DSA-65', seed)).toThrow(expect.objectContaining({ code: 'KEY_SIZE' }));
        counts.refusedSeeds++;
        continue;
      }
      const key = publicKey('ML-DSA-65', scheme.publicKey(seed));
      expect(toHex(key.bytes)).toBe(group.publicKey);
      counts.derived++;
      for (const { msg, ctx = '', rnd, sig } of group.tests) {
        if (msg === undefined) {
          counts.external++; // signs a digest made elsewhere, which Bulla does not offer
          continue;
        }
        const message = fromHex(msg);
        if (ctx !== '') {
          expect(verifyWith(by, key, message, fromHex(sig))).toBe(false);
          counts.otherContext++;
        } else if (rnd !== undefined) {
          expect(verifyWith(by, key, message, fromHex(sig))).toBe(true);
          counts.randomized++;
        } else {
          const made = scheme.signer(seed)(message);
          expect(verifyWith(by, key, message, made)).toBe(true);
          expect(verifyWith(by, key, message, fromHex(sig))).toBe(true);
          counts.signed++;
          if (toHex(made) === sig) counts.exact++;
        }
      }
    }
    // node:crypto hedges, so that its signatures never repeat those of the suite.
    const exact = by.name === 'noble' ? 80 : 0;
    expect(counts).toEqual({
      refusedSeeds: 3,
      derived: 39,
      signed: 80,
      exact,
      otherContext: 4,
      randomized: 1,
      external: 17,
    });
  });
});
