import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import {
  formatVkey,
  localSigner,
  noteVerifier,
  openNote,
  parseVkey,
  publicKey,
  signNote,
} from '@bulla/core/crypto';
import { evaluatePolicy, type Policy, parsePolicy } from '@bulla/core/log';
import { describe, expect, test } from 'vitest';
import { testLog } from '../../test/witness-log.ts';
import { cosignedSize, runServer, runWitness } from '../../test/witness-server.ts';
import type { SubmitOptions } from './client.ts';
import { createSubmit, type SubmitOutcome } from './index.ts';

const log = testLog();

interface Named {
  readonly name: string;
  readonly vkey: string;
  readonly url?: string;
}

function policyOf(quorum: string, ...witnesses: Named[]): Policy {
  const lines = witnesses.map(({ name, vkey, url = '' }) => `witness ${name} ${vkey} ${url}\n`);
  const group = `group g ${quorum} ${witnesses.map(({ name }) => name).join(' ')}\nquorum g\n`;
  return parsePolicy(Buffer.from(lines.join('') + group));
}

/** Submits, and gives the note with what was told. */
async function submit(
  policy: Policy,
  size: number,
  options: Partial<SubmitOptions> = {},
  from = log,
): Promise<SubmitOutcome> {
  let outcome: SubmitOutcome | undefined;
  const done = createSubmit(policy, { ...options, onOutcome: (told) => (outcome = told) });
  expect(await done(await from.submission(size))).toBe(outcome!.note);
  return outcome!;
}

const codes = ({ results }: SubmitOutcome) =>
  results.map((result) => `${result.name} ${result.ok ? 'ok' : result.code}`);

/** A witness that answers with whatever a function makes of the request, under a key of its own. */
async function hostile(
  name: string,
  answer: (
    note: string,
  ) => { status?: number; type?: string; body?: string } | Promise<{ status?: number; body?: string }>,
): Promise<Named> {
  const url = await runServer(async (request, response) => {
    const body = await text(request);
    const {
      status = 200,
      type = 'text/plain',
      body: reply = '',
    } = (await answer(body.slice(body.indexOf('\n\n') + 2))) as {
      status?: number;
      type?: string;
      body?: string;
    };
    response.writeHead(status, { 'content-type': type, location: 'http://127.0.0.1:1/' }).end(reply);
  });
  return { name, vkey: keyOf(name).vkey, url };
}

/** A test key for each name. */
function keyOf(name: string) {
  const signer = localSigner('Ed25519', createHash('sha256').update(name).digest());
  const vkey = formatVkey(noteVerifier(name, publicKey('Ed25519', signer.publicKey), 0x04));
  return { name, signer, type: 0x04, vkey };
}

async function cosign(name: string, note: string, time = 1_800_000_000): Promise<string> {
  const body = note.slice(0, note.indexOf('\n\n') + 1);
  const { signer, type } = keyOf(name);
  return (await signNote(body, [{ name, signer, type, time }])).slice(body.length + 1);
}

describe('with real witnesses', () => {
  test('all cosign, the quorum is met, and the note says so to anybody', async () => {
    const running = await Promise.all(
      [1, 2, 3].map((i) => runWitness([log.vkey], { name: `w.example/${i}` })),
    );
    const policy = policyOf('2', ...running.map(({ url, vkey }, i) => ({ name: `w${i + 1}`, vkey, url })));
    const outcome = await submit(policy, 5);
    expect(outcome).toMatchObject({ origin: log.origin, size: 5, quorum: true, alarms: [] });
    expect(codes(outcome)).toEqual(['w1 ok', 'w2 ok', 'w3 ok']);
    const opened = evaluatePolicy(policy, outcome.note, { logs: [parseVkey(log.vkey)] });
    expect(opened.witnesses.map(({ name }) => name)).toEqual(['w1', 'w2', 'w3']);
    expect([opened.quorum, opened.log?.name]).toEqual([true, log.origin]);
    expect(outcome.note.startsWith(await log.note(5))).toBe(true);
  });

  test('a witness that is behind tells so, and is shown the proof that it needs', async () => {
    const { url, vkey, witness, evidence } = await runWitness([log.vkey]);
    const policy = policyOf('all', { name: 'w', vkey, url });
    const asked: number[] = [];
    const submission = async (size: number) => ({
      ...(await log.submission(size)),
      consistency: async (oldSize: number) => {
        asked.push(oldSize);
        return log.proof(oldSize, size);
      },
    });
    const outcomes: boolean[] = [];
    const onOutcome = ({ quorum }: SubmitOutcome) => outcomes.push(quorum);
    const first = createSubmit(policy, { onOutcome });
    await first(await submission(3));
    await first(await submission(7)); // it remembers the 3
    const second = createSubmit(policy, { onOutcome });
    await second(await submission(20)); // it is told of the 7
    await second(await submission(21));
    expect([outcomes, asked]).toEqual([
      [true, true, true, true],
      [3, 7, 20],
    ]);
    expect(cosignedSize(witness, log.origin)).toBe(21);
    expect(evidence).toEqual([]);
  });

  test('a checkpoint that is submitted again is not cosigned twice', async () => {
    const { url, vkey } = await runWitness([log.vkey]);
    const policy = policyOf('all', { name: 'w', vkey, url });
    const { note } = await submit(policy, 5);
    let asked = 0;
    const again = createSubmit(
      { ...policy, witnesses: policy.witnesses.map((w) => ({ ...w, url: 'http://127.0.0.1:1' })) },
      {
        onOutcome: ({ quorum, results }) => {
          expect([quorum, results[0]!.ok]).toEqual([true, true]);
          asked++;
        },
      },
    );
    expect(await again({ ...(await log.submission(5)), note })).toBe(note);
    expect(asked).toBe(1);
  });

  test('a witness with two keys is asked once, and each key counts for itself', async () => {
    const requests: unknown[] = [];
    const { url, witness } = await runWitness([log.vkey], {
      mlDsa: true,
      onRequest: (line) => requests.push(line),
    });
    const [vkey, pq] = witness.vkeys as [string, string];
    const outcome = await submit(policyOf('all', { name: 'w', vkey, url }, { name: 'pq', vkey: pq, url }), 5);
    expect([outcome.quorum, codes(outcome), requests.length]).toEqual([true, ['w ok', 'pq ok'], 1]);
  });

  test('one is down, one knows another log, one another key: the rest still counts', async () => {
    const good = await runWitness([log.vkey], { name: 'w.example/good' });
    const down = await runWitness([log.vkey], { name: 'w.example/down' });
    const stranger = await runWitness([testLog({ origin: 'other' }).vkey], { name: 'w.example/stranger' });
    const wrong = await runWitness([testLog({ seed: 2 }).vkey], { name: 'w.example/wrong' });
    // The last of them, so that none of the others can be given its port.
    await down.close();
    const named = (name: string, { vkey, url }: { vkey: string; url: string }) => ({ name, vkey, url });
    const all = [
      named('good', good),
      named('down', down),
      named('stranger', stranger),
      named('wrong', wrong),
    ];
    const met = await submit(policyOf('any', ...all), 5);
    expect(codes(met)).toEqual([
      'good ok',
      'down WITNESS_UNAVAILABLE',
      'stranger WITNESS_UNKNOWN_LOG',
      'wrong WITNESS_UNKNOWN_LOG',
    ]);
    expect(met.quorum).toBe(true);
    expect(met.results[1]).toMatchObject({ message: 'It cannot be reached (ECONNREFUSED).' });
    const cure =
      'Its operator adds what "bulla checkpoint vkey" prints to its --log file, and sends it SIGHUP.';
    expect(met.results.slice(2)).toMatchObject([
      { message: expect.stringMatching(/^It answered 404: .*\. It does not know this log\. /) },
      {
        message: expect.stringMatching(
          /^It answered 403: .*\. It does not know the key of this log, as after a rotation\. /,
        ),
      },
    ]);
    for (const result of met.results.slice(2))
      expect(result).toMatchObject({ message: expect.stringContaining(cure) });
    const missed = await submit(policyOf('2', ...all), 6);
    expect([missed.quorum, missed.alarms]).toEqual([false, []]);
    expect(openNote(missed.note, [parseVkey(good.vkey)]).verified).toHaveLength(1);
  });

  test('nobody can be reached: the checkpoint comes back as it was, and that is told', async () => {
    const outcome = await submit(
      policyOf('any', { name: 'w', vkey: keyOf('w').vkey, url: 'http://127.0.0.1:1' }),
      5,
    );
    expect([outcome.note, outcome.quorum]).toEqual([await log.note(5), false]);
  });
});

describe('when this log is not what the witness saw', () => {
  test('a witness that is ahead is an alarm', async () => {
    const { url, vkey } = await runWitness([log.vkey]);
    const policy = policyOf('all', { name: 'w', vkey, url });
    await submit(policy, 8);
    const outcome = await submit(policy, 5);
    expect(outcome.alarms).toEqual([
      {
        ...{ name: 'w', ok: false, code: 'WITNESS_AHEAD', size: 8 },
        message:
          'It has cosigned 8 records of log.example/a, but the checkpoint covers 5: this log was set back, or another one bears its name and key.',
      },
    ]);
    expect(outcome.quorum).toBe(false);
  });

  test('unless this log has grown that far by now, in another process', async () => {
    const { url, vkey } = await runWitness([log.vkey]);
    const policy = policyOf('all', { name: 'w', vkey, url });
    await submit(policy, 8);
    expect(codes(await submit(policy, 5, { length: async () => 8 }))).toEqual(['w WITNESS_CONFLICT']);
    expect(codes(await submit(policy, 5, { length: async () => 7 }))).toEqual(['w WITNESS_AHEAD']);
  });

  test('it remembers that the witness is ahead, and is still told', async () => {
    const { url, vkey } = await runWitness([log.vkey]);
    const policy = policyOf('all', { name: 'w', vkey, url });
    const outcomes: SubmitOutcome[] = [];
    const show = createSubmit(policy, { onOutcome: (outcome) => outcomes.push(outcome) });
    await show(await log.submission(8));
    await show(await log.submission(5));
    expect(outcomes.map(codes)).toEqual([['w ok'], ['w WITNESS_AHEAD']]);
  });

  test('another history of the same length, or a longer one, is an alarm', async () => {
    const [ours, theirs] = [testLog({ view: 'a', forkAt: 3 }), testLog({ view: 'b', forkAt: 3 })];
    const { url, vkey, evidence } = await runWitness([log.vkey]);
    const policy = policyOf('all', { name: 'w', vkey, url });
    await submit(policy, 5, {}, theirs);
    for (const size of [5, 9]) {
      const outcome = await submit(policy, size, {}, ours);
      expect(outcome.alarms).toMatchObject([{ name: 'w', code: 'WITNESS_INCONSISTENT' }]);
    }
    expect(evidence).toEqual(['split-view', 'inconsistent']);
  });

  test('version 1.0.0 of the specification tells it with 409 and no size', async () => {
    const witness = await hostile('old', () => ({ status: 409, body: 'root hash mismatch' }));
    const outcome = await submit(policyOf('all', witness), 5);
    expect(outcome.alarms).toMatchObject([{ code: 'WITNESS_INCONSISTENT' }]);
  });
});

describe('witnesses that lie, fail or dawdle', () => {
  const answered = async (answer: Parameters<typeof hostile>[1]) => {
    const outcome = await submit(policyOf('all', await hostile('h', answer)), 5);
    expect([outcome.note, outcome.quorum]).toEqual([await log.note(5), false]);
    const [result] = outcome.results;
    return result!.ok ? 'ok' : result!.code;
  };

  test('a forged cosignature is refused', async () => {
    expect(
      await answered(async (note) => ({ body: await cosign('h', note.replace('\n5\n', '\n6\n')) })),
    ).toBe('WITNESS_FORGED');
    const bent = async (note: string) => {
      const line = await cosign('h', note);
      return { body: line.replace(/.{6}==\n$/, 'AAAAAQ==\n') };
    };
    expect(await answered(bent)).toBe('WITNESS_FORGED');
  });

  test('lines by other keys do not count and are not taken over', async () => {
    expect(await answered(async (note) => ({ body: await cosign('other', note) }))).toBe('WITNESS_RESPONSE');
    const both = await hostile('h', async (note) => ({
      body: (await cosign('other', note)) + (await cosign('h', note)),
    }));
    const { note, quorum } = await submit(policyOf('all', both), 5);
    expect(quorum).toBe(true);
    expect(note).toBe((await log.note(5)) + (await cosign('h', await log.note(5))));
  });

  test('a log signature instead of a cosignature does not count', async () => {
    expect(await answered((note) => ({ body: note.slice(note.indexOf('— ')) }))).toBe('WITNESS_RESPONSE');
  });

  test.for([
    ['WITNESS_RESPONSE', { body: 'hello' }],
    ['WITNESS_RESPONSE', { body: '' }],
    ['WITNESS_RESPONSE', { body: '\n\n— h AAAAAAA=\n' }],
    ['WITNESS_RESPONSE', { status: 204 }],
    ['WITNESS_RESPONSE', { status: 418 }],
    ['WITNESS_RESPONSE', { status: 409, type: 'text/x.tlog.size', body: '5' }],
    ['WITNESS_RESPONSE', { status: 409, type: 'text/x.tlog.size', body: '05\n' }],
    ['WITNESS_RESPONSE', { status: 409, type: 'text/x.tlog.size', body: '9007199254740992\n' }],
    ['WITNESS_RESPONSE', { status: 409, type: 'text/x.tlog.size', body: '0\n' }],
    ['WITNESS_RESPONSE', { status: 409, type: 'text/x.tlog.size', body: '3\n' }],
    ['WITNESS_AHEAD', { status: 409, type: 'text/x.tlog.size', body: '6\n' }],
    ['WITNESS_RESPONSE', { status: 400 }],
    ['WITNESS_INCONSISTENT', { status: 422 }],
    ['WITNESS_UNAVAILABLE', { status: 429 }],
    ['WITNESS_UNAVAILABLE', { status: 500 }],
    ['WITNESS_UNAVAILABLE', { status: 503 }],
    ['WITNESS_RESPONSE', { status: 302 }],
    ['WITNESS_RESPONSE', { status: 308 }],
    ['WITNESS_RESPONSE', { body: 'x'.repeat(65_537) }],
  ] as const)('%s for %j', async ([code, answer]) => {
    expect(await answered(() => answer)).toBe(code);
  });

  test('one that changes what it says it cosigned is given up after the second time', async () => {
    let told = 1;
    const code = await answered(() => ({ status: 409, type: 'text/x.tlog.size', body: `${told++}\n` }));
    expect([code, told]).toEqual(['WITNESS_CONFLICT', 3]);
  });

  test('what it says is shown in printable characters', async () => {
    const witness = await hostile('h', () => ({ status: 403, body: 'no \u001b[31mred\u202e\n' }));
    const { results } = await submit(policyOf('all', witness), 5);
    expect(results[0]).toMatchObject({
      message:
        'It answered 403: no \\u{1b}[31mred\\u{202e}. It does not know the key of this log, as after a rotation. Its operator adds what "bulla checkpoint vkey" prints to its --log file, and sends it SIGHUP.',
    });
  });

  test('one that does not answer, or not to the end, is not waited for', async () => {
    const silent = await runServer(() => undefined);
    const dripping = await runServer((_, response) => response.writeHead(200).write('— '));
    const good = await runWitness([log.vkey]);
    const policy = policyOf(
      'any',
      { name: 'silent', vkey: keyOf('s').vkey, url: silent },
      { name: 'dripping', vkey: keyOf('d').vkey, url: dripping },
      { name: 'good', vkey: good.vkey, url: good.url },
    );
    const outcome = await submit(policy, 5, { timeoutMs: 300 });
    expect(codes(outcome)).toEqual(['silent WITNESS_UNAVAILABLE', 'dripping WITNESS_UNAVAILABLE', 'good ok']);
    expect(outcome.quorum).toBe(true);
  });

  test('only addresses of HTTP are asked', async () => {
    const urls = [undefined, 'ftp://x', 'file:///etc/passwd', 'http://user@x', 'http://x?a', 'nonsense'];
    const named = urls.map((url, i) => ({ name: `w${i}`, vkey: keyOf(`w${i}`).vkey, ...(url && { url }) }));
    const outcome = await submit(policyOf('any', ...named), 5);
    expect(codes(outcome)).toEqual(urls.map((_, i) => `w${i} WITNESS_OPTION`));
  });

  test('a proof that cannot be made here is told as that', async () => {
    const { url, vkey } = await runWitness([log.vkey]);
    const policy = policyOf('all', { name: 'w', vkey, url });
    await submit(policy, 3);
    let outcome: SubmitOutcome | undefined;
    const submitting = createSubmit(policy, { onOutcome: (told) => (outcome = told) });
    await submitting({
      ...(await log.submission(5)),
      consistency: () => Promise.reject(new Error('the disk is gone')),
    });
    expect(outcome!.results).toEqual([
      {
        ...{ name: 'w', ok: false, code: 'WITNESS_PROOF_UNAVAILABLE' },
        message: 'The proof from 3 to 5 cannot be made: the disk is gone',
      },
    ]);
  });

  test('a checkpoint with a bad line by a known witness is refused as a whole', async () => {
    const note = (await log.note(5)) + (await cosign('h', (await log.note(5)).replace('\n5\n', '\n6\n')));
    const submitting = createSubmit(policyOf('all', { name: 'h', vkey: keyOf('h').vkey }), {
      onOutcome: () => undefined,
    });
    await expect(submitting({ ...(await log.submission(5)), note })).rejects.toMatchObject({
      code: 'NOTE_SIGNATURE_INVALID',
    });
  });
});
