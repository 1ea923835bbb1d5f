import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  formatVkey,
  localSigner,
  noteVerifier,
  openNote,
  parseVkey,
  publicKey,
  signNote,
  toBase64,
} from '@bulla/core/crypto';
import { EMPTY_ROOT, formatCheckpointBody, signCheckpoint } from '@bulla/core/log';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { type TestLog, testLog } from '../../test/witness-log.ts';
import { type Evidence, readLogs } from './index.ts';
import { createWitness, type Witness } from './server.ts';
import { MAX_EVIDENCE, openState, type WitnessState } from './state.ts';

const NAME = 'witness.example/w1';
const NOW = 1_800_000_000;
// Test keys.
const ed25519 = { name: NAME, signer: localSigner('Ed25519', new Uint8Array(32).fill(7)), type: 0x04 };
const mlDsa = { name: NAME, signer: localSigner('ML-DSA-44', new Uint8Array(32).fill(8)), type: 0x06 };
const verifier = noteVerifier(NAME, publicKey('Ed25519', ed25519.signer.publicKey), 0x04);
const PLAIN = 'text/plain; charset=utf-8';

interface Made {
  witness: Witness;
  state: WitnessState;
  evidence: Evidence[];
  clock: { seconds: number };
  add(
    log: TestLog,
    oldSize: number,
    size: number,
    proof?: Uint8Array[],
  ): Promise<{ status: number; body: string }>;
}

function make(
  logs: readonly string[] = [testLog().vkey],
  { file = join(temporaryFolder(), 'state.db'), cosigners = [ed25519] } = {},
): Made {
  const state = openState(file, { name: NAME });
  onTestFinished(() => state.close());
  const evidence: Evidence[] = [];
  const clock = { seconds: NOW };
  const witness = createWitness({
    state,
    cosigners,
    logs: () => readLogs(logs),
    now: () => new Date(clock.seconds * 1000 + 999),
    onEvidence: (found) => evidence.push(found),
    onError: (error) => expect(error).toMatchObject({ code: expect.stringMatching(/^WITNESS_(CLOCK|KEY)$/) }),
  });
  const add: Made['add'] = async (log, oldSize, size, proof) => {
    const { status, body } = await witness.addCheckpoint(await log.request(oldSize, size, proof));
    return { status, body };
  };
  return { witness, state, evidence, clock, add };
}

const text = (body: string) => Buffer.from(body);

describe('a dialogue, byte for byte', () => {
  const origin = 'log.example/a';
  const note1 = `${origin}\n1\nX+yz+2yxMYqSa5Qf3X94AHK3XLaKJ+oD1xV4w0jmwXY=\n`;

  test('the first checkpoint is cosigned as the specification says', async () => {
    const { witness } = make();
    const log = testLog();
    const request = Buffer.from(await log.request(0, 3)).toString();
    expect(request.split('\n')).toEqual([
      'old 0',
      '',
      'log.example/a',
      '3',
      Buffer.from(log.root(3)).toString('base64'),
      '',
      expect.stringMatching(/^— log\.example\/a [A-Za-z0-9+/]{90}[A-Za-z0-9+/=]{2}$/),
      '',
    ]);
    const answer = await witness.addCheckpoint(text(request));
    expect(answer).toMatchObject({ status: 200, contentType: PLAIN, origin, size: 3 });

    // Taken apart without our own code: name, key id, time, and the signature over what tlog-cosignature says.
    const [, name, base64] = /^— (\S+) (\S+)\n$/.exec(answer.body)!;
    const bytes = Buffer.from(base64!, 'base64');
    expect([name, bytes.length]).toEqual([NAME, 4 + 8 + 64]);
    const key = ed25519.signer.publicKey;
    const id = createHash('sha256').update(`${NAME}\n\x04`).update(key).digest().subarray(0, 4);
    expect(bytes.subarray(0, 4)).toEqual(id);
    expect(bytes.readBigUInt64BE(4)).toBe(BigInt(NOW));
    const body = request.slice('old 0\n\n'.length).split('\n\n')[0];
    const message = `cosignature/v1\ntime ${NOW}\n${body}\n`;
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key).toString('base64url') };
    const publicObject = createPublicKey({ key: jwk, format: 'jwk' });
    expect(verify(null, Buffer.from(message), publicObject, bytes.subarray(12))).toBe(true);
  });

  test('the next one needs the old size and a proof, and is told which size', async () => {
    const { witness } = make();
    const log = testLog();
    const post = async (request: Uint8Array) => {
      const { status, contentType, body } = await witness.addCheckpoint(request);
      return { status, contentType, body };
    };
    expect(await post(await log.request(0, 3))).toMatchObject({ status: 200 });
    expect(await post(await log.request(0, 8))).toEqual({
      status: 409,
      contentType: 'text/x.tlog.size',
      body: '3\n',
    });
    const good = Buffer.from(await log.request(3, 8)).toString();
    expect(good.split('\n').slice(0, 6)).toEqual([
      'old 3',
      ...log.proof(3, 8).map((hash) => Buffer.from(hash).toString('base64')),
      '',
    ]);
    expect(await post(text(good))).toMatchObject({ status: 200, contentType: PLAIN });
    expect(await post(text(good))).toEqual({ status: 409, contentType: 'text/x.tlog.size', body: '8\n' });
    expect(await post(await log.request(8, 8))).toMatchObject({ status: 200 });
  });

  test('ML-DSA-44 cosigns beside Ed25519, each line by its own key', async () => {
    const { witness } = make(undefined, { cosigners: [ed25519, mlDsa] });
    const log = testLog();
    const { status, body } = await witness.addCheckpoint(await log.request(0, 5));
    expect(status).toBe(200);
    const opened = openNote((await log.note(5)) + body, witness.vkeys.map(parseVkey));
    expect(opened.verified.map((line) => [line.verifier.type, line.time])).toEqual([
      [0x04, NOW],
      [0x06, NOW],
    ]);
    expect(opened.verified.map(({ signature }) => signature.length)).toEqual([8 + 64, 8 + 2420]);
  });

  test.for([
    ['nothing', ''],
    ['no empty line', 'old 0\n'],
    ['a leading zero', `old 00\n\n${note1}`],
    ['a sign', `old +1\n\n${note1}`],
    ['two spaces', `old  1\n\n${note1}`],
    ['a size beyond 2^53', `old 9007199254740992\n\n${note1}`],
    ['a carriage return', `old 0\r\n\r\n${note1}`],
    ['a line before', `\nold 0\n\n${note1}`],
    ['a proof line that is no base64', `old 0\n*\n\n${note1}`],
    ['a hash of 31 bytes', `old 0\n${toBase64(new Uint8Array(31))}\n\n${note1}`],
    ['base64 that is not canonical', `old 0\n${'A'.repeat(42)}B=\n\n${note1}`],
    ['64 proof lines', `old 0\n${`${toBase64(new Uint8Array(32))}\n`.repeat(64)}\n${note1}`],
    ['a note without signatures', `old 0\n\n${note1}`],
    ['a checkpoint of two lines', 'old 0\n\nlog.example/a\n1\n\n— log.example/a AAAAAAA=\n'],
    ['a size that is no number', `old 0\n\n${note1.replace('\n1\n', '\none\n')}\n— log.example/a AAAAAAA=\n`],
    [
      'a root of 31 bytes',
      `old 0\n\n${origin}\n1\n${toBase64(new Uint8Array(31))}\n\n— ${origin} AAAAAAA=\n`,
    ],
    ['a tree without leaves with no root', `old 0\n\n${origin}\n0\nAAAA\n\n— ${origin} AAAAAAA=\n`],
  ])('400: %s', async ([, body]) => {
    const { witness } = make();
    expect(await witness.addCheckpoint(text(body!))).toMatchObject({ status: 400, contentType: PLAIN });
  });

  test('400: bytes that are no UTF-8', async () => {
    const { witness } = make();
    expect(await witness.addCheckpoint(Uint8Array.of(0x6f, 0xff))).toMatchObject({
      status: 400,
      body: 'A request is valid UTF-8.\n',
    });
  });

  test('63 proof lines are read; that they prove nothing is another matter', async () => {
    const { witness, add } = make();
    await add(testLog(), 0, 3);
    const proof = Array.from({ length: 63 }, () => new Uint8Array(32));
    expect((await witness.addCheckpoint(await testLog().request(3, 5, proof))).status).toBe(422);
  });
});

describe('the order of checks', () => {
  test('404 for an unknown log, before its signature is looked at', async () => {
    const { add, witness } = make();
    expect(await add(testLog({ origin: 'log.example/other' }), 0, 3)).toEqual({
      status: 404,
      body: 'This log is not known here.\n',
    });
    const unsigned = `old 5\n\nlog.example/other\n1\n${toBase64(new Uint8Array(32))}\n\n— x AAAAAAA=\n`;
    expect((await witness.addCheckpoint(text(unsigned))).status).toBe(404);
  });

  test('403 if no known key signed, or one signed badly', async () => {
    const { witness, add } = make();
    expect(await add(testLog({ seed: 2 }), 0, 3)).toMatchObject({
      status: 403,
      body: 'No known key signed the note.\n',
    });
    const good = Buffer.from(await testLog().request(0, 3)).toString();
    const other = await testLog().note(4);
    const forged = good.slice(0, good.indexOf('— ')) + other.slice(other.indexOf('— '));
    expect(await witness.addCheckpoint(text(forged))).toMatchObject({
      status: 403,
      body: 'The signature of log.example/a does not verify.\n',
    });
    // A good line does not make up for a bad one of a key that is known too (signed-note).
    const rotated = make([testLog().vkey, testLog({ seed: 2 }).vkey]);
    const second = (await testLog({ seed: 2 }).note(4)).split('\n\n')[1];
    expect((await rotated.witness.addCheckpoint(text(good + second))).status).toBe(403);
    expect((await rotated.witness.addCheckpoint(text(`${good}— someone.else AAAAAAA=\n`))).status).toBe(200);
  });

  test('400 for an old size above that of the checkpoint, but only if the log signed it', async () => {
    const { add } = make();
    expect(await add(testLog(), 5, 3)).toEqual({
      status: 400,
      body: 'The old size is above that of the checkpoint.\n',
    });
    expect((await add(testLog({ seed: 2 }), 5, 3)).status).toBe(403);
  });

  test('409 before the proof is looked at; 0 if nothing was cosigned', async () => {
    const { add } = make();
    expect(await add(testLog(), 2, 3, [])).toEqual({ status: 409, body: '0\n' });
    expect((await add(testLog(), 0, 3)).status).toBe(200);
    expect(await add(testLog(), 2, 5, [])).toEqual({ status: 409, body: '3\n' });
  });

  test('422 for a proof that shows nothing, is too long, or is there where none may be', async () => {
    const { add } = make();
    const log = testLog();
    expect(await add(log, 0, 3, [log.root(1)])).toEqual({
      status: 422,
      body: 'From a tree without leaves the proof is empty.\n',
    });
    expect((await add(log, 0, 3)).status).toBe(200);
    expect((await add(log, 3, 8, [])).status).toBe(422);
    expect((await add(log, 3, 8, [...log.proof(3, 8), log.root(1)])).status).toBe(422);
    expect((await add(log, 3, 8, log.proof(4, 8))).status).toBe(422);
    expect((await add(log, 3, 3, [log.root(1)])).status).toBe(422);
    expect((await add(log, 3, 8)).status).toBe(200);
  });

  test('a tree without leaves is cosigned and grows; with another root it is refused with 422', async () => {
    const { add, witness } = make();
    const log = testLog();
    const signer = localSigner('Ed25519', new Uint8Array(32).fill(1));
    const body = formatCheckpointBody({ origin: log.origin, size: 0, root: EMPTY_ROOT, extensions: [] });
    const wrong = await signNote(body.replace(/\n[^\n]{44}\n/, `\n${toBase64(log.root(1))}\n`), [
      { name: log.origin, signer },
    ]);
    const refusal = await witness.addCheckpoint(text(`old 0\n\n${wrong}`));
    expect(refusal).toMatchObject({
      status: 422,
      body: 'A tree without leaves has the hash of nothing as its root.\n',
    });
    expect((await witness.addCheckpoint(text(`old 0\n\n${wrong.replace('A', 'B')}`))).status).toBe(403);
    expect((await add(log, 0, 0)).status).toBe(200);
    expect((await add(log, 0, 0)).status).toBe(200);
    expect((await add(log, 0, 7)).status).toBe(200);
    expect(await add(log, 0, 0)).toEqual({ status: 409, body: '7\n' });
  });
});

describe('keys of logs', () => {
  test('a log may have several keys, and goes on with each of them', async () => {
    const { add } = make([testLog().vkey, testLog({ seed: 2 }).vkey]);
    expect((await add(testLog(), 0, 3)).status).toBe(200);
    expect((await add(testLog({ seed: 2 }), 3, 5)).status).toBe(200);
    expect((await add(testLog({ seed: 3 }), 5, 6)).status).toBe(403);
  });

  test('a log may sign with ML-DSA-44, but nobody signs its extension lines then', async () => {
    const origin = 'log.example/pq';
    const signer = localSigner('ML-DSA-44', new Uint8Array(32).fill(4));
    const vkey = formatVkey(noteVerifier(origin, publicKey('ML-DSA-44', signer.publicKey), 0x06));
    const { witness } = make([vkey]);
    const by = [{ name: origin, signer, type: 0x06, time: 0 }];
    const root = testLog().root(3);
    const note = await signCheckpoint({ origin, size: 3, root, extensions: [] }, by);
    const extended = note.replace('\n\n', '\nput here by anybody\n\n');
    expect(await witness.addCheckpoint(text(`old 0\n\n${extended}`))).toMatchObject({
      status: 403,
      body: 'An ML-DSA-44 cosignature does not cover extension lines.\n',
    });
    expect((await witness.addCheckpoint(text(`old 0\n\n${note}`))).status).toBe(200);
  });

  test('extension lines that the log signed are cosigned with the rest', async () => {
    const { witness } = make();
    const note = await testLog().note(3, ['built on a Monday']);
    const { status, body } = await witness.addCheckpoint(text(`old 0\n\n${note}`));
    expect(status).toBe(200);
    expect(openNote(note + body, [verifier]).verified).toHaveLength(1);
    expect(() => openNote(note.replace('Monday', 'Friday') + body, [verifier])).toThrow(
      expect.objectContaining({ code: 'NOTE_SIGNATURE_INVALID' }),
    );
    const both = make(undefined, { cosigners: [ed25519, mlDsa] });
    expect(await both.witness.addCheckpoint(text(`old 0\n\n${note}`))).toMatchObject({
      status: 400,
      body: 'With ML-DSA-44 this witness cannot cosign extension lines.\n',
    });
  });

  test('a log with the key of the witness itself is not served', async () => {
    const shared = testLog({ seed: 7 });
    const { add } = make([shared.vkey]);
    expect((await add(shared, 0, 3)).status).toBe(500);
  });

  test('a witness without a key is refused', () => {
    const state = openState(join(temporaryFolder(), 'state.db'), { name: NAME });
    onTestFinished(() => state.close());
    expect(() =>
      createWitness({ state, cosigners: [], logs: () => new Map(), now: () => new Date() }),
    ).toThrow(expect.objectContaining({ code: 'WITNESS_KEY' }));
  });
});

describe('the clock', () => {
  test('the time of a log never goes back: a little is overruled, much stops it', async () => {
    const { add, clock, state } = make();
    const log = testLog();
    const timeAt = async (seconds: number, oldSize: number, size: number) => {
      clock.seconds = seconds;
      const { status, body } = await add(log, oldSize, size);
      if (status !== 200) return status;
      return openNote((await log.note(size)) + body, [verifier]).verified[0]!.time;
    };
    expect(await timeAt(NOW, 0, 3)).toBe(NOW);
    expect(await timeAt(NOW - 60, 3, 5)).toBe(NOW);
    expect(await timeAt(NOW - 61, 5, 6)).toBe(503);
    expect(state.latest(log.origin)).toMatchObject({ size: 5, time: NOW });
    expect(await timeAt(NOW + 1, 5, 6)).toBe(NOW + 1);
  });

  test('another log does not suffer from it', async () => {
    const [one, two] = [testLog(), testLog({ origin: 'log.example/b' })];
    const { add, clock } = make([one.vkey, two.vkey]);
    await add(one, 0, 3);
    clock.seconds = NOW - 1000;
    expect((await add(two, 0, 3)).status).toBe(200);
  });

  test('a clock that does not tell the time stops it: a cosignature must state one', async () => {
    const { add, clock } = make();
    for (const seconds of [0, -5, Number.NaN]) {
      clock.seconds = seconds;
      expect((await add(testLog(), 0, 3)).status).toBe(503);
    }
  });
});

describe('what a witness keeps', () => {
  test('monitors get the checkpoint with the lines of the log and the witness, and no other', async () => {
    const { add, witness } = make();
    const log = testLog();
    const hash = createHash('sha256').update(log.origin).digest('hex');
    expect(witness.checkpoint(hash)).toMatchObject({ status: 404 });
    await add(log, 0, 3);
    const noted = Buffer.from(await log.request(3, 5)).toString();
    const { body } = await witness.addCheckpoint(text(`${noted}— someone.else AAAAAAA=\n`));
    expect(witness.checkpoint(hash)).toEqual({
      ...{ status: 200, contentType: PLAIN, origin: log.origin, size: 5 },
      body: (await log.note(5)) + body,
    });
    expect(witness.checkpoint('0'.repeat(64)).status).toBe(404);
  });

  test('a split view is refused, whatever old size it claims, and both views are kept', async () => {
    const { add, evidence, state, witness } = make();
    const [seen, other] = [testLog({ view: 'a', forkAt: 3 }), testLog({ view: 'b', forkAt: 3 })];
    await add(seen, 0, 5);
    expect(await add(other, 5, 5, [])).toMatchObject({ status: 422 });
    expect(await add(other, 3, 5)).toEqual({ status: 409, body: '5\n' });
    expect(await add(other, 0, 5)).toEqual({ status: 409, body: '5\n' });
    // It is told once, however often it is sent.
    expect(evidence.map(({ kind }) => kind)).toEqual(['split-view']);
    expect(state.evidence()).toEqual([
      {
        ...{ kind: 'split-view', origin: seen.origin, size: 5, root: other.root(5), time: NOW },
        note: await other.note(5),
        against: state.latest(seen.origin)!.note,
      },
    ]);
    expect([witness.name, witness.vkeys]).toEqual([NAME, [formatVkey(verifier)]]);
    expect(state.latest(seen.origin)).toMatchObject({ size: 5, root: seen.root(5), time: NOW });
  });

  test('checkpoints that are sent again and again leave nothing behind, and get the same answer', async () => {
    const file = join(temporaryFolder(), 'state.db');
    const { witness, evidence, clock } = make(undefined, { file, cosigners: [ed25519] });
    const log = testLog();
    const [first, second] = [await log.request(0, 5), await log.request(5, 8)];
    const answers = [await witness.addCheckpoint(first), await witness.addCheckpoint(second)];
    expect(answers.map(({ status, isNew }) => [status, isNew])).toEqual([
      [200, true],
      [200, true],
    ]);
    const replays = [first, second, await log.request(8, 8), await log.request(8, 5)];
    const seen = new Set<string>();
    const round = async () => {
      for (const request of replays) {
        const { status, body, isNew } = await witness.addCheckpoint(request);
        seen.add(`${status} ${body} ${isNew}`);
      }
    };
    await round();
    const before = readFileSync(file);
    for (let i = 0; i < 20; i++) await round();
    // Nothing was written, and what was told once is not told again.
    expect(readFileSync(file)).toEqual(before);
    expect(evidence.map(({ kind, size }) => [kind, size])).toEqual([['behind', 5]]);
    expect([...seen]).toEqual([
      '409 8\n undefined',
      `200 ${answers[1]!.body} undefined`,
      expect.stringMatching(/^400 /),
    ]);
    // A second later the newest one gets a new time.
    clock.seconds++;
    const fresh = await witness.addCheckpoint(await log.request(8, 8));
    expect([fresh.status, fresh.isNew, fresh.body === answers[1]!.body]).toEqual([200, undefined, false]);
    expect(statSync(file).size).toBe(before.length);
  });

  test('a larger tree of another view cannot be proven, and is kept; so is a smaller one', async () => {
    const { add, state } = make();
    const [seen, other] = [testLog({ view: 'a', forkAt: 3 }), testLog({ view: 'b', forkAt: 3 })];
    await add(seen, 0, 5);
    expect(await add(other, 5, 8)).toMatchObject({ status: 422 });
    expect(await add(other, 0, 4)).toEqual({ status: 409, body: '5\n' });
    expect(await add(other, 5, 4)).toMatchObject({ status: 400 });
    expect(state.evidence().map(({ kind, size }) => [kind, size])).toEqual([
      ['inconsistent', 8],
      ['behind', 4],
    ]);
  });

  test('evidence is of what the log signed: a wrong size claimed for a good checkpoint is none', async () => {
    const { add, state } = make();
    await add(testLog(), 0, 5);
    await add(testLog(), 3, 5);
    await add(testLog(), 0, 8);
    await add(testLog({ seed: 2, view: 'b' }), 5, 5, []);
    expect(state.evidence()).toEqual([]);
  });

  test('a good checkpoint that came with a wrong proof is no evidence any more once it was proven', async () => {
    const { add, state } = make();
    await add(testLog(), 0, 5);
    expect((await add(testLog(), 5, 8, [])).status).toBe(422);
    expect(state.evidence().map(({ kind, size }) => [kind, size])).toEqual([['inconsistent', 8]]);
    expect((await add(testLog(), 5, 8)).status).toBe(200);
    expect(state.evidence()).toEqual([]);
  });

  test('evidence for which there is no room is still told, and that of other kinds still kept', async () => {
    const file = join(temporaryFolder(), 'state.db');
    const { witness, state } = make(undefined, { file, cosigners: [ed25519] });
    const log = testLog();
    await witness.addCheckpoint(await log.request(0, 5));
    const db = new Database(file);
    db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MAX_EVIDENCE})
      INSERT INTO evidence (kind, origin, size, root, note, against, time, serial)
      SELECT 'inconsistent', '${log.origin}', 1000 + i, x'00', '', '', 1, 1 FROM n`);
    db.close();
    const told: [string, boolean][] = [];
    const telling = createWitness({
      ...{ state, cosigners: [ed25519], logs: () => readLogs([log.vkey]), now: () => new Date(NOW * 1000) },
      onEvidence: ({ kind }, isKept) => told.push([kind, isKept]),
    });
    const other = testLog({ view: 'b' });
    for (const request of [await other.request(5, 8), await other.request(5, 5, [])]) {
      for (let i = 0; i < 2; i++) expect((await telling.addCheckpoint(request)).status).toBe(422);
    }
    expect(told).toEqual([
      ['inconsistent', false],
      ['inconsistent', false],
      ['split-view', true],
    ]);
    expect(state.evidence().filter(({ kind }) => kind === 'split-view')).toHaveLength(1);
  });

  test('two witnesses that see one view each cosign their own, and each refuses the other', async () => {
    const [one, two] = [make(), make()];
    const [left, right] = [testLog({ view: 'a', forkAt: 3 }), testLog({ view: 'b', forkAt: 3 })];
    expect((await one.add(left, 0, 5)).status).toBe(200);
    expect((await two.add(right, 0, 5)).status).toBe(200);
    expect((await one.add(right, 5, 9)).status).toBe(422);
    expect((await two.add(left, 5, 9)).status).toBe(422);
    expect((await one.add(right, 5, 5, [])).status).toBe(422);
    expect(one.state.evidence().map(({ kind }) => kind)).toEqual(['inconsistent', 'split-view']);
  });
});

describe('the state', () => {
  const error = (code: string) => expect.objectContaining({ code });

  test('is there after a restart', async () => {
    const file = join(temporaryFolder(), 'deep/er/state.db');
    const first = make(undefined, { file });
    await first.add(testLog(), 0, 3);
    await first.state.close();
    const second = make(undefined, { file });
    expect(await second.add(testLog(), 0, 5)).toEqual({ status: 409, body: '3\n' });
  });

  test('belongs to one witness', async () => {
    const file = join(temporaryFolder(), 'state.db');
    await openState(file, { name: NAME }).close();
    await openState(file, { name: NAME }).close();
    expect(() => openState(file, { name: 'witness.example/w2' })).toThrow(error('WITNESS_STATE_OTHER'));
  });

  test('is not taken from a foreign or newer file', () => {
    const folder = temporaryFolder();
    const foreign = new Database(join(folder, 'foreign.db'));
    foreign.exec('CREATE TABLE log (origin TEXT)');
    foreign.close();
    const open = (name: string) => openState(join(folder, name), { name: NAME });
    expect(() => open('foreign.db')).toThrow(error('WITNESS_STATE_FOREIGN'));
    void open('newer.db').close();
    const newer = new Database(join(folder, 'newer.db'));
    newer.pragma('user_version = 2');
    newer.close();
    expect(() => open('newer.db')).toThrow(error('WITNESS_STATE_FOREIGN'));
  });

  test('the database itself refuses to go back, to fork and to forget', async () => {
    const file = join(temporaryFolder(), 'state.db');
    const { add } = make(undefined, { file });
    await add(testLog(), 0, 5);
    const db = new Database(file);
    onTestFinished(() => void db.close());
    expect(() => db.exec('UPDATE log SET size = 4')).toThrow('a witness never goes back');
    expect(() => db.exec("UPDATE log SET root = x'00'")).toThrow('a witness never goes back');
    expect(() => db.exec('UPDATE log SET time = time - 1')).toThrow('a witness never goes back');
    expect(() => db.exec('DELETE FROM log')).toThrow('a witness never forgets');
  });

  test('nothing is stored, and nothing answered, when the signer fails', async () => {
    const broken = {
      ...ed25519,
      signer: { ...ed25519.signer, sign: () => Promise.reject(new Error('token gone')) },
    };
    const state = openState(join(temporaryFolder(), 'state.db'), { name: NAME });
    onTestFinished(() => state.close());
    const errors: unknown[] = [];
    const witness = createWitness({
      state,
      cosigners: [broken],
      logs: () => readLogs([testLog().vkey]),
      now: () => new Date(NOW * 1000),
      onError: (failed) => errors.push(failed),
    });
    const answer = await witness.addCheckpoint(await testLog().request(0, 3));
    expect(answer).toEqual({ status: 500, contentType: PLAIN, body: 'The witness cannot answer now.\n' });
    expect(errors).toEqual([new Error('token gone')]);
    expect(state.latest(testLog().origin)).toBe(null);
  });
});

describe('whatever is submitted in whatever order', () => {
  const views = [
    testLog({ view: 'a', forkAt: 6 }),
    testLog({ view: 'b', forkAt: 6 }),
    testLog({ view: 'c', forkAt: 11 }),
    testLog({ seed: 2, view: 'd' }),
  ];
  const step = fc.record({
    view: fc.nat(3),
    size: fc.nat(20),
    old: fc.oneof(
      { weight: 3, arbitrary: fc.constant('right' as const) },
      { weight: 1, arbitrary: fc.nat(20) },
    ),
    proof: fc.constantFrom('right', 'right', 'right', 'none', 'wrong'),
  });

  test('the state never goes back, never forks, and is what the last cosignature says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { witness, state } = make();
        const cosigned: { size: number; view: number }[] = [];
        for (const { view, size, old, proof } of steps) {
          const log = views[view]!;
          const known = state.latest(log.origin)?.size ?? 0;
          const oldSize = old === 'right' ? known : old;
          const hashes = {
            right: undefined,
            none: [],
            wrong: [new Uint8Array(randomBytes(32))],
          }[proof];
          const answer = await witness.addCheckpoint(await log.request(oldSize, size, hashes));
          const latest = state.latest(log.origin);
          if (answer.status === 200) {
            expect(latest).toMatchObject({
              size,
              root: log.root(size),
              note: (await log.note(size)) + answer.body,
            });
            cosigned.push({ size, view });
          } else {
            expect([400, 403, 409, 422]).toContain(answer.status);
            expect(latest?.size ?? 0).toBe(known);
          }
        }
        expect(cosigned.map(({ size }) => size)).toEqual(
          cosigned.map(({ size }) => size).toSorted((a, b) => a - b),
        );
        // Every tree that was cosigned is the beginning of the last one.
        const last = cosigned.at(-1);
        for (const { size, view } of cosigned) {
          expect(views[view]!.root(size)).toEqual(views[last!.view]!.root(size));
        }
        await state.close();
      }),
      { numRuns: 40 * inject('soak') },
    );
  });
});
