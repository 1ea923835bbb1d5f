import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCapsule, sealSync } from '@bulla/core/capsule';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { key, signer } from '../../test/store-suite.ts';
import { verifyChain } from './index.ts';
import { openSource } from './source.ts';

test.each([
  ['{"a":1}\n{"b":2}', 'lines', 2],
  ['{"a":1} \r\n\n \n{"b":2}\n', 'lines', 2],
  ['{"a":1}\n', 'capsule', 1],
  ['{\n"a":1\n}\n', 'capsule', 1],
  ['{"a":\n{"b":2}}', 'capsule', 1],
  ['[]', 'array', 0],
  ['\n\n[{},{}]', 'array', 2],
])('%j is read as %s', async (text, format, count) => {
  const file = join(temporaryFolder(), 'x');
  writeFileSync(file, text);
  const source = openSource(file);
  expect([source.format, (await Array.fromAsync(source.records())).length]).toEqual([format, count]);
});

test('a file of a million empty lines is recognised in one pass', async () => {
  const file = join(temporaryFolder(), 'x');
  const empty = '\n'.repeat(1_000_000);
  for (const [text, format, count] of [
    [`{}${empty}`, 'capsule', 1],
    [`{}${empty}{}${empty}`, 'lines', 2],
    [`${empty}{}\n`, 'capsule', 1],
    [`[{}${empty}]`, 'array', 1],
  ] as const) {
    writeFileSync(file, text);
    const source = openSource(file);
    expect([source.format, (await Array.fromAsync(source.records())).length]).toEqual([format, count]);
  }
});

/** A capsule of a chain, as it stands in every format. */
const sealed = (sequence: number, previous: string | null) =>
  sealSync(
    createCapsule(
      { sequence, previous_hash: previous, outcome: { summary: `action ${sequence}` } },
      { id: `00000000-0000-4000-8000-00000000000${sequence}`, now: NOW },
    ),
    signer,
    { signedAt: NOW },
  );
const NOW = new Date('2026-03-01T00:00:00Z');
const first = sealed(0, null);
const texts = [first.text, sealed(1, first.sealed.hash).text];
const TAMPERED = 'TAMPERED';
const tampered = texts.map((text) => text.replace(/action \d/, TAMPERED));
const SEAL = ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'] as const;
/** What was hashed of a sealed text. */
const contentOf = (text: string) => text.replace(/,"hash":"[0-9a-f]{64}","signature":.*\}$/, '}');

const written = (text: string) => {
  const file = join(temporaryFolder(), 'x.json');
  writeFileSync(file, text);
  return file;
};
const codeOf = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return 'none';
};
const verified = async (file: string) => {
  const { outcome, count, failures, notices } = await verifyChain(openSource(file), { keys: [key] });
  const unsealed = notices.filter(({ code }) => code === 'unauthenticated_field').map(({ path }) => path);
  return { outcome, count, codes: failures.map(({ index, code }) => [index, code]), unsealed };
};

describe('a document around a list of capsules', () => {
  test('names what stands beside the list', () => {
    expect(openSource(written('{"capsules":[{"note":"inside"}],"total":1,"limit":9}')).unread).toEqual([
      '/total',
      '/limit',
    ]);
    const bundle = '{"id":"x","signed_by":[],"capsules":[{"canonical":"{}","hash":""}]}';
    expect(openSource(written(bundle)).unread).toEqual(['/id', '/signed_by']);
    expect(openSource(written('{"id":"x","tool":"y","capsules":[]}')).format).toBe('explorer bundle');
  });

  test.each([
    ['a capsule that has a list too', `${tampered[0]!.slice(0, -1)},"capsules":[${texts[0]}]}`],
    ['a member that no format has', `{"capsules":[${texts[0]}],"total":1,"verified":true}`],
    ['a member of the other format', `{"capsules":[${texts[0]}],"id":"x"}`],
    ['a member that differs in case', `{"capsules":[${texts[0]}],"Total":1}`],
    ['capsules of both formats', `{"capsules":[${texts[0]},{"canonical":"{}"}]}`],
  ])('is refused where it could be something else: %s', (_, text) => {
    expect(codeOf(() => openSource(written(text)))).toBe('CHAIN_SOURCE_AMBIGUOUS');
  });

  const bundleOf = (members: (text: string) => object) =>
    written(
      JSON.stringify({
        id: 'x',
        capsules: texts.map((text) => {
          const parsed = JSON.parse(text);
          const seal = Object.fromEntries(SEAL.map((name) => [name, parsed[name]]));
          return { ...seal, canonical: contentOf(text), ...members(text) };
        }),
      }),
    );

  test('holds what stands beside a canonical text to that text', async () => {
    expect(await verified(bundleOf((text) => JSON.parse(contentOf(text))))).toEqual({
      ...{ outcome: 'ok', count: 2, codes: [] },
      unsealed: ['/signed_at', '/signed_by'],
    });
    const forged = bundleOf((text) => JSON.parse(contentOf(text.replace('action 1', TAMPERED))));
    expect(await verified(forged)).toMatchObject({ outcome: 'failed', codes: [[1, 'content_mismatch']] });
    expect(await verified(bundleOf(() => ({ Outcome: {} })))).toMatchObject({
      ...{ outcome: 'failed', codes: [0, 1].map((index) => [index, 'case_twin']) },
    });
    expect((await verified(bundleOf(() => ({ note: 'x' })))).unsealed).toContain('/note');
    expect(await verified(bundleOf(() => ({ signature_pq: 5 })))).toMatchObject({
      codes: [0, 1].map((index) => [index, 'malformed_hex']),
    });
  });
});

describe('a SQLite file', () => {
  const REST = 'hash, signature, signature_pq, signed_at, signed_by';
  const COLUMNS = `sequence INTEGER, data TEXT, ${REST}`;
  const database = (build: (db: Database.Database) => void) => {
    const file = join(temporaryFolder(), 'x.db');
    const db = new Database(file);
    build(db);
    db.close();
    return file;
  };
  const fill = (db: Database.Database, table: string, records: readonly string[], columns = COLUMNS) => {
    db.exec(`CREATE TABLE ${table} (${columns})`);
    const insert = db.prepare(`INSERT INTO ${table} (sequence, data, ${REST}) VALUES (?, ?, ?, ?, ?, ?, ?)`);
    for (const [i, text] of records.entries()) {
      const parsed = JSON.parse(text);
      insert.run(i, contentOf(text), ...SEAL.map((name) => parsed[name]));
    }
  };

  test('is read from the only table of capsules, which is named with what was not read of it', async () => {
    const file = database((db) => {
      fill(db, 'kept', texts, `id, ${COLUMNS}, status`);
      db.exec('CREATE TABLE others (id, data); CREATE VIEW some AS SELECT * FROM kept');
    });
    expect(openSource(file)).toMatchObject({ table: 'kept', unread: ['column id', 'column status'] });
    expect(await verified(file)).toMatchObject({ outcome: 'ok', count: 2 });
  });

  test.each<[string, (db: Database.Database) => void, string]>([
    [
      'two tables of capsules',
      (db) => {
        fill(db, 'aaa_cache', texts);
        fill(db, 'capsules', tampered);
      },
      'CHAIN_SOURCE_AMBIGUOUS',
    ],
    [
      'two tables, one of which is spelt in capitals',
      (db) => {
        fill(db, 'aaa_cache', texts);
        fill(db, 'capsules', tampered, COLUMNS.toUpperCase());
      },
      'CHAIN_SOURCE_AMBIGUOUS',
    ],
    [
      'a table with both contents',
      (db) => fill(db, 'capsules', tampered, `${COLUMNS}, canonical`),
      'CHAIN_SOURCE_AMBIGUOUS',
    ],
    [
      'a table beside the store of Bulla',
      (db) => {
        fill(db, 'capsules', texts);
        db.exec('CREATE TABLE chain (a); CREATE TABLE record (a)');
      },
      'CHAIN_SOURCE_AMBIGUOUS',
    ],
    [
      'a view by the known name',
      (db) => {
        fill(db, 'aaa', texts);
        db.exec(
          `CREATE VIEW Capsules AS SELECT sequence, replace(data, 'action', 'x') AS data, ${REST} FROM aaa`,
        );
      },
      'CHAIN_SOURCE',
    ],
    [
      'a virtual table over a view without an end',
      (db) =>
        db.exec(`CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS rowid, x AS sequence,
          '{}' AS data, '' AS hash, '' AS signature, '' AS signature_pq, '' AS signed_at, '' AS signed_by FROM c;
          CREATE VIRTUAL TABLE caps USING fts5(sequence, data, ${REST}, content='v', content_rowid='rowid')`),
      'CHAIN_SOURCE',
    ],
    [
      'a computed column',
      (db) =>
        db.exec(
          `CREATE TABLE capsules (sequence, body TEXT, data TEXT AS (replace(body, 'evil', 'good')), ${REST})`,
        ),
      'CHAIN_SOURCE',
    ],
    [
      'a table that the schema lists by another name',
      (db) => {
        fill(db, 'aaa', texts);
        fill(db, 'capsules', tampered);
        db.unsafeMode();
        db.pragma('writable_schema = ON');
        db.exec("UPDATE sqlite_schema SET name = 'zzz', tbl_name = 'zzz' WHERE name = 'capsules'");
      },
      'CHAIN_SOURCE',
    ],
  ])('is refused with %s', (_, build, code) => {
    const file = database(build);
    expect(codeOf(() => openSource(file))).toBe(code);
  });

  test('is read by its table, whatever an index says', async () => {
    const file = database((db) => {
      fill(db, 'capsules', tampered);
      fill(db, 'twin', texts);
      db.exec(
        `CREATE INDEX one ON capsules (sequence, data, ${REST}); CREATE INDEX two ON twin (sequence, data, ${REST})`,
      );
      db.unsafeMode();
      db.pragma('writable_schema = ON');
      db.exec(`UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'two') WHERE name = 'one';
        DELETE FROM sqlite_schema WHERE tbl_name = 'twin'`);
    });
    expect(await verified(file)).toMatchObject({ codes: [0, 1].map((index) => [index, 'hash_mismatch']) });
  });

  test('ends where its pages refer to each other again and again', () => {
    const file = database((db) => {
      db.pragma('page_size = 512');
      db.exec(`CREATE TABLE capsules (sequence, data, ${REST}); INSERT INTO capsules (sequence) VALUES (0)`);
    });
    // Ten inner pages, each 60 times the parent of the next: 60 ** 10 rows.
    const pages = readFileSync(file);
    const count = pages.length / 512;
    const inner = Array.from({ length: 10 }, (_, level) => {
      const page = Buffer.alloc(512);
      const child = level === 9 ? count + 11 : count + level + 2;
      page.writeUInt8(5, 0);
      page.writeUInt16BE(60, 3);
      page.writeUInt16BE(512 - 300, 5);
      page.writeUInt32BE(child, 8);
      for (let i = 0; i < 60; i++) {
        page.writeUInt16BE(512 - 5 * (i + 1), 12 + 2 * i);
        page.writeUInt32BE(child, 512 - 5 * (i + 1));
        page.writeUInt8(1, 512 - 5 * i - 1);
      }
      return page;
    });
    const leaf = pages.subarray(-512);
    pages.writeUInt32BE(count + 11, 28);
    writeFileSync(file, Buffer.concat([pages, ...inner, leaf]));
    const db = new Database(file);
    db.unsafeMode();
    db.pragma('writable_schema = ON');
    db.exec(`UPDATE sqlite_schema SET rootpage = ${count + 1} WHERE name = 'capsules'`);
    db.close();
    expect(() => openSource(file)).toThrow('its table is larger than the file');
  });

  test('has bad rows among good ones', async () => {
    const bad = (value: unknown, column = 'data') =>
      database((db) => {
        fill(db, 'capsules', texts);
        db.prepare(`UPDATE capsules SET ${column} = ? WHERE sequence = 1`).run(value);
      });
    for (const [value, code] of [
      [null, 'not_an_object'],
      [5, 'not_an_object'],
      [Buffer.from('{}'), 'not_an_object'],
      ['[]', 'not_an_object'],
      ['not json', 'JSON_SYNTAX'],
    ] as const)
      expect(await verified(bad(value))).toMatchObject({ outcome: 'failed', count: 2, codes: [[1, code]] });
    expect((await verified(bad(Buffer.from('x'), 'hash'))).codes).toContainEqual([1, 'malformed_hex']);
    for (const [value, code] of [
      [null, 'JSON_UNEXPECTED_END'],
      [7, 'not_an_object'],
      [Buffer.from('{}'), 'JSON_SYNTAX'],
    ] as const) {
      const file = bad(value);
      const db = new Database(file);
      db.exec('ALTER TABLE capsules RENAME COLUMN data TO canonical');
      db.close();
      const { count, codes } = await verified(file);
      expect([count, codes.at(-1)]).toEqual([2, [1, code]]);
    }
  });
});

test('what cannot be read is told in a sentence', async () => {
  const folder = temporaryFolder();
  expect(codeOf(() => openSource(folder))).toBe('INPUT_UNREADABLE');
  const damaged = join(folder, 'x.db');
  writeFileSync(damaged, `SQLite format 3\u0000${'x'.repeat(200)}`);
  expect(codeOf(() => openSource(damaged))).toBe('CHAIN_SOURCE');
  const large = join(folder, 'x.json');
  writeFileSync(large, `{"a":1,\n`);
  truncateSync(large, 3 * 2 ** 30);
  expect(codeOf(() => openSource(large))).toBe('INPUT_TOO_LARGE');
});
