import { describe, expect, test } from 'vitest';
import * as made from '../../test/artifacts.ts';
import { keyId, sha256Hex, toUtf8 } from '../crypto/index.ts';
import { execHash } from '../envelope/index.ts';
import { BullaError } from '../error.ts';
import { lockDigest, readLock } from '../lock/index.ts';
import { digestsOf } from './digests.ts';
import { KINDS, recognise, type Trust, verify } from './index.ts';

const { key, stranger, capsules, T } = made;
const nobody: Trust = { keys: [], pqKeys: [], facts: [], revoked: [], vkeys: [] };
const trust: Trust = { ...nobody, keys: [key] };
const revokedAt = (at: number): Trust => ({ ...trust, revoked: [{ key: keyId(key), at }] });

type Input = string | Uint8Array;
const artifact = (input: Input, name = '') =>
  recognise(typeof input === 'string' ? toUtf8(input) : input, { name });
const verdicts = (inputs: readonly Input[], how: Trust = trust) =>
  verify(
    inputs.map((input, i) => artifact(input, `f${i}`)),
    how,
  );
/** Result and code of each. */
const told = async (inputs: readonly Input[], how: Trust = trust) =>
  (await verdicts(inputs, how)).map(({ result, code }) => `${result} ${code}`);
/** Why it is not recognised. */
function refusal(input: Input): string {
  try {
    return artifact(input).kind;
  } catch (error) {
    return (error as BullaError).code;
  }
}
function flipped(input: Input, at: number): Uint8Array {
  const bytes = typeof input === 'string' ? toUtf8(input) : input.slice();
  bytes[at]! ^= 1;
  return bytes;
}

const lines = `${capsules.join('\n')}\n`;
const array = `[${capsules.join(',')}]`;
const list = `{"capsules":[${capsules.toReversed().join(',')}],"total":5,"limit":20,"offset":0}`;
const link = JSON.stringify(JSON.parse(made.capability).runtime.link);
const checkpoint = await made.checkpoint(5);
const proof = await made.proof(2, 5);

const BINDINGS = '{"read_file":{"server":"files","tool":"read_text_file"}}';
const RULES = 'name: r\nrules:\n  - name: one\n    phase: call\n    expr: "true"\n    failure_msg: No.\n';

const SAMPLES: readonly [string, Input][] = [
  ['log proof', proof],
  ['checkpoint', checkpoint],
  ['signed note', made.note],
  ['signed note', made.lockNote],
  ['bundle', made.bundle],
  ['lockfile', made.lock],
  ['lock signature', made.signature],
  ['lock signature', made.dsse],
  ['execution envelope', made.envelopeText],
  ['authorization', made.authorization],
  ['capability envelope', made.capability],
  ['capability envelope', link],
  ['manifest', made.manifest],
  ['bindings', BINDINGS],
  ['bindings', '{}'],
  ['rules', RULES],
  ['execution policy', made.executionPolicy],
  ['capsules', capsules[0]!],
  ['capsules', lines],
  ['capsules', array],
  ['capsules', list],
  ['capsules', '[]'],
];

describe('bytes', () => {
  test('are of the kind that they claim to be, whatever they are called', () => {
    expect(SAMPLES.map(([, input]) => artifact(input, 'chain.json').kind)).toEqual(
      SAMPLES.map(([kind]) => kind),
    );
    expect(new Set(SAMPLES.map(([kind]) => kind))).toEqual(new Set(KINDS));
  });

  test('that are no artifact, or could be two, are refused', () => {
    expect(['', '{"a":1}', 'text', 'SQLite format 3\u0000'].map(refusal)).toEqual(
      Array(4).fill('VERIFY_UNRECOGNISED'),
    );
    const twice = `{"signature":"",${made.manifest.trimStart().slice(1)}`;
    expect(refusal(twice)).toBe('VERIFY_AMBIGUOUS');
    expect(refusal(`{"capsules":[],"odd":1}`)).toBe('CHAIN_SOURCE_AMBIGUOUS');
    expect(refusal(capsules[0]!.slice(0, -1))).toBe('CHAIN_SOURCE');
    expect(refusal(made.manifest.slice(0, -2))).toMatch(/^JSON_/);
  });

  test('may be read as the kind that the caller names', () => {
    expect(recognise(toUtf8('{}'), { as: 'lockfile' })).toMatchObject({
      kind: 'lockfile',
      lock: expect.any(BullaError),
    });
  });
});

describe('with the right keys', () => {
  test('each kind is good, and says what that does not prove', async () => {
    const all = [
      ...[proof, checkpoint, made.bundle, made.lock, made.signature, made.envelopeText, made.authorization],
      ...[made.capability, made.manifest, capsules[2]!, lines, array, list],
      ...[BINDINGS, RULES, made.executionPolicy],
    ];
    const found = await verdicts(all);
    expect(found.map(({ result, code }) => `${result} ${code}`)).toEqual(all.map(() => 'good ok'));
    for (const { notProven } of found) expect(notProven.length).toBeGreaterThan(0);
    expect(found.map(({ name }) => name)).toEqual(all.map((_, i) => `f${i}`));
    expect(await told([made.note], { ...nobody, vkeys: [made.vkey] })).toEqual(['good ok']);
  });

  test('a proof is checked in four steps', async () => {
    const steps = async (one: string, how: Trust, record = capsules[2]!) =>
      (await verdicts([one, record], how))[0]!.steps?.map(({ status }) => status[0]).join('');
    expect(await steps(proof, trust)).toBe('pppp');
    expect(await steps(proof, trust, capsules[1]!)).toBe('fsss');
    expect(await steps(proof, revokedAt(T))).toBe('pfss');
    expect(await steps(await made.proof(2, 5), { ...trust, policy: made.policy })).toBe('pppf');
  });

  test('a lock is good with each of the three signatures, found by content', async () => {
    for (const one of [made.signature, made.dsse, made.lockNote])
      expect((await told([made.lock, one]))[0]).toBe('good ok');
    expect((await told([made.lock, made.note, made.signature]))[0]).toBe('good ok');
    const bound = {
      ...(artifact(made.lock) as Extract<ReturnType<typeof artifact>, { kind: 'lockfile' }>),
      signature: { name: 's', bytes: toUtf8(made.signature) },
    };
    expect((await verify([bound], trust))[0]).toMatchObject({ code: 'ok', details: { signature: 's' } });
  });
});

describe('keys in messages', () => {
  const said = async (inputs: readonly Input[], how?: Trust) =>
    (await verdicts(inputs, how)).map(({ message }) => message.match(/\b[0-9a-f]{16,}\b/g));

  test('have the 16 digits of the id that the keyring lists, whatever they signed', async () => {
    const id = [keyId(key).slice(0, 16)];
    expect((await said([capsules[0]!]))[0]).toEqual(id);
    expect((await said([made.lock, made.dsse]))[0]).toEqual(id);
    expect((await said([made.bundle]))[0]).toEqual(id);
    const [message] = (await verdicts([made.authorization])).map((verdict) => verdict.message);
    expect(message).toMatch(new RegExp(`^Signed by ${id[0]}, for `));
    const other = { ...trust, keys: [stranger] };
    expect((await said([made.lock, made.dsse], other))[0]).toEqual(id);
    expect((await said([made.authorization], other))[0]).toEqual(id);
  });

  test('that are not known are named once, as the records name them', async () => {
    const { signed_by } = JSON.parse(capsules[0]!) as { signed_by: string };
    const other = { ...trust, keys: [stranger] };
    expect((await verdicts([capsules[0]!, lines], other)).map(({ message }) => message)).toEqual([
      `The key is not known (signed_by "${signed_by}"), so its signature was not checked.`,
      `Signatures by unknown keys could not be checked: signed_by ${signed_by} (5 records).`,
    ]);
  });
});

describe('without what would decide, nothing is decided', () => {
  test('no key', async () => {
    const all = [made.bundle, capsules[0]!, lines, checkpoint, proof, made.note, made.authorization];
    expect(await told(all, nobody)).toEqual(all.map(() => 'undecided VERIFY_NO_KEY'));
    expect((await verdicts(all, nobody)).map(({ missing }) => missing)).toEqual(all.map(() => 'key'));
    expect((await told([made.lock, made.signature], nobody))[0]).toBe('undecided VERIFY_NO_KEY');
  });

  test('another key than the one that is named', async () => {
    const other = { ...trust, keys: [stranger] };
    expect(await told([capsules[0]!, lines, checkpoint], other)).toEqual([
      'undecided unknown_key',
      'undecided unknown_key',
      'undecided NOTE_UNVERIFIED',
    ]);
    expect((await told([proof, lines], other))[0]).toBe('undecided NOTE_UNVERIFIED');
    expect(await told([made.authorization], other)).toEqual(['undecided VERIFY_NO_KEY']);
    expect((await told([made.lock, made.dsse], other))[0]).toBe('undecided DSSE_UNVERIFIED');
    expect((await told([made.lock, made.lockNote], other))[0]).toBe('undecided NOTE_UNVERIFIED');
    // This one names nobody: it is bad for keys that were chosen for it.
    expect((await told([made.lock, made.signature], other))[0]).toBe('bad LOCK_SIGNATURE_INVALID');
    const atHand = { ...other, unasked: true };
    expect(await told([made.lock, made.signature, made.bundle], atHand)).toEqual(
      Array(3).fill('undecided LOCK_SIGNATURE_INVALID'),
    );
  });

  test('no signature, authorization, record or lock', async () => {
    expect(await told([made.lock])).toEqual(['undecided LOCK_UNSIGNED']);
    expect(await told([made.envelopeText])).toEqual(['undecided VERIFY_NO_KEY']);
    expect(await told([proof])).toEqual(['undecided VERIFY_NO_CAPSULE']);
    expect(await told([made.signature])).toEqual(['undecided VERIFY_NO_LOCK']);
    expect((await told([proof, capsules.slice(3).join('\n')]))[0]).toBe('undecided VERIFY_NO_CAPSULE');
    expect(await told([link])).toEqual(['undecided CAPABILITY_INCOMPLETE']);
    expect(await told(['[]'])).toEqual(['undecided CHAIN_EMPTY']);
  });

  test('what nobody signs, where somebody must', async () => {
    expect(await told([made.manifest, made.capability, capsules[0]!], { ...trust, signed: true })).toEqual([
      'undecided VERIFY_UNSIGNED',
      'undecided VERIFY_UNSIGNED',
      'good ok',
    ]);
  });
});

describe('what was changed is bad', () => {
  test('by one byte of the content', async () => {
    const at = (text: string, part: string) => text.indexOf(part) + 1;
    const tampered = (text: string, part: string) => flipped(text, at(text, part));
    expect(await told([tampered(capsules[2]!, 'action 2')])).toEqual(['bad hash_mismatch']);
    expect(await told([tampered(lines, 'action 2')])).toEqual(['bad hash_mismatch']);
    expect(await told([tampered(array, 'action 2')])).toEqual(['bad hash_mismatch']);
    expect(await told([made.note.replace('a text', 'b text')], { ...nobody, vkeys: [made.vkey] })).toEqual([
      'bad NOTE_SIGNATURE_INVALID',
    ]);
    expect(await told([checkpoint.replace('\n5\n', '\n6\n')])).toEqual(['bad NOTE_SIGNATURE_INVALID']);
    expect((await told([tampered(made.lock, 'server.js'), made.signature]))[0]).toMatch(/^bad LOCK_/);
    expect(await told([tampered(made.manifest, 'network:http')])).toEqual([
      expect.stringMatching(/^bad MANIFEST_/),
    ]);
    expect(await told([made.capability.replace('"name":"echo"', '"name":"ecco"')])).toEqual([
      'bad CAPABILITY_ENVELOPE_INVALID',
    ]);
    const other = made.envelopeText.replace('"amount":"1000000"', '"amount":"1000001"');
    expect((await told([other, made.authorization]))[0]).toBe('undecided VERIFY_NO_KEY');
    expect(await told([made.envelopeText.replace('"version":1', '"version":2')])).toEqual([
      expect.stringMatching(/^bad EE_/),
    ]);
    expect((await told([proof, capsules[1]!]))[0]).toBe('bad LOG_INCLUSION');
  });

  test('by any byte of a capsule, so that it is never good as another one', async () => {
    const text = capsules[1]!;
    for (let at = 0; at < text.length; at += 7) {
      const bytes = flipped(text, at);
      let found: string[];
      try {
        found = await told([bytes]);
      } catch (error) {
        expect(error).toBeInstanceOf(BullaError);
        continue;
      }
      // Behind the signature nothing is covered, and warnings say so.
      const isOutside = at >= text.indexOf('"signature_pq"');
      if (!isOutside) expect(found[0], `byte ${at}`).not.toBe('good ok');
    }
  });

  test('by any byte of a bundle', async () => {
    for (let at = 0; at < made.bundle.length; at += 97) {
      const input = flipped(made.bundle, at);
      if (at < 4) continue;
      expect((await told([input]))[0], `byte ${at}`).toMatch(/^(?:bad|unreadable) /);
    }
  });

  test('what cannot be read is told from what is bad', async () => {
    const signature = made.signature.replace('v1', 'v9');
    const bound = { ...artifact(made.lock), signature: { name: 's', bytes: toUtf8(signature) } };
    expect((await verify([bound as ReturnType<typeof artifact>], trust))[0]).toMatchObject({
      result: 'unreadable',
      code: 'LOCK_SIGNATURE_MALFORMED',
    });
  });

  test('another kind than was asked for', async () => {
    expect(await told([made.manifest, lines], { ...trust, kinds: ['capsules'] })).toEqual([
      'bad VERIFY_KIND',
      'good ok',
    ]);
  });
});

describe('a chain', () => {
  test('is held against the checkpoints and proofs of its log', async () => {
    const cut = `${capsules.slice(0, 4).join('\n')}\n`;
    expect((await told([cut, checkpoint]))[0]).toBe('bad truncated');
    expect((await told([cut, proof]))[0]).toBe('bad truncated');
    const [whole] = await verdicts([lines, checkpoint]);
    expect(whole).toMatchObject({
      code: 'ok',
      lines: [
        'not sealed /signed_at (every record), /signed_by (every record)',
        expect.stringContaining('continues f1'),
      ],
      details: { checkpoints: [{ file: 'f1', size: 5, not_compared: null }] },
    });
    expect(whole!.notProven[0]).toBe('that no records followed the last checkpoint');
  });

  test('is not compared with a checkpoint that nobody known signed', async () => {
    const how = { ...trust, vkeys: [made.vkey], unasked: true };
    const [found] = await verdicts([lines, checkpoint.replace('\n5\n', '\n6\n')], how);
    expect(found).toMatchObject({
      code: 'ok',
      details: { checkpoints: [{ file: 'f1', size: null, not_compared: expect.any(String) }] },
    });
  });
});

describe('a revoked key', () => {
  test('counts where witnesses saw what it signed before', async () => {
    const seen = { ...revokedAt(T + 60), policy: made.policy };
    const [note, one] = [await made.checkpoint(5, T), await made.proof(2, 5, T)];
    expect(await told([lines, note], seen)).toEqual(['good ok', 'good ok']);
    expect(await told([capsules[2]!, one], seen)).toEqual(['good ok', 'good ok']);
    // The proof is of another record.
    expect((await told([capsules[1]!, one], seen))[0]).toBe('bad key_revoked');
    const late = { ...revokedAt(T - 60), policy: made.policy };
    expect(await told([lines, note], late)).toEqual(['bad key_revoked', 'bad LOG_KEY_REVOKED']);
    expect(await told([capsules[2]!, one], late)).toEqual(['bad key_revoked', 'bad LOG_KEY_REVOKED']);
  });

  test('counts for nothing else', async () => {
    const how = revokedAt(T);
    expect(await told([capsules[0]!, lines, made.bundle, made.authorization], how)).toEqual([
      'bad key_revoked',
      'bad key_revoked',
      'bad LOCK_SIGNATURE_INVALID',
      'bad EE_AO_KEY_REVOKED',
    ]);
    expect((await told([made.lock, made.signature], how))[0]).toBe('bad LOCK_SIGNATURE_INVALID');
    expect(await told([made.note], { ...how, vkeys: [made.vkey] })).toEqual(['bad key_revoked']);
  });
});

test('artifacts tell the digests that records name them by', () => {
  const of = (input: Input) => digestsOf(artifact(input)).map(({ of, value, tool }) => [of, value, tool]);
  const lock = readLock(made.lockBytes);
  expect(of(made.lock)[0]).toEqual(['lock', lockDigest(lock), undefined]);
  expect(of(made.lock).slice(1)).toEqual(
    [...lock.native!.tools].map(([name, { digest }]) => ['locked tool', digest, name]),
  );
  expect(of(made.bundle)).toEqual(of(made.lock));
  expect(of(made.envelopeText)[0]).toEqual(['exec_hash', execHash(made.envelope), undefined]);
  expect(of(made.capability)).toEqual(of(link));
  expect(of(made.capability).map(([name]) => name)).toEqual(['static', 'runtime']);
  expect(of(made.manifest)).toEqual([
    ['manifest', expect.stringMatching(/[0-9a-f]{64}$/), undefined],
    [
      'declared tool',
      'sha256:e327c3a474df2ea05faabc1a7dace4e1127ac206a792fa0924f026fb12f50cc8',
      'fetch_web_page',
    ],
  ]);
  expect(of(BINDINGS)).toEqual([['bindings', sha256Hex(BINDINGS), undefined]]);
  expect(of(RULES)).toEqual([['rules', `sha256:${sha256Hex(RULES)}`, undefined]]);
  expect([lines, checkpoint, proof, made.note].flatMap(of)).toEqual([]);
});
