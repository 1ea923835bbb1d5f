import { unzipSync, zipSync } from 'fflate/browser';
import { describe, expect, test } from 'vitest';
import { object, options, refusal, surface, utf8, whole } from '../../../test/surface.ts';
import {
  fromUtf8,
  keyId,
  localSigner,
  publicKey,
  sha256Hex,
  toHex,
  writePublicKey,
} from '../../crypto/index.ts';
import { readBundle, signLock, verifyBundle, writeBundle, writeLock } from '../index.ts';
import type { BundleFiles } from './bundle.ts';

const signer = localSigner('Ed25519', new Uint8Array(32).fill(7));
const [key, other] = [signer, localSigner('Ed25519', new Uint8Array(32).fill(8))].map((by) =>
  publicKey('Ed25519', by.publicKey),
) as [ReturnType<typeof publicKey>, ReturnType<typeof publicKey>];
const lock = utf8(writeLock(whole, options).text);
const version = { toolVersion: 'bulla 0.1.0' };

describe('a bundle', async () => {
  const files: BundleFiles = {
    lock,
    signature: utf8(await signLock(lock, signer)),
    policy: utf8('name: p\n'),
    publicKey: utf8(writePublicKey(key, 'lock-pem')),
    others: new Map([['mcp-lock.json.note', utf8('note')]]),
  };
  const bytes = writeBundle(files, version);

  test('has these bytes', () => {
    expect(sha256Hex(bytes)).toBe('843995912b8e9d5af5e868e1372cf06866c3ce0bd59dd57522a911576aa956f3');
    expect(sha256Hex(writeBundle(files, version))).toBe(sha256Hex(bytes));
  });

  test('holds its files in the order of their names, all with one date and one mode', () => {
    const { files: held } = readBundle(bytes);
    expect([...held.keys()]).toEqual([
      ...['README.txt', 'manifest.json', 'mcp-lock.json', 'mcp-lock.json.note', 'mcp-lock.json.sig'],
      ...['policy.yaml', 'public.key'],
    ]);
    const view = new DataView(bytes.buffer);
    let at = view.getUint32(bytes.length - 6, true);
    for (let i = 0; i < held.size; i++) {
      // Method, time, date, made by, attributes.
      expect([10, 12, 14, 4].map((step) => view.getUint16(at + step, true))).toEqual([8, 0, 0x21, 0x0314]);
      expect(view.getUint32(at + 38, true)).toBe(0o100644 * 65536);
      at += 46 + view.getUint16(at + 28, true);
    }
    expect(Object.keys(unzipSync(bytes))).toEqual([...held.keys()]);
  });

  test('says what is in it, for programs and for people', () => {
    const { files: held, manifest } = readBundle(bytes);
    const text = (name: string) => fromUtf8(held.get(name)!);
    expect(manifest).toEqual({
      tool_version: 'bulla 0.1.0',
      go_version: null,
      compression_method: 'deflate',
      files: ['mcp-lock.json', 'mcp-lock.json.note', 'mcp-lock.json.sig', 'policy.yaml', 'public.key'].map(
        (name) => ({
          name,
          sha256: sha256Hex(held.get(name)!),
          size: held.get(name)!.length,
        }),
      ),
      lockfile_hash: sha256Hex(lock),
      signature_hash: sha256Hex(files.signature),
      canon_version: 'v1',
    });
    expect(
      text('manifest.json').startsWith(
        '{\n  "tool_version": "bulla 0.1.0",\n  "compression_method": "deflate",',
      ),
    ).toBe(true);
    expect(text('README.txt')).toBe(`Approved tool server
====================

Server:  "node" "server.js" "a b"
Lock:    version 3.0, sha256:05e8668b59d69139d390df84ae30a5e4b56b3882768c8e7fcff6d39dbccc62d4
Tools:   3

[MEDIUM]
  "write_file"

[LOW]
  "add"
  "big"

The signature covers mcp-lock.json and nothing else in this bundle.
A key that comes with the bundle proves nothing: verify with one that you trust already.
`);
  });

  test('is verified by a trusted key, and says by which and what is not signed', () => {
    const verified = verifyBundle(bytes, [other, key]);
    expect(verified.trusted).toEqual({ key, keyId: keyId(key) });
    expect([verified.carriesKey, verified.readme, verified.lock.native!.identity]).toEqual([
      ...[true, 'derived', options.identity],
    ]);
    expect(verified.unsigned).toEqual([
      ...['README.txt', 'manifest.json', 'mcp-lock.json.note', 'policy.yaml', 'public.key'],
    ]);
  });

  test('is not verified by the key that it carries', () => {
    expect(refusal(() => verifyBundle(bytes, []))).toBe('LOCK_SIGNATURE_NO_KEY');
    expect(refusal(() => verifyBundle(bytes, [other]))).toBe('LOCK_SIGNATURE_INVALID');
  });

  /** The bundle with some files changed, added or, when undefined, left out; the manifest is not. */
  const changed = (changes: Record<string, Uint8Array | undefined>) => {
    const all = { ...unzipSync(bytes), ...changes };
    return zipSync(
      Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<
        string,
        Uint8Array
      >,
      { os: 3, attrs: (0o100644 << 16) >>> 0, mtime: new Date(1980, 0, 1) },
    );
  };
  const manifest = fromUtf8(unzipSync(bytes)['manifest.json']!);

  test.each<[string, Record<string, Uint8Array | undefined>, string]>([
    ['a changed policy', { 'policy.yaml': utf8('name: q\n') }, 'BUNDLE_MISMATCH'],
    ['a changed lock', { 'mcp-lock.json': utf8('{}') }, 'BUNDLE_MISMATCH'],
    ['a file more', { 'more.txt': utf8('x') }, 'BUNDLE_MISMATCH'],
    ['a file less', { 'policy.yaml': undefined }, 'BUNDLE_MISMATCH'],
    ['no manifest', { 'manifest.json': undefined }, 'BUNDLE_MANIFEST'],
    ['no lock', { 'mcp-lock.json': undefined }, 'BUNDLE_MANIFEST'],
    ['no signature', { 'mcp-lock.json.sig': undefined }, 'BUNDLE_MANIFEST'],
    ['another README', { 'README.txt': utf8('All is well.\n') }, 'BUNDLE_MISMATCH'],
    ['no README', { 'README.txt': undefined }, 'ok'],
    ['a manifest that is none', { 'manifest.json': utf8('[]') }, 'BUNDLE_MANIFEST '],
    [
      'a manifest with a key more',
      { 'manifest.json': utf8(manifest.replace('{', '{"x":1,')) },
      'BUNDLE_MANIFEST /x',
    ],
    [
      'a manifest with a key twice',
      { 'manifest.json': utf8(manifest.replace('{', '{"files":[],')) },
      'JSON_DUPLICATE_KEY',
    ],
    [
      'a manifest with another size',
      { 'manifest.json': utf8(manifest.replace(/"size": 8/, '"size": 9')) },
      'BUNDLE_MISMATCH',
    ],
    [
      'a manifest with another lock hash',
      { 'manifest.json': utf8(manifest.replace(/("lockfile_hash": ")./, '$1x')) },
      'BUNDLE_MISMATCH',
    ],
    [
      'a manifest with another form',
      { 'manifest.json': utf8(manifest.replace('"v1"', '"v2"')) },
      'BUNDLE_MISMATCH',
    ],
    ['a file outside', { '../x': utf8('x') }, 'BUNDLE_NAME'],
  ])('with %s is not verified', (_, changes, code) => {
    expect(refusal(() => verifyBundle(changed(changes), [key]))).toBe(code);
  });

  test('whose manifest was changed with it falls to the signature, or is told to be unsigned', async () => {
    const forged = utf8(fromUtf8(lock).replace('"node"', '"sh"'));
    const lie = writeBundle(
      {
        ...files,
        lock: forged,
        publicKey: utf8(writePublicKey(other, 'pem')),
        signature: utf8(await signLock(forged, localSigner('Ed25519', new Uint8Array(32).fill(8)))),
      },
      version,
    );
    expect(refusal(() => verifyBundle(lie, [key]))).toBe('LOCK_SIGNATURE_INVALID');
    const policy = writeBundle({ ...files, policy: utf8('name: q\n') }, version);
    expect(verifyBundle(policy, [key]).unsigned).toContain('policy.yaml');
  });

  test('that carries another key than the one that signed is refused', () => {
    const pem = utf8(writePublicKey(other, 'pem'));
    const listed = manifest
      .replace(sha256Hex(files.publicKey!), sha256Hex(pem))
      .replace(`"size": ${files.publicKey!.length}`, `"size": ${pem.length}`);
    const bundle = changed({ 'public.key': pem, 'manifest.json': utf8(listed) });
    expect(refusal(() => verifyBundle(bundle, [key]))).toBe('BUNDLE_KEY');
  });

  test('is not made of what cannot be verified later', () => {
    const make = (change: Partial<BundleFiles>) =>
      refusal(() => writeBundle({ ...files, ...change }, version));
    expect(make({ publicKey: utf8(writePublicKey(other, 'lock-pem')) })).toBe('LOCK_SIGNATURE_INVALID');
    expect(make({ publicKey: utf8('nonsense') })).toBe('BUNDLE_KEY');
    expect(make({ signature: utf8('nonsense') })).toBe('LOCK_SIGNATURE_MALFORMED');
    expect(make({ lock: utf8('{}') })).toBe('LOCK_SIGNATURE_INVALID');
    const { signature } = files;
    expect(refusal(() => writeBundle({ lock: utf8('{}'), signature }, version))).toBe('LOCK_VERSION');
    for (const name of ['../x', 'a/b', '1', '__proto__'])
      expect(make({ others: new Map([[name, lock]]) })).toBe('BUNDLE_NAME');
    for (const name of ['manifest.json', 'mcp-lock.json', 'README.txt', 'readme.txt', 'POLICY.yaml'])
      expect(make({ others: new Map([[name, lock]]) })).toBe('BUNDLE_NAME');
    expect(make({ others: new Map([['zeros', new Uint8Array(2 << 20)]]) })).toBe('BUNDLE_TOO_LARGE');
  });
});

test('the README quotes what a server could use to deceive', async () => {
  const hostile = surface({ tools: [] });
  const named = { ...hostile, tools: [object('{"name":"a\\n[LOW]\\u202e\\"é🎉"}')] };
  const identity = { transport: 'stdio', command: 'x\u200b\n', args: [], env: [] } as const;
  const text = utf8(writeLock(named, { ...options, format: 'v2', identity }).text);
  const made = writeBundle(
    { lock: text, signature: utf8(await signLock(text, signer, { form: 'legacy' })) },
    version,
  );
  const readme = fromUtf8(readBundle(made).files.get('README.txt')!);
  expect(readme).toContain('  "a\\n[LOW]\\u202e\\"\\u00e9\\ud83c\\udf89"\n');
  expect(readme).toContain('Server:  "x\\u200b\\n"\n');
  expect(verifyBundle(made, [key]).manifest.canon_version).toBe('v1');
  expect(toHex(made.subarray(0, 4))).toBe('504b0304');
});
