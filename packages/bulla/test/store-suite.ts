import { randomUUID } from 'node:crypto';
import type { CapsuleInput, OutcomeStatus } from '@bulla/core/capsule';
import {
  checkRecord,
  createCapsule,
  createChainVerifier,
  sealSync,
  verifyCapsule,
} from '@bulla/core/capsule';
import { localSigner, parseNote, publicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { environmentOf } from '@bulla/core/evidence';
import { float, type JsonObject, parse, stringify } from '@bulla/core/json';
import {
  addSignatures,
  Frontier,
  leafData,
  leafHash,
  logVerifiers,
  openCheckpoint,
  parseCheckpointBody,
  verifyConsistency,
  verifyInclusion,
} from '@bulla/core/log';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type Effect,
  liftKill,
  proveConsistency,
  proveInclusion,
  type Row,
  rootAt,
  type Store,
  type StoreOptions,
  setKill,
} from '../src/store/index.ts';

/** A test key. */
export const signer = localSigner('Ed25519', new Uint8Array(32).fill(3));
export const key = publicKey('Ed25519', signer.publicKey);
export const sealer = () => ({ signer });

export const input = (summary: string, more: CapsuleInput = {}): CapsuleInput => ({
  type: 'tool',
  domain: 'gateway',
  ...more,
  outcome: { status: 'success', summary, ...more.outcome },
});

/** A record with commitments. */
export function committing(
  summary: string,
  commitments: Partial<Record<'args' | 'rest' | 'result', string>>,
  more: CapsuleInput = {},
): CapsuleInput {
  const { args, rest, result } = commitments;
  const of = (commitment: string) => ({ commitment, of: 'jcs' as const });
  return input(summary, {
    ...more,
    context: {
      environment: environmentOf({ ...(args && { args: of(args) }), ...(rest && { rest: of(rest) }) }),
    },
    ...(result && { execution: { tool_calls: [{ tool: 't', result: of(result), success: true }] } }),
  });
}

/** The same store, but something else happens before anybody is told that a record is durable. */
export function afterAppend(store: Store, happens: () => Promise<unknown>): Store {
  return {
    ...store,
    chain(name) {
      const chain = store.chain(name);
      const append: typeof chain.append = async (...record) => {
        const sealed = await chain.append(...record);
        await happens();
        return sealed;
      };
      return { ...chain, append };
    },
  };
}

/** A chain that was sealed elsewhere, by a program that names no log. */
export function foreignRows(count: number): Row[] {
  const rows: Row[] = [];
  for (let sequence = 0; sequence < count; sequence++) {
    const now = new Date('2026-05-01T00:00:00Z');
    const content = createCapsule(input(`n${sequence}`), { id: randomUUID(), now });
    const placed = { ...content, sequence, previous_hash: rows.at(-1)?.hash ?? null };
    const { sealed, text } = sealSync(placed, signer, { signedAt: now });
    rows.push({ sequence, hash: sealed.hash, data: text });
  }
  return rows;
}

/** Verifies a whole chain as an auditor would; how many records it has. */
export async function verifiedLength(store: Store, name: string): Promise<number> {
  const verifier = createChainVerifier({ mode: 'cryptographic' });
  for await (const row of store.chain(name).records()) {
    const { link, verdict } = checkRecord(row.data, 'cryptographic', { keys: [key] });
    verifier.push(link, verdict);
  }
  const result = verifier.finish();
  expect(result.failures).toEqual([]);
  return result.count;
}

/** What every database must do; `open` gives a fresh handle on one empty store, again and again. */
export function storeSuite(open: (options?: Partial<StoreOptions>) => Promise<Store>): void {
  const opened = async (options?: Partial<StoreOptions>) => {
    const store = await open({ sealer, ...options });
    onTestFinished(() => store.close());
    return store;
  };

  describe('a chain', () => {
    test('begins empty, and grows record by record', async () => {
      const store = await opened();
      const chain = store.chain('first');
      expect(await chain.head()).toEqual({ length: 0, hash: null });
      const a = await chain.append(input('one'));
      const b = await chain.append(input('two'));
      expect([a.sequence, a.previous_hash, b.sequence, b.previous_hash]).toEqual([0, null, 1, a.hash]);
      expect(await chain.head()).toEqual({ length: 2, hash: b.hash });
      expect(await verifiedLength(store, 'first')).toBe(2);
      const rows = await Array.fromAsync(chain.records());
      expect(verifyCapsule(rows[1]!.data, { keys: [key] })).toMatchObject({
        ok: true,
        code: 'ok',
        form: '12',
      });
    });

    test('500 appends at once are 500 records in the order of the calls', async () => {
      const store = await opened();
      const chain = store.chain('many');
      const sealed = await Promise.all(Array.from({ length: 500 }, (_, i) => chain.append(input(`n${i}`))));
      expect(sealed.map((capsule) => capsule.sequence)).toEqual(Array.from({ length: 500 }, (_, i) => i));
      expect(sealed.map((capsule) => capsule.outcome.summary)).toEqual(
        Array.from({ length: 500 }, (_, i) => `n${i}`),
      );
      expect(await verifiedLength(store, 'many')).toBe(500);
    });

    test('a capsule that must not be sealed is refused alone, and leaves no gap', async () => {
      const store = await opened();
      const chain = store.chain('refused');
      const results = await Promise.allSettled([
        chain.append(input('good')),
        chain.append(input('bad', { authority: { type: 'policy' } })),
        chain.append(input('good too')),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((results[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'CAPSULE_LINT' });
      expect(await verifiedLength(store, 'refused')).toBe(2);
    });

    test('what the protocol allows is sealed as it is written, from values and from parsed JSON', async () => {
      const operator = 'op.example';
      const store = await opened({ tenant: 'odd', operator });
      const chain = store.chain('odd');
      const texts = ['0.00002', '1.0', '1e16', '9007199254740993', '-0.0', '1e-7', '"\\u0000"'];
      const metrics = (x: unknown) => ({ outcome: { metrics: { x } } }) as CapsuleInput;
      const values = [0.00002, float(1), 1e16, 2n ** 53n + 1n, -0, { '\u{1f600}': 1, '\ufffd': '\0' }];
      for (const text of texts) await chain.append(metrics(parse(text)));
      for (const value of values) await chain.append(metrics(value));
      const environment = parse('{"a\ufffd":1.0,"a\u{1f600}":2e-5}') as JsonObject;
      await chain.append({ context: { agent_id: 'a', environment } });
      const count = texts.length + values.length + 1;
      expect(await verifiedLength(store, 'odd')).toBe(count);
      expect((await store.find({ chain: 'odd' })).map(({ intact }) => intact)).toEqual(
        Array(count).fill(true),
      );
      const rows = await Array.fromAsync(chain.records());
      const written = rows.map(({ data }) => {
        const outcome = (parse(data) as JsonObject).get('outcome') as JsonObject;
        return stringify((outcome.get('metrics') as JsonObject).get('x') ?? null);
      });
      expect(written).toEqual(
        ['2e-05', '1.0', '1e+16', '9007199254740993', '-0.0', '1e-07', '"\\u0000"'].concat(
          ['2e-05', '1.0', '10000000000000000', '9007199254740993', '0'],
          ['{"\ufffd":"\\u0000","\u{1f600}":1}', 'null'],
        ),
      );
      expect(rows.at(-1)!.data).toContain('"environment":{"a\ufffd":1.0,"a\u{1f600}":2e-05}');
    });

    test('strictInterop refuses what others hash differently, before anything is done', async () => {
      const store = await opened({ tenant: 'strict' });
      const chain = store.chain('strict');
      const odd = (status: OutcomeStatus): CapsuleInput => ({ outcome: { status, metrics: { x: 0.00002 } } });
      const effect = setKill({ agentId: null, capsuleId: randomUUID(), reason: 'never' });
      await expect(chain.append(odd('success'), { effect, strictInterop: true })).rejects.toMatchObject({
        code: 'CAPSULE_LINT',
        findings: [{ path: '/outcome/metrics/x', code: 'interop' }],
      });
      expect([await chain.head(), await store.kills()]).toEqual([{ length: 0, hash: null }, []]);
      await chain.append(odd('success'));
      // A store that is strict refuses intents alone: what ran is recorded.
      const strict = (await opened({ tenant: 'strict', strictInterop: true })).chain('strict');
      await expect(strict.append(odd('pending'))).rejects.toMatchObject({ code: 'CAPSULE_LINT' });
      await strict.append(odd('failure'));
      expect(await verifiedLength(store, 'strict')).toBe(2);
    });

    test('two handles append to one chain in turn, and it never forks', async () => {
      const [a, b] = [await opened(), await opened()];
      await Promise.all(
        [a, b].flatMap((store, who) =>
          Array.from({ length: 200 }, (_, i) => store.chain('shared').append(input(`${who}/${i}`))),
        ),
      );
      await a.chain('shared').append(input('last'));
      expect(await verifiedLength(b, 'shared')).toBe(401);
    });

    test('many chains begin at once, each with an effect, and none waits for another', async () => {
      const store = await opened({ tenant: 'begin' });
      const effect = liftKill(null);
      const names = Array.from({ length: 40 }, (_, i) => `c${i}`);
      const sealed = await Promise.all(names.map((name) => store.chain(name).append(input('x'), { effect })));
      expect(sealed.map(({ sequence }) => sequence)).toEqual(names.map(() => 0));
    });

    test('records are read from any place on', async () => {
      const store = await opened();
      const chain = store.chain('pages');
      await Promise.all(Array.from({ length: 1203 }, (_, i) => chain.append(input(`n${i}`))));
      const from = await Array.fromAsync(chain.records(700));
      expect([from.length, from[0]!.sequence, from.at(-1)!.sequence]).toEqual([503, 700, 1202]);
    });

    test('without a key nothing is appended; a bad name is refused', async () => {
      const store = await open({});
      onTestFinished(() => store.close());
      await expect(store.chain('x').append(input('x'))).rejects.toMatchObject({ code: 'STORE_NO_KEY' });
      expect(() => store.chain('../x')).toThrow(expect.objectContaining({ code: 'STORE_NAME' }));
    });

    test('records from elsewhere are taken as they are, only where they continue the chain', async () => {
      const store = await opened();
      const rows = foreignRows(3);
      await store.chain('copy').adopt(rows);
      expect(await Array.fromAsync(store.chain('copy').records())).toEqual(rows);
      await expect(store.chain('copy').adopt(rows)).rejects.toMatchObject({ code: 'STORE_ADOPT' });
      expect(await verifiedLength(store, 'copy')).toBe(3);
    });

    test('the chain of another operator or tenant, or one that is here already, is not taken', async () => {
      const operator = 'op.example';
      const store = await opened({ tenant: 'adopts', operator });
      for (const i of [0, 1]) await store.chain('source').append(input(`n${i}`));
      const rows = await Array.fromAsync(store.chain('source').records());
      const foreign = { code: 'STORE_FOREIGN' };
      await expect(store.chain('copy').adopt(rows)).rejects.toMatchObject(foreign);
      for (const other of [
        { tenant: 'evil', operator },
        { operator },
        { tenant: 'adopts', operator: 'other.example' },
      ]) {
        const elsewhere = await opened(other);
        await expect(elsewhere.chain('unused').adopt(rows)).rejects.toMatchObject(foreign);
        expect((await elsewhere.chain('unused').head()).length).toBe(0);
      }
    });
  });

  describe('the tree', () => {
    const treeOf = async (store: Store, name: string) => {
      const tree = new Frontier();
      for await (const row of store.chain(name).records())
        tree.push(leafHash(leafData(parse(row.data) as JsonObject)));
      return tree;
    };

    test('grows with the chain, whoever appends, and every level of it can be read back', async () => {
      const [a, b] = [await opened({ tenant: 'tree' }), await opened({ tenant: 'tree' })];
      for (const [store, count] of [
        [a, 200],
        [b, 100],
        [a, 300],
      ] as const) {
        await Promise.all(Array.from({ length: count }, (_, i) => store.chain('t').append(input(`n${i}`))));
      }
      const { tiles } = b.chain('t');
      expect(await rootAt(tiles, 600)).toEqual((await treeOf(a, 't')).root());
      expect((await tiles.tile(1, 0, 2)).length).toBe(64);
      const leaves: Uint8Array[] = [];
      for await (const row of a.chain('t').records())
        leaves.push(leafHash(leafData(parse(row.data) as JsonObject)));
      const root = await rootAt(tiles, 600);
      for (const index of [0, 255, 256, 511, 512, 599]) {
        const proof = await proveInclusion(tiles, index, 600);
        verifyInclusion({ leaf: leaves[index]!, index, size: 600, root, proof });
      }
      for (const oldSize of [1, 256, 257, 512, 600]) {
        const proof = await proveConsistency(tiles, oldSize, 600);
        verifyConsistency({ oldSize, oldRoot: await rootAt(tiles, oldSize), size: 600, root, proof });
      }
    });

    test('holds records from elsewhere too', async () => {
      const store = await opened({ tenant: 'tree' });
      await store.chain('to').adopt(foreignRows(3));
      expect(await rootAt(store.chain('to').tiles, 3)).toEqual((await treeOf(store, 'to')).root());
    });
  });

  describe('checkpoints', () => {
    const opens = (note: string) => {
      const { origin } = parseCheckpointBody(parseNote(note).text);
      return openCheckpoint(note, logVerifiers(origin, [key])).checkpoint;
    };

    test('are made on demand, signed with the key of the chain, under the name that the first record says', async () => {
      const store = await opened({ tenant: 'acme/eu', operator: 'example.com/agents' });
      const chain = store.chain('c');
      expect(await chain.origin()).toBe(null);
      await expect(chain.checkpoint()).rejects.toMatchObject({ code: 'CHAIN_EMPTY' });
      const first = await chain.append(input('one', { context: { environment: { host: 'h1' } } }));
      const origin = 'example.com/agents/acme%2Feu/c';
      expect(first.context.environment).toEqual({ host: 'h1', bulla: { v: 1, origin } });
      await chain.append(input('two'));
      const { note, size } = await chain.checkpoint();
      expect([size, await chain.origin()]).toEqual([2, origin]);
      expect(opens(note)).toEqual({ origin, size: 2, root: await rootAt(chain.tiles, 2), extensions: [] });
      expect(await chain.checkpoint()).toEqual({ origin, size: 2, note });
      expect(await chain.checkpoints()).toEqual([{ origin, size: 2, note }]);
    });

    test('are made every 256 records, and of the rest when the store is closed', async () => {
      const store = await open({ sealer, tenant: 'cadence' });
      const chain = store.chain('c');
      for (let round = 0; round < 6; round++)
        await Promise.all(Array.from({ length: 100 }, (_, i) => chain.append(input(`n${i}`))));
      await store.close();
      const reader = await opened({ tenant: 'cadence' });
      const sizes = (await reader.chain('c').checkpoints()).map(({ size }) => size);
      expect(sizes).toEqual([600, 600 - (600 % 300), 300].filter((size, i, all) => all.indexOf(size) === i));
      expect((await reader.chain('c').checkpoints(1)).map(({ note }) => opens(note).size)).toEqual([600]);
    });

    test('two stores with different names for their operator do not get in each other’s way', async () => {
      const store = await opened({ tenant: 'op', operator: 'one.example' });
      await store.chain('x').append(input('x'));
      const other = await opened({ tenant: 'op', operator: 'two.example' });
      await other.chain('x').append(input('y'));
      expect(await other.chain('x').origin()).toBe('one.example/op/x');
      await expect(
        opened({ tenant: 'op', operator: 'has space' }).then((bad) => bad.chain('z').append(input('z'))),
      ).rejects.toMatchObject({ code: 'STORE_NAME' });
    });

    test('are shown to witnesses, and kept with what these add', async () => {
      const line = '— w.example/1 AAAAAQAAAAA=\n';
      const asked: number[] = [];
      const store = await opened({
        tenant: 'witnessed',
        submit: async ({ note, size, consistency }) => {
          asked.push(size, (await consistency(1)).length);
          return addSignatures(note, line);
        },
      });
      const chain = store.chain('w');
      await Promise.all([0, 1, 2].map((i) => chain.append(input(`n${i}`))));
      const { note } = await chain.checkpoint();
      expect(note.endsWith(line)).toBe(true);
      expect((await chain.checkpoints())[0]!.note).toBe(note);
      expect(asked).toEqual([3, 2]);
      // Another process that makes the same one, without witnesses, takes nothing away.
      const other = await opened({ tenant: 'witnessed' });
      await other.chain('w').checkpoint();
      expect((await chain.checkpoints()).map((stored) => stored.note)).toEqual([note]);
    });
  });

  describe('tenants', () => {
    test('each sees its own chains, and null is one of them', async () => {
      const [none, acme, other] = [
        await opened(),
        await opened({ tenant: 'acme' }),
        await opened({ tenant: 'other' }),
      ];
      await none.chain('t').append(input('of nobody'));
      await acme.chain('t').append(input('of acme'));
      await acme.chain('t').append(input('of acme again'));
      expect((await none.chain('t').head()).length).toBe(1);
      expect((await acme.chain('t').head()).length).toBe(2);
      expect((await other.chain('t').head()).length).toBe(0);
      expect((await acme.find({ chain: 't' })).length).toBe(2);
      expect((await none.find({ chain: 't' })).length).toBe(1);
      expect(await other.find({})).toEqual([]);
    });

    test('an empty name is refused', async () => {
      await expect(open({ tenant: '' })).rejects.toMatchObject({ code: 'STORE_NAME' });
    });
  });

  describe('searching', () => {
    test('by each of the fields, newest first', async () => {
      const store = await opened({ tenant: 'search' });
      const chain = store.chain('s');
      const at = (minute: number) => ({ timestamp: `2026-03-01T10:0${minute}:00+00:00` });
      const first = await chain.append(
        input('Wrote the change log', {
          trigger: { ...at(1), correlation_id: 'trace-1' },
          context: { agent_id: 'bot', session_id: 'sess-1' },
          execution: {
            tool_calls: [
              { tool: 'write_file', success: true },
              { tool: 'read_file', success: true },
            ],
          },
        }),
      );
      const second = await chain.append(
        input('Refused to delete', {
          type: 'kill',
          domain: 'ops',
          trigger: at(2),
          context: { agent_id: 'bot' },
          outcome: { status: 'blocked' },
        }),
      );
      const found = async (query: Parameters<Store['find']>[0]) =>
        (await store.find(query)).map((record) => record.hash);
      expect(await found({})).toEqual([second.hash, first.hash]);
      expect(await found({ id: first.id })).toEqual([first.hash]);
      expect(await found({ hash: second.hash })).toEqual([second.hash]);
      expect(await found({ chain: 's', sequence: 1 })).toEqual([second.hash]);
      expect(await found({ type: 'kill' })).toEqual([second.hash]);
      expect(await found({ domain: 'gateway' })).toEqual([first.hash]);
      expect(await found({ agentId: 'bot' })).toEqual([second.hash, first.hash]);
      expect(await found({ sessionId: 'sess-1' })).toEqual([first.hash]);
      expect(await found({ correlationId: 'trace-1' })).toEqual([first.hash]);
      expect(await found({ status: 'blocked' })).toEqual([second.hash]);
      expect(await found({ tool: 'read_file' })).toEqual([first.hash]);
      expect(await found({ since: '2026-03-01T10:02:00+00:00' })).toEqual([second.hash]);
      expect(await found({ until: '2026-03-01T10:02:00+00:00' })).toEqual([first.hash]);
      expect(await found({ text: 'change LOG' })).toEqual([first.hash]);
      expect(await found({ text: 'change delete' })).toEqual([]);
      expect(await found({ text: '"; DROP TABLE record; --' })).toEqual([]);
      expect(await found({ limit: 1, offset: 1 })).toEqual([first.hash]);
      expect(await found({ type: 'kill', domain: 'gateway' })).toEqual([]);
      await expect(store.find({ limit: 0 })).rejects.toMatchObject({ code: 'STORE_QUERY' });
      await expect(store.find({ text: ' ' })).rejects.toMatchObject({ code: 'STORE_QUERY' });
      const misspelt = { agentID: 'bot' } as object;
      await expect(store.find(misspelt)).rejects.toMatchObject({
        code: 'STORE_QUERY',
        message: 'A query has no member "agentID".',
        path: '/agentID',
      });
    });

    test('by the record that they follow, and by the tool of a call that was only intended or denied', async () => {
      const store = await opened({ tenant: 'follow' });
      const chain = store.chain('s');
      const about = (name: string) => ({
        context: { environment: environmentOf({ tool: { server: 'files', name } }) },
      });
      const intent = await chain.append(
        input('intent', { ...about('write'), outcome: { status: 'pending' } }),
      );
      const outcome = await chain.append(input('outcome', { ...about('write'), parent_id: intent.id }));
      const denied = await chain.append(
        input('denied', { ...about('delete'), outcome: { status: 'blocked' } }),
      );
      const found = async (query: Parameters<Store['find']>[0]) =>
        (await store.find(query)).map(({ hash, intact }) => [hash, intact]);
      expect(await found({ parentId: intent.id })).toEqual([[outcome.hash, true]]);
      expect(await found({ parentId: outcome.id })).toEqual([]);
      expect(await found({ tool: 'write' })).toEqual([
        [outcome.hash, true],
        [intent.hash, true],
      ]);
      expect(await found({ tool: 'write', status: 'pending' })).toEqual([[intent.hash, true]]);
      expect(await found({ tool: 'delete' })).toEqual([[denied.hash, true]]);
      // Somebody who can write to the search tables puts the denial behind the intent.
      await store.transaction(async ({ run }) => {
        await run('UPDATE found SET parent_id = ? WHERE id = ?', intent.id, denied.id);
      });
      expect(await found({ parentId: intent.id })).toEqual([
        [denied.hash, false],
        [outcome.hash, true],
      ]);
    });

    test('by text that others chose: NUL, half characters, very long; and nothing else is found by it', async () => {
      const store = await opened({ tenant: 'hostile' });
      const chain = store.chain('s');
      const long = 'x'.repeat(9000);
      const append = async (text: string) => {
        const call = { tool: text, success: false };
        const context = { agent_id: text, session_id: text };
        const trigger = { correlation_id: text };
        const summary = `${text} ${'words '.repeat(200_000)}last`;
        return chain.append(
          input(summary, { context, trigger, domain: text, execution: { tool_calls: [call] } }),
        );
      };
      const texts = ['re\0ad', 're\\0ad', 're ad', 're', `${long}a`, `${long}b`, '\\#', 'é\0'.repeat(2000)];
      const sealed = [];
      for (const text of texts) sealed.push(await append(text));
      const after = await chain.append(input('plain'));
      for (const [i, text] of texts.entries()) {
        for (const query of [
          { tool: text },
          { sessionId: text },
          { correlationId: text },
          { agentId: text },
          { domain: text },
        ])
          expect((await store.find(query)).map(({ hash }) => hash)).toEqual([sealed[i]!.hash]);
      }
      expect((await store.find({ id: after.id })).map(({ hash }) => hash)).toEqual([after.hash]);
      expect((await store.find({ text: 're\0ad' })).length).toBe(2);
      expect(await store.find({ id: '\0', chain: '\0', type: '\0', status: '\0', since: '\0' })).toEqual([]);
    });

    test('a record that cannot be indexed is told of and found by its hash as not intact; it hides no other', async () => {
      const store = await opened({ tenant: 'unreadable' });
      const chain = store.chain('s');
      for (let i = 0; i < 3; i++) await chain.append(input(`n${i}`));
      const rows = await Array.fromAsync(chain.records());
      const told: string[] = [];
      const listen = (warning: Error) => told.push(warning.message);
      process.on('warning', listen);
      onTestFinished(() => void process.off('warning', listen));
      // What somebody wrote into the database behind our back.
      await store.transaction(async ({ run }) => {
        await run("UPDATE record SET data = 'not json' WHERE hash = ?", rows[1]!.hash);
      });
      expect((await store.find({ text: 'n2' })).map(({ sequence }) => sequence)).toEqual([2]);
      expect((await store.find({ hash: rows[0]!.hash })).map(({ sequence }) => sequence)).toEqual([0]);
      expect(await store.find({ hash: rows[1]!.hash })).toMatchObject([{ sequence: 1, intact: false }]);
      await new Promise((resolve) => setImmediate(resolve));
      expect(told).toEqual(['Record 1 of the chain s can be found by its hash only (JSON_SYNTAX).']);
    });

    test('a record that is missing hides no other, and ends no search', async () => {
      const store = await opened({ tenant: 'gap' });
      const chain = store.chain('s');
      const found = async (query: Parameters<Store['find']>[0]) =>
        (await store.find(query)).map(({ sequence }) => sequence);
      for (let i = 0; i < 4; i++) await chain.append(input(`n${i}`));
      const rows = await Array.fromAsync(chain.records());
      await store.transaction(async ({ run }) => {
        await run('DELETE FROM record WHERE hash = ?', rows[1]!.hash);
      });
      expect(await found({ text: 'n3' })).toEqual([3]);
      await chain.append(input('n4'));
      expect(await found({ text: 'n4' })).toEqual([4]);
      expect(await found({ chain: 's' })).toEqual([4, 3, 2, 0]);
    });

    test('text that a database would change is refused by every statement', async () => {
      const store = await opened({ tenant: 'text' });
      for (const text of ['a\0b', 'a\ud800']) {
        const kill = setKill({ agentId: text, reason: 'x', capsuleId: 'x' });
        const refused = { code: 'STORE_TEXT' };
        await expect(store.chain('t').append(input('kill'), { effect: kill })).rejects.toMatchObject(refused);
        // Found by the same form of a key as the search tables have.
        expect([await store.opening(text), await store.eraseOpenings(text)]).toEqual([null, 0]);
        await expect(open({ tenant: text })).rejects.toMatchObject({ code: 'STORE_NAME' });
        await store.assertMayAct(text);
      }
      expect((await store.chain('t').head()).length).toBe(0);
    });

    test('the tables can be filled anew from the chains', async () => {
      const store = await opened({ tenant: 'rebuild' });
      await Promise.all(
        Array.from({ length: 1100 }, (_, i) => store.chain('r').append(input(`number ${i}`))),
      );
      expect((await store.find({ text: 'number 7' })).length).toBe(1);
      expect(await store.reindex()).toBe(1100);
      expect((await store.find({ text: 'number 7' })).length).toBe(1);
      expect((await store.chains()).map(({ name, indexed }) => [name, indexed])).toEqual([['r', 1100]]);
    });
  });

  describe('effects', () => {
    const refusing: Effect = async (transaction) => {
      await setKill({ agentId: 'refused', reason: 'x', capsuleId: 'x' })(transaction);
      throw new BullaError('CONSENT_CONFLICT', 'No.');
    };

    test('one that refuses takes its own record back, and what it changed, and no other', async () => {
      const store = await opened({ tenant: 'effects' });
      const kill = (agentId: string) => setKill({ agentId, reason: 'x', capsuleId: 'x' });
      const results = await Promise.allSettled([
        store.chain('e').append(input('first'), { effect: kill('a') }),
        store.chain('e').append(input('refused'), { effect: refusing }),
        store.chain('e').append(input('plain')),
        store.chain('e').append(input('last'), { effect: kill('b') }),
      ]);
      expect(results.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'fulfilled',
      ]);
      expect((results[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'CONSENT_CONFLICT' });
      expect((await store.kills()).map(({ agentId }) => agentId)).toEqual(['a', 'b']);
      const summaries: string[] = [];
      for await (const row of store.chain('e').records())
        summaries.push(JSON.parse(row.data).outcome.summary);
      expect(summaries).toEqual(['first', 'plain', 'last']);
      expect(await verifiedLength(store, 'e')).toBe(3);
    });

    test('a statement that fails refuses its own record alone', async () => {
      const store = await opened({ tenant: 'effects-fail' });
      const broken: Effect = async ({ run }) => void (await run('INSERT INTO no_such_table VALUES (?)', 1));
      const results = await Promise.allSettled([
        store.chain('e').append(input('broken'), { effect: broken }),
        store.chain('e').append(input('good'), { effect: liftKill(null) }),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
      expect((results[0] as PromiseRejectedResult).reason).toMatchObject({ code: 'STORE_FAILED' });
      expect(await verifiedLength(store, 'e')).toBe(1);
    });

    test('are not to be seen before they are durable', async () => {
      const store = await opened({ tenant: 'effects-seen' });
      const seen: number[] = [];
      await store.chain('e').append(input('kill'), {
        async effect(transaction) {
          await setKill({ agentId: 'a', reason: 'x', capsuleId: 'x' })(transaction);
          seen.push((await store.kills()).length);
        },
      });
      seen.push((await store.kills()).length);
      expect(seen).toEqual([0, 1]);
    });

    test('a transaction without a record is whole, or nothing', async () => {
      const store = await opened({ tenant: 'effects-alone' });
      await expect(store.transaction(refusing)).rejects.toMatchObject({ code: 'CONSENT_CONFLICT' });
      expect(await store.kills()).toEqual([]);
      await store.transaction(setKill({ agentId: 'a', reason: 'x', capsuleId: 'x' }));
      expect((await store.kills()).length).toBe(1);
    });
  });

  describe('the kill switch', () => {
    test('stands from the moment its capsule is durable, for every handle, until it is lifted', async () => {
      const [a, b] = [await opened({ tenant: 'kill' }), await opened({ tenant: 'kill' })];
      await b.assertMayAct('bot');
      const kill = { agentId: 'bot', reason: 'it ran away', capsuleId: 'x' };
      const stopped = { type: 'kill', outcome: { status: 'blocked' } } as const;
      await a.chain('k').append(input('stop', stopped), { effect: setKill(kill) });
      await expect(b.assertMayAct('bot')).rejects.toMatchObject({
        code: 'KILLED',
        message: 'A kill switch stands for agent bot: it ran away',
      });
      await b.assertMayAct('other');
      await a.chain('k').append(input('all', stopped), { effect: setKill({ ...kill, agentId: null }) });
      await expect(b.assertMayAct('other')).rejects.toMatchObject({ code: 'KILLED' });
      expect((await b.kills()).map((kill) => kill.agentId)).toEqual([null, 'bot']);
      await b.chain('k').append(input('lifted', { type: 'kill' }), { effect: liftKill(null) });
      await b.assertMayAct('other');
      await expect(a.assertMayAct('bot')).rejects.toMatchObject({ code: 'KILLED' });
    });
  });

  describe('openings', () => {
    const salt = new Uint8Array(32).fill(255);
    const opening = (kind: 'args' | 'rest' | 'result', payload: string | null) => ({ kind, salt, payload });

    test('are found by their commitment right after the append, each with its record', async () => {
      const store = await opened({ tenant: 'open' });
      const chain = store.chain('o');
      await chain.append(input('first'));
      const openings = [opening('args', '{"a":1}'), opening('rest', null)];
      await chain.append(committing('intent', { args: 'c1', rest: 'c2' }), { openings });
      await chain.append(committing('outcome', { args: 'c1', result: 'c3' }), {
        openings: [opening('result', '7')],
        effect: liftKill(null),
      });
      const at = (sequence: number) => ({ chain: 'o', sequence });
      expect(await store.opening('c1')).toEqual({ ...openings[0], ...at(1) });
      expect(await store.opening('c2')).toEqual({ ...openings[1], ...at(1) });
      expect(await store.opening('c3')).toEqual({ ...opening('result', '7'), ...at(2) });
      expect(await store.opening('c4')).toBe(null);
      const other = await opened({ tenant: 'open-other' });
      expect(await other.opening('c1')).toBe(null);
      expect(await store.reindex()).toBe(3);
      expect(await store.opening('c1')).toEqual({ ...openings[0], ...at(1) });
    });

    test('many appends at once each have theirs', async () => {
      const store = await opened({ tenant: 'open-many' });
      const chain = store.chain('o');
      await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          chain.append(committing(`n${i}`, { args: `a${i}` }), { openings: [opening('args', `${i}`)] }),
        ),
      );
      for (const i of [0, 31, 59])
        expect(await store.opening(`a${i}`)).toEqual({
          ...opening('args', `${i}`),
          chain: 'o',
          sequence: i,
        });
    });

    test('are erased without touching the chain, also where a question and a call share them', async () => {
      const store = await opened({ tenant: 'open-erase' });
      const chain = store.chain('o');
      const questionOpenings = [opening('args', '{"a":1}'), opening('rest', null)];
      const question = await chain.append(committing('question', { args: 'shared', rest: 'own' }), {
        openings: questionOpenings,
      });
      const intent = await store.chain('p').append(committing('intent', { args: 'shared', rest: 'later' }), {
        openings: [opening('args', null), opening('rest', null)],
      });
      const result = { openings: [opening('result', '7')] };
      await store.chain('p').append(committing('outcome', { args: 'shared', result: 'given' }), result);
      // The payload is what people look for, wherever it was recorded.
      expect(await store.opening('shared')).toMatchObject({ chain: 'o', payload: '{"a":1}' });
      expect(await store.eraseOpenings(question.id)).toBe(3);
      expect(await store.opening('shared')).toBe(null);
      expect(await store.opening('own')).toBe(null);
      // What only stands beside it in the other records is not erased.
      expect(await store.opening('later')).toMatchObject({ chain: 'p', sequence: 0 });
      expect(await store.opening('given')).toMatchObject({ chain: 'p', sequence: 1, payload: '7' });
      expect(await store.eraseOpenings(intent.id)).toBe(1);
      expect(await store.eraseOpenings(intent.id)).toBe(0);
      expect(await verifiedLength(store, 'o')).toBe(1);
      expect(await verifiedLength(store, 'p')).toBe(2);
    });

    test('of a record that is refused are not stored', async () => {
      const store = await opened({ tenant: 'open-refused' });
      const refuse: Effect = async () => {
        throw new BullaError('CONSENT_CONFLICT', 'No.');
      };
      const openings = [opening('args', '1')];
      const refused = store
        .chain('o')
        .append(committing('refused', { args: 'a' }), { openings, effect: refuse });
      await expect(refused).rejects.toMatchObject({ code: 'CONSENT_CONFLICT' });
      const { length } = await store.reading.all<object>(
        "SELECT 1 FROM opening JOIN chain ON chain.chain_key = opening.chain_key WHERE coalesce(chain.tenant, '') = ?",
        'open-refused',
      );
      expect(length).toBe(0);
    });
  });
}
