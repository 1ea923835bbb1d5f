import { describe, expect, test } from 'vitest';
import { options, refusal, utf8, whole } from '../../test/surface.ts';
import { fromBase64, fromUtf8, localSigner, noteVerifier, publicKey, toBase64 } from '../crypto/index.ts';
import { preAuthEncoding, signDsse } from './file/dsse.ts';
import {
  lockDigest,
  openAttested,
  openDsse,
  openNoted,
  readLock,
  signLockNote,
  signLockStatement,
  writeLock,
} from './index.ts';

const signers = [1, 2].map((fill) => localSigner('Ed25519', new Uint8Array(32).fill(fill)));
const keys = signers.map((signer) => publicKey('Ed25519', signer.publicKey));
const text = writeLock(whole, options).text;
const lock = utf8(text);
const changed = utf8(text.replace('"node"', '"sh"'));

describe('a signed note on a lock', async () => {
  const note = await signLockNote(lock, [{ name: 'team.example', signer: signers[0]! }]);
  const verifier = noteVerifier('team.example', keys[0]!);

  test('names it by its digest', () => {
    expect(note.startsWith(`bulla/lock/v1\n${lockDigest(readLock(lock))}\n\n— team.example `)).toBe(true);
  });

  test('opens that lock and no other, for that key and no other', () => {
    const opened = openNoted(lock, note, [verifier]);
    expect([opened.tools.size, opened.verified.by, opened.verified.keys]).toEqual([3, 'note', [keys[0]]]);
    expect(refusal(() => openNoted(changed, note, [verifier]))).toBe('LOCK_OTHER');
    expect(refusal(() => openNoted(lock, note, [noteVerifier('team.example', keys[1]!)]))).toBe(
      'NOTE_UNVERIFIED',
    );
    expect(refusal(() => openNoted(lock, note.replace('v1', 'v2'), [verifier]))).toBe(
      'NOTE_SIGNATURE_INVALID',
    );
  });
});

describe('DSSE', () => {
  test('the published encoding', () => {
    const encoded = preAuthEncoding('http://example.com/HelloWorld', utf8('hello world'));
    expect(fromUtf8(encoded)).toBe('DSSEv1 29 http://example.com/HelloWorld 11 hello world');
    expect(fromUtf8(preAuthEncoding('é', utf8('ü')))).toBe('DSSEv1 2 é 2 ü');
  });

  test('opens what a trusted key signed, among other signatures, in either alphabet', async () => {
    const payload = Uint8Array.of(0xfb, 0xff, 0xfe);
    const envelope = await signDsse('t', payload, signers);
    expect(openDsse(utf8(envelope), 't', [keys[1]!])).toEqual({ payload, keys: [keys[1]] });
    expect(openDsse(utf8(envelope), 't', keys).keys).toEqual(keys);
    const urlSafe = envelope.replace('"payload":"+//+"', '"payload":"-__-","more":[]');
    expect(urlSafe).not.toBe(envelope);
    expect(openDsse(utf8(urlSafe), 't', keys).payload).toEqual(payload);
  });

  test('refuses the rest', async () => {
    const envelope = await signDsse('t', utf8('x'), [signers[0]!]);
    const open = (file: string, type = 't') => refusal(() => openDsse(utf8(file), type, [keys[0]!]));
    expect(open(envelope)).toBe('ok');
    expect(open(envelope, 'u')).toBe('DSSE_MALFORMED');
    expect(open(envelope.replace('"payloadType":"t"', '"payloadType":"u"'), 'u')).toBe('DSSE_UNVERIFIED');
    expect(open(envelope.replace('"eA=="', '"eQ=="'))).toBe('DSSE_UNVERIFIED');
    expect(open(envelope.replace('"eA=="', '"eA"'))).toBe('DSSE_MALFORMED');
    expect(open('[]')).toBe('DSSE_MALFORMED');
    expect(open('{"payload":"","payloadType":"t","signatures":[{}]}')).toBe('DSSE_MALFORMED');
    expect(open('{"payload":"","payloadType":"t","signatures":[]}')).toBe('DSSE_UNVERIFIED');
    expect(open('{"payload":"","payload":"eA==","payloadType":"t","signatures":[]}')).toBe(
      'JSON_DUPLICATE_KEY',
    );
    const many = `{"payload":"","payloadType":"t","signatures":[${Array(101).fill('{"sig":""}').join()}]}`;
    expect(open(many)).toBe('DSSE_MALFORMED');
    expect(refusal(() => openDsse(utf8(envelope), 't', []))).toBe('DSSE_UNVERIFIED');
    await expect(signDsse('t', utf8('x'), [])).rejects.toMatchObject({ code: 'DSSE_MALFORMED' });
  });
});

describe('a statement on a lock', async () => {
  const envelope = await signLockStatement(lock, signers);
  const read = readLock(lock);

  test('is an in-toto statement with these members', () => {
    const { payload, payloadType } = JSON.parse(envelope) as { payload: string; payloadType: string };
    expect(payloadType).toBe('application/vnd.in-toto+json');
    expect(JSON.parse(fromUtf8(fromBase64(payload)))).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'mcp-lock.json', digest: { sha256: read.sha256 } }],
      predicateType: 'urn:bulla:predicate:lock:v1',
      predicate: {
        asserted_by: 'observer-attested',
        lock: { version: '3.0', format: 1, digest: lockDigest(read) },
        tools: Object.fromEntries([...read.native!.tools].map(([name, { digest }]) => [name, digest])),
      },
    });
  });

  test('opens that lock and no other', async () => {
    expect(openAttested(lock, utf8(envelope), [keys[1]!]).verified).toMatchObject({
      by: 'dsse',
      keys: [keys[1]],
    });
    expect(refusal(() => openAttested(changed, utf8(envelope), keys))).toBe('LOCK_OTHER');
    expect(refusal(() => openAttested(utf8(`${text} `), utf8(envelope), keys))).toBe('LOCK_OTHER');
    const named = await signLockStatement(lock, signers, {
      name: 'x.json',
      assertedBy: 'publisher-asserted',
    });
    expect(openAttested(lock, utf8(named), keys).verified.by).toBe('dsse');
  });

  test('that says anything else of the lock is refused, though it is signed', async () => {
    const { payload } = JSON.parse(envelope) as { payload: string };
    const statement = fromUtf8(fromBase64(payload));
    const open = async (said: string) => {
      const signed = await signDsse('application/vnd.in-toto+json', utf8(said), signers);
      return refusal(() => openAttested(lock, utf8(signed), keys));
    };
    expect(await open(statement)).toBe('ok');
    expect(await open(statement.replace('"3.0"', '"2.0"'))).toBe('LOCK_OTHER');
    expect(await open(statement.replace('observer-attested', 'me'))).toBe('LOCK_OTHER');
    expect(await open(statement.replace('"predicateType"', '"more":1,"predicateType"'))).toBe('LOCK_OTHER');
    expect(await open('{}')).toBe('LOCK_OTHER');
    expect(await open('{')).toBe('JSON_UNEXPECTED_END');
    expect(toBase64(utf8(statement))).toBe(payload);
  });
});
