import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createCapsule, sealSync } from '@bulla/core/capsule';
import { fromHex, publicKey } from '@bulla/core/crypto';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repo } from '../../test/run.ts';
import { key, signer } from '../../test/store-suite.ts';
import { openSource, verifyChain } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'bulla-chain-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A chain of sealed texts, made with a test key. */
function makeChain(length: number): string[] {
  const texts: string[] = [];
  let previous: string | null = null;
  for (let i = 0; i < length; i++) {
    const id = `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
    const now = new Date(Date.UTC(2026, 2, 1, 0, 0, i % 60));
    const capsule = createCapsule(
      { sequence: i, previous_hash: previous, outcome: { summary: `größe ${i}`, metrics: { cost: 0.25 } } },
      { id, now },
    );
    const { sealed, text } = sealSync(capsule, signer, { signedAt: now });
    previous = sealed.hash;
    texts.push(text);
  }
  return texts;
}

const chain = makeChain(1000);
const file = (name: string, content: string | Uint8Array) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const verify = (path: string, more = {}) => verifyChain(openSource(path), { keys: [key], ...more });

describe('sources', () => {
  const parsed = chain.map((text) => JSON.parse(text));
  const seal = (capsule: Record<string, unknown>) =>
    ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'].map((name) => capsule[name]);
  const content = (text: string) => text.replace(/,"hash":"[0-9a-f]{64}","signature":.*\}$/, '}');

  beforeAll(() => {
    const data = new Database(join(folder, 'data.db'));
    data.exec(`CREATE TABLE capsules (id TEXT PRIMARY KEY, type TEXT, sequence INTEGER, previous_hash TEXT, data TEXT, hash TEXT,
      signature TEXT, signature_pq TEXT, signed_at TEXT, signed_by TEXT, session_id TEXT)`);
    const canonical = new Database(join(folder, 'canonical.db'));
    canonical.exec(`CREATE TABLE chain (rowid_pk INTEGER PRIMARY KEY, tenant_id TEXT, sequence INTEGER, id TEXT, previous_hash TEXT, hash TEXT,
      signature TEXT, signature_pq TEXT, signed_at TEXT, signed_by TEXT, canonical TEXT)`);
    for (let i = 0; i < chain.length; i++) {
      const capsule = parsed[i];
      data
        .prepare('INSERT INTO capsules VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)')
        .run(capsule.id, capsule.type, i, capsule.previous_hash, content(chain[i]!), ...seal(capsule));
      canonical
        .prepare('INSERT INTO chain VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
        .run('t', i, capsule.id, capsule.previous_hash, ...seal(capsule), content(chain[i]!));
    }
    data.close();
    canonical.close();
  });

  test.each<[string, () => string, string]>([
    ['an array', () => file('a.json', `[${chain.join(',\n ')}]\n`), 'array'],
    [
      'an array over many lines',
      () =>
        file(
          'pretty.json',
          JSON.stringify(
            chain.map((text) => JSON.parse(text)),
            null,
            2,
          ).replaceAll('"confidence": 0,', '"confidence": 0.0,'),
        ),
      'array',
    ],
    ['lines', () => file('a.jsonl', `${chain.join('\n')}\n\n`), 'lines'],
    [
      'the list response, newest first',
      () =>
        file(
          'list.json',
          `{"capsules":[${chain.toReversed().join(',')}],"total":1000,"limit":1000,"offset":0}`,
        ),
      'list response',
    ],
    [
      'the explorer bundle',
      () =>
        file(
          'bundle.json',
          JSON.stringify({
            id: 'x',
            capsules: chain.map((text, i) => ({
              ...Object.fromEntries(
                ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'].map((name) => [
                  name,
                  parsed[i][name],
                ]),
              ),
              canonical: content(text),
            })),
          }),
        ),
      'explorer bundle',
    ],
    ['SQLite with the content in data', () => join(folder, 'data.db'), 'sqlite (data)'],
    ['SQLite with the canonical text', () => join(folder, 'canonical.db'), 'sqlite (canonical)'],
  ])('%s', async (_, make, format) => {
    const path = make();
    expect(openSource(path).format).toBe(format);
    const report = await verify(path, { expectLength: 1000, expectHead: parsed.at(-1)!.hash });
    expect(report.failures).toEqual([]);
    expect([report.ok, report.count, report.verified]).toEqual([true, 1000, 1000]);
  });

  test('one capsule', async () => {
    const path = file('one.json', chain[0]!);
    expect(openSource(path).format).toBe('capsule');
    expect(await verify(path)).toMatchObject({ ok: true, count: 1 });
  });

  test('a missing, an empty and a foreign file are told apart', () => {
    const code = (run: () => unknown) => {
      try {
        run();
      } catch (error) {
        return (error as { code: string }).code;
      }
      return 'ok';
    };
    expect(code(() => openSource(join(folder, 'none')))).toBe('CHAIN_SOURCE_MISSING');
    expect(code(() => openSource(file('empty', ' \n')))).toBe('CHAIN_EMPTY');
    expect(code(() => openSource(file('text', 'hello')))).toBe('CHAIN_SOURCE');
    expect(code(() => openSource(file('broken', '{"a":')))).toBe('CHAIN_SOURCE');
  });

  test('an empty array is empty, not good', async () => {
    expect(await verify(file('none.json', ' [ ]'))).toMatchObject({ ok: false, outcome: 'empty', count: 0 });
  });

  test('an array that is cut off is told of', async () => {
    const path = file('cut.json', `[${chain.slice(0, 3).join(',')}`);
    await expect(verify(path)).rejects.toMatchObject({ code: 'CHAIN_SOURCE' });
    await expect(verify(file('comma.json', `[${chain[0]},]`))).rejects.toMatchObject({
      code: 'CHAIN_SOURCE',
    });
  });

  test('SQLite with several tenants needs one to be named', async () => {
    const path = join(folder, 'canonical.db');
    const db = new Database(path);
    db.prepare(
      'INSERT INTO chain SELECT NULL, NULL, sequence, id, previous_hash, hash, signature, signature_pq, signed_at, signed_by, canonical FROM chain WHERE sequence < 5',
    ).run();
    db.close();
    expect(() => openSource(path)).toThrow(expect.objectContaining({ code: 'CHAIN_SOURCE_AMBIGUOUS' }));
    expect((await verifyChain(openSource(path, { tenant: null }), { keys: [key] })).count).toBe(5);
    expect((await verifyChain(openSource(path, { tenant: 't' }), { keys: [key] })).count).toBe(1000);
  });
});

describe('verification', () => {
  const lines = (records: readonly string[]) => file(`${Math.random()}.jsonl`, `${records.join('\n')}\n`);
  const findings = async (records: readonly string[], more = {}) =>
    (await verify(lines(records), more)).failures.map(({ index, code }) => [index, code]);

  test('every failure is listed, not only the first', async () => {
    const bad = chain.slice(0, 600);
    bad[10] = bad[10]!.replace('größe 10', 'große 10');
    bad[500] = bad[500]!.replace(
      /"signature":"(.)/,
      (_, digit) => `"signature":"${digit === '0' ? '1' : '0'}`,
    );
    expect(await findings(bad)).toEqual([
      [10, 'hash_mismatch'],
      [500, 'invalid_signature'],
    ]);
  });

  test('missing, doubled, swapped and foreign records', async () => {
    const ten = chain.slice(0, 10);
    expect(await findings(ten.toSpliced(4, 1))).toEqual([[4, 'sequence_gap']]);
    expect(await findings(ten.toSpliced(4, 0, ten[3]!))).toEqual([[4, 'duplicate_record']]);
    expect(await findings(ten.with(4, ten[5]!).with(5, ten[4]!))).toEqual([
      [4, 'sequence_gap'],
      [6, 'sequence_gap'],
    ]);
    expect(await findings(ten.slice(1))).toContainEqual([0, 'sequence_gap']);
    expect(await findings(ten.with(9, 'not json'))).toContainEqual([9, 'JSON_SYNTAX']);
    expect(await findings(ten.with(9, ten[9]!.replace('{', '{"id":"x",')))).toContainEqual([
      9,
      'JSON_DUPLICATE_KEY',
    ]);
  });

  test('a cut tail is noticed only by who knows length or head', async () => {
    const cut = chain.slice(0, 90);
    expect(await findings(cut)).toEqual([]);
    expect(await findings(cut, { expectLength: 91 })).toEqual([[null, 'length_mismatch']]);
    expect(await findings(cut, { expectHead: JSON.parse(chain[90]!).hash })).toEqual([
      [null, 'head_mismatch'],
    ]);
  });

  test('another key verifies nothing', async () => {
    const other = publicKey(
      'Ed25519',
      fromHex('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'),
    );
    const report = await verify(lines(chain.slice(0, 5)), { keys: [other] });
    const { signed_by } = JSON.parse(chain[0]!) as { signed_by: string };
    expect([report.outcome, report.failures, report.missingKeys]).toEqual([
      'undecided',
      [],
      { [signed_by]: 5 },
    ]);
  });

  test('structural verification trusts the stored hashes', async () => {
    const bad = chain.slice(0, 20).with(10, chain[10]!.replace('größe 10', 'große 10'));
    expect(await findings(bad, { mode: 'structural' })).toEqual([]);
  });

  test('a check goes on from where it stopped', async () => {
    const path = lines(chain.slice(0, 700));
    const { state } = await verify(path);
    appendFileSync(path, `${chain.slice(700).join('\n')}\n`);
    const report = await verify(path, { from: state });
    expect([report.ok, report.count, report.head?.sequence]).toEqual([true, 1000, 999]);
    expect(
      (await verify(lines(chain.slice(0, 700).concat(chain.slice(701))), { from: state })).failures[0]!.code,
    ).toBe('sequence_gap');
  });

  test('threads or none, the report is the same', async () => {
    const path = lines(chain.with(333, chain[333]!.replace('größe', 'x')));
    const [none, two] = [await verify(path, { threads: 0 }), await verify(path, { threads: 2 })];
    expect(two).toEqual(none);
  });
});

const vectors = process.env.BULLA_VECTORS && resolve(repo, process.env.BULLA_VECTORS, 'capsule');
describe.skipIf(!vectors)('chains of the references', () => {
  test('the legacy chain of 12 keys', async () => {
    const pub = publicKey(
      'Ed25519',
      fromHex(readFileSync(join(vectors!, 'legacy-1.5.2-chain.pub'), 'utf8').trim()),
    );
    expect(
      await verifyChain(openSource(join(vectors!, 'legacy-1.5.2-chain.json')), { keys: [pub] }),
    ).toMatchObject({ ok: true, count: 3, profiles: { 'cps-python/12': 3 } });
  });

  test('the chain over two epochs of a keyring', async () => {
    const { epochs } = JSON.parse(readFileSync(join(vectors!, 'python-keyring-3-epochs.json'), 'utf8'));
    const keys = epochs.map((epoch: { public_key_hex: string }) =>
      publicKey('Ed25519', fromHex(epoch.public_key_hex)),
    );
    const report = await verifyChain(openSource(join(vectors!, 'python-1.5.3-chain-two-epochs.json')), {
      keys,
    });
    expect(report).toMatchObject({ ok: true, count: 4, profiles: { 'cps-python/13': 4 } });
    expect(Object.keys(report.keys).length).toBe(2);
  });
});
