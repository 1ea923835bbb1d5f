import { describe, expect, test } from 'vitest';
import { hasVectors, readText } from '#test-files';
import { type ChainCheckOptions, chainCheck } from '../../test/chain-check.ts';
import { canonicalize } from '../canon/index.ts';
import { fromHex, keyId, localSigner, publicKey } from '../crypto/index.ts';
import type { BullaError } from '../error.ts';
import { type JsonObject, parse } from '../json/index.ts';
import { toDict } from './dict.ts';
import {
  type CanonicalRecord,
  type ChainState,
  chainLink,
  checkRecord,
  createCapsule,
  createChainVerifier,
  sealSync,
  verifyCapsule,
} from './index.ts';

const signer = localSigner('Ed25519', new Uint8Array(32).fill(1));
const keys = [publicKey('Ed25519', signer.publicKey)];

function chainOf(length: number, domain = 'agents', withKey = signer): string[] {
  let previous_hash: string | null = null;
  return Array.from({ length }, (_, sequence) => {
    const id = `00000000-0000-4000-8000-${String(sequence).padStart(12, '0')}`;
    const capsule = createCapsule({ sequence, previous_hash, domain }, { id, now: new Date(0) });
    const { sealed, text } = sealSync(capsule, withKey, { signedAt: new Date(0) });
    previous_hash = sealed.hash;
    return text;
  });
}
const chain = chainOf(6);
const hashes = chain.map((text) => (JSON.parse(text) as { hash: string }).hash);

function run(records: readonly (string | CanonicalRecord)[], options: Partial<ChainCheckOptions> = {}) {
  const verifier = chainCheck({ keys, ...options });
  for (const record of records) verifier.push(record);
  return verifier.finish();
}
/** Each failure as `index code: sentence`. */
const failed = (records: readonly (string | CanonicalRecord)[], options: Partial<ChainCheckOptions> = {}) =>
  run(records, options).failures.map(({ index, code, error }) => `${index} ${code}: ${error}`);

describe('a whole chain', () => {
  test('passes, with counts and its head', () => {
    expect(run(chain)).toEqual({
      ok: true,
      outcome: 'ok',
      mode: 'cryptographic',
      count: 6,
      verified: 6,
      head: { sequence: 5, hash: hashes[5] },
      failureCount: 0,
      failures: [],
      profiles: { 'cps-python/12': 6 },
      keys: { [keyId(keys[0]!)]: 6 },
      warnings: {},
      notices: [
        { code: 'unauthenticated_field', path: '/signed_at', count: 6, first: 0 },
        { code: 'unauthenticated_field', path: '/signed_by', count: 6, first: 0 },
      ],
      moreNotices: 0,
      missingKeys: {},
    });
    expect(run(chain, { mode: 'structural' })).toMatchObject({ ok: true, count: 6, profiles: {}, keys: {} });
  });

  test('names what no seal covers, with its path and its first place', () => {
    const injected = chain.with(2, chain[2]!.replace(/}$/, ',"note":"evil","a/b":1}'));
    const { outcome, notices } = run(
      injected.with(4, chain[4]!.replace(/"signed_by":"[^"]*"/, '"signed_by":"ceo"')),
    );
    expect(outcome).toBe('ok');
    expect(notices.map(({ code, path, count, first }) => `${code} ${path} ${count} ${first}`)).toEqual([
      'unauthenticated_field /signed_at 6 0',
      'unauthenticated_field /signed_by 6 0',
      'unauthenticated_field /note 1 2',
      'unauthenticated_field /a~1b 1 2',
      'signed_by_mismatch /signed_by 1 4',
    ]);
  });

  test('keeps only so many names that whoever wrote the records chose, and counts all', () => {
    const many = Array.from({ length: 300 }, (_, i) => `"x${i}":0`).join(',');
    const { notices, moreNotices } = run([chain[0]!.replace(/}$/, `,${many}}`)]);
    expect([notices.length, moreNotices]).toEqual([200, 102]);
  });

  test('is undecided, not bad, where nothing but keys is missing, and names them', () => {
    const other = [publicKey('Ed25519', localSigner('Ed25519', new Uint8Array(32).fill(9)).publicKey)];
    const renamed = chain.with(1, chain[1]!.replace(/"signed_by":"[^"]*"/, '"signed_by":"__proto__"'));
    const label = JSON.parse(chain[0]!).signed_by as string;
    const report = run(renamed, { keys: other });
    expect([report.ok, report.outcome, report.failures, report.verified]).toEqual([
      false,
      'undecided',
      [],
      0,
    ]);
    expect(Object.entries(report.missingKeys)).toEqual([
      [label, 5],
      ['__proto__', 1],
    ]);
    const broken = run(renamed.toSpliced(3, 1), { keys: other });
    expect([broken.outcome, broken.failures.map(({ code }) => code)]).toEqual(['failed', ['sequence_gap']]);
  });

  test('of no records is empty, which is not ok', () => {
    expect(run([])).toMatchObject({ ok: false, outcome: 'empty', count: 0, head: null, failures: [] });
    expect(run([], { expectLength: 0 })).toMatchObject({ ok: false, outcome: 'empty' });
  });

  test('that lost its end passes unless its length or its head is known', () => {
    const cut = chain.slice(0, 4);
    expect(run(cut).ok).toBe(true);
    expect(failed(cut, { expectLength: 6, expectHead: hashes[5]! })).toEqual([
      'null length_mismatch: Length mismatch: expected 6 records, got 4',
      `null head_mismatch: Head mismatch: expected ${hashes[5]}, got ${hashes[3]}`,
    ]);
    expect(run(cut, { expectLength: 4, expectHead: hashes[3]! }).ok).toBe(true);
  });
});

describe('what is wrong with a chain is told, once each', () => {
  const [a, b, c, d, e, f] = chain as [string, string, string, string, string, string];
  const strange = chainOf(6, 'strange');

  test('a missing record', () => {
    expect(failed([a, b, d, e, f])).toEqual(['2 sequence_gap: Sequence gap: expected 2, got 3']);
    expect(failed([b, c])).toEqual(['0 sequence_gap: Sequence gap: expected 0, got 1']);
    expect(failed([a, c, e])).toEqual([
      '1 sequence_gap: Sequence gap: expected 1, got 2',
      '2 sequence_gap: Sequence gap: expected 3, got 4',
    ]);
  });

  test('a repeated record', () => {
    expect(failed([a, b, b, c])).toEqual(['2 duplicate_record: Sequence gap: expected 2, got 1']);
    expect(failed([a, a, b])).toEqual(['1 duplicate_record: Sequence gap: expected 1, got 0']);
    expect(failed([a, c, a, d])).toEqual([
      '1 sequence_gap: Sequence gap: expected 1, got 2',
      '2 duplicate_record: Sequence gap: expected 3, got 0',
    ]);
    expect(failed([a, b, c, a, d])).toEqual(['3 out_of_order: Sequence gap: expected 3, got 0']);
  });

  test('records in another order', () => {
    expect(failed([a, c, b, d, e])).toEqual([
      '1 sequence_gap: Sequence gap: expected 1, got 2',
      '3 sequence_gap: Sequence gap: expected 2, got 3',
    ]);
    expect(failed([f, e, d, c, b, a]).length).toBe(6);
  });

  test('a foreign record, in place of one or beside it', () => {
    expect(failed([a, b, strange[2]!, d, e])).toEqual([
      '2 broken_link: Chain broken: previous_hash mismatch at sequence 2',
      '3 broken_link: Chain broken: previous_hash mismatch at sequence 3',
    ]);
    expect(failed([a, b, strange[2]!, c, d])).toEqual([
      '2 broken_link: Chain broken: previous_hash mismatch at sequence 2',
    ]);
    expect(failed([a, b, strange[5]!, c, d])).toEqual(['2 sequence_gap: Sequence gap: expected 2, got 5']);
    expect(failed([a, ...strange.slice(1)])).toEqual([
      '1 broken_link: Chain broken: previous_hash mismatch at sequence 1',
    ]);
  });

  test('a genesis with a predecessor', () => {
    const bad = a.replace('"previous_hash":null', `"previous_hash":"${hashes[5]}"`);
    expect(failed([bad, b], { mode: 'structural' })).toEqual([
      '0 genesis_previous_hash: Genesis Capsule has previous_hash (should be null)',
    ]);
  });

  test('changed content, and content that was changed and hashed again', () => {
    const altered = c.replace('"agents"', '"others"');
    expect(failed([a, b, altered, d])).toEqual(['2 hash_mismatch: Content hash mismatch at sequence 2']);
    expect(failed([a, b, altered, d], { mode: 'structural' })).toEqual([]);
    const { hash } = verifyHash(altered);
    const rehashed = altered.replace(hashes[2]!, hash);
    expect(failed([a, b, rehashed, d, e])).toEqual([
      '2 invalid_signature: Signature verification failed at sequence 2',
      '3 broken_link: Chain broken: previous_hash mismatch at sequence 3',
    ]);
  });

  test('a missing seal, and text that is no record', () => {
    expect(failed([a], { requirePq: true })).toEqual([
      '0 pq_missing: The record has no post-quantum signature, at sequence 0',
    ]);
    expect(failed([a, b.replace(hashes[1]!, ''), c])).toEqual([
      '1 missing_hash: The record has no hash.',
      '2 sequence_gap: Sequence gap: expected 1, got 2',
    ]);
    expect(failed([a, '{"a":1,"a":2}', b])).toEqual([
      '1 JSON_DUPLICATE_KEY: The key "a" occurs twice in one object.',
    ]);
    expect(failed([a, '[]', b], { mode: 'structural' })).toEqual([
      '1 not_an_object: A capsule is an object.',
    ]);
    const odd = b.replace('"sequence":1', '"sequence":1.0');
    expect(failed([a, odd, c], { mode: 'structural' })).toEqual([
      '1 sequence_gap: Sequence gap: expected 1, got none',
      '2 sequence_gap: Sequence gap: expected 1, got 2',
    ]);
  });

  test('two failures of one record are both told, and it is not counted as verified', () => {
    const report = run([a, c.replace('"agents"', '"others"'), d]);
    expect(report.failures.map((f) => [f.index, f.sequence, f.id, f.code])).toEqual([
      [1, 2, '00000000-0000-4000-8000-000000000002', 'sequence_gap'],
      [1, 2, '00000000-0000-4000-8000-000000000002', 'hash_mismatch'],
    ]);
    expect([report.count, report.verified, report.head?.sequence]).toEqual([3, 2, 3]);
  });

  test('failures are counted beyond those that are kept', () => {
    const report = run([a, ...Array.from({ length: 1050 }, () => strange[3]!)], { mode: 'structural' });
    expect([report.failureCount, report.failures.length]).toEqual([1050, 1000]);
  });

  function verifyHash(text: string): { hash: string } {
    const content = toDict(JSON.parse(text));
    return sealSync(content, signer, { signedAt: new Date(0) }).sealed;
  }
});

describe('a check', () => {
  const broken = [
    chain[0]!,
    chain[2]!,
    chain[3]!.replace('"agents"', '"x"'),
    chain[4]!,
    chain[4]!,
    chain[5]!,
  ];

  test('can stop after any record and go on from its saved state', () => {
    for (const records of [chain, broken]) {
      for (let cut = 0; cut <= records.length; cut++) {
        const first = chainCheck({ keys });
        for (const record of records.slice(0, cut)) first.push(record);
        const saved = JSON.parse(JSON.stringify(first.state())) as ChainState;
        expect(run(records.slice(cut), { from: saved })).toEqual(run(records));
      }
    }
  });

  test('does not go on from the state of another mode', () => {
    const from = chainCheck({ mode: 'structural', keys }).state();
    const code = (open: () => unknown) => {
      try {
        open();
      } catch (error) {
        return (error as BullaError).code;
      }
      return 'ok';
    };
    expect(code(() => chainCheck({ keys, from }))).toBe('CAPSULE_CHAIN_STATE');
    // What is left of one that was cut off or changed by hand.
    const whole = chainCheck({ keys }).state();
    expect(code(() => chainCheck({ keys, from: whole }))).toBe('ok');
    const { head: _, ...headless } = whole;
    for (const part of [headless, { ...whole, count: -1 }, { ...whole, notices: [null] }])
      expect(code(() => chainCheck({ keys, from: part as typeof whole }))).toBe('CAPSULE_CHAIN_STATE');
    expect(
      code(() =>
        createChainVerifier({ mode: 'hashes' }).push(chainLink(parse(chain[0]!) as JsonObject), undefined),
      ),
    ).toBe('CAPSULE_CHAIN_STATE');
  });

  test('finishes without forgetting, and may go on', () => {
    const verifier = chainCheck({ keys, expectLength: 2 });
    verifier.push(chain[0]!);
    expect(verifier.finish().failureCount).toBe(1);
    expect(verifier.finish().failureCount).toBe(1);
    verifier.push(chain[1]!);
    expect(verifier.finish().ok).toBe(true);
  });

  test('takes verdicts that were reached elsewhere', () => {
    const verifier = createChainVerifier({ mode: 'cryptographic' });
    for (const text of broken) {
      const record = parse(text) as JsonObject;
      verifier.push(chainLink(record), verifyCapsule(record, { keys }));
    }
    expect(verifier.finish()).toEqual(run(broken));
  });

  test('takes records that store their canonical text, and believes only that text', () => {
    const records = chain.map((text) => {
      const sealed = JSON.parse(text);
      return { ...sealed, sequence: 77, previous_hash: 'x', canonical: canonicalize(toDict(sealed), 'cps') };
    });
    expect(run(records)).toMatchObject({ ok: true, count: 6, profiles: { 'verbatim/12': 6 } });
    expect(failed([records[0]!, records[2]!])).toEqual(['1 sequence_gap: Sequence gap: expected 1, got 2']);
    const linkOf = (record: CanonicalRecord) => checkRecord(record, 'structural', { keys }).link;
    expect(linkOf(records[1]!)).toEqual(chainLink(parse(chain[1]!) as JsonObject));
    expect(linkOf({ ...records[1]!, canonical: '{' })).toEqual({
      id: null,
      sequence: null,
      previous_hash: null,
      hash: hashes[1],
    });
  });
});

describe.skipIf(!hasVectors)('chains of the Python reference', () => {
  const records = async (file: string) => parse(await readText(`capsule/${file}`)) as JsonObject[];
  const check = (list: readonly JsonObject[], options: ChainCheckOptions) => {
    const verifier = chainCheck(options);
    for (const record of list) verifier.push(record);
    return verifier.finish();
  };

  test('release 1.5.2, 12 keys', async () => {
    const list = await records('legacy-1.5.2-chain.json');
    const key = publicKey('Ed25519', fromHex((await readText('capsule/legacy-1.5.2-chain.pub')).trim()));
    expect(check(list, { keys: [key] })).toMatchObject({
      ok: true,
      count: 3,
      verified: 3,
      profiles: { 'cps-python/12': 3 },
      keys: { [keyId(key)]: 3 },
      warnings: {},
    });
  });

  test('the same, exported again by 1.5.3, which writes a spec_version into it', async () => {
    const list = await records('legacy-1.5.2-chain.json');
    const key = publicKey('Ed25519', fromHex((await readText('capsule/legacy-1.5.2-chain.pub')).trim()));
    const verifier = chainCheck({ keys: [key] });
    for (const record of list) {
      const text = canonicalize(record, 'jcs');
      verifier.push(
        text.replace('{', '{"spec_version":"1.0",').replace('"confidence":0,', '"confidence":0.0,'),
      );
    }
    expect(verifier.finish()).toMatchObject({
      ok: true,
      profiles: { 'cps-python/12': 3 },
      warnings: { unauthenticated_field: 3 },
    });
  });

  test('release 1.5.3, 13 keys, sealed by two epochs of a keyring', async () => {
    const list = await records('python-1.5.3-chain-two-epochs.json');
    const ring = JSON.parse(await readText('capsule/python-keyring-3-epochs.json')) as {
      epochs: { public_key_hex: string }[];
    };
    const epochs = ring.epochs.map((epoch) => publicKey('Ed25519', fromHex(epoch.public_key_hex)));
    expect(check(list, { keys: epochs })).toMatchObject({
      ok: true,
      count: 4,
      profiles: { 'cps-python/13': 4 },
      keys: { [keyId(epochs[0]!)]: 2, [keyId(epochs[1]!)]: 2 },
      warnings: {},
    });
    const { outcome, failures, missingKeys } = check(list, { keys: [epochs[2]!] });
    const labels = [0, 2].map((i) => list[i]!.get('signed_by') as string);
    expect([outcome, failures]).toEqual(['undecided', []]);
    expect(missingKeys).toEqual({ [labels[0]!]: 2, [labels[1]!]: 2 });
  });
});
