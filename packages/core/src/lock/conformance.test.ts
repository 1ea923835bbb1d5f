import { describe, expect, test } from 'vitest';
import { hasVectors, listFiles, readBytes, readText } from '#test-files';
import { options, refusal, surface, utf8 } from '../../test/surface.ts';
import { canonicalBytes, digest } from '../canon/index.ts';
import {
  fromBase64,
  fromHex,
  readPrivateKey,
  readPublicKey,
  sha256Hex,
  signerOf,
  verify,
} from '../crypto/index.ts';
import { type JsonObject, parse } from '../json/index.ts';
import { hashSchema } from './file/hashes.ts';
import {
  openSigned,
  readBundle,
  readLock,
  readSignature,
  type Surface,
  signLock,
  verifyBundle,
  writeLock,
} from './index.ts';

interface Observed {
  canon: { name: string; input_hex: string; hashjson: string }[];
  signature: {
    lockfile_utf8: string;
    lockfile_sha256: string;
    sig_v1_file: string;
    sig_v2_file: string;
    canon_v1_sha256: string;
    canon_v2_sha256: string;
  };
  bundle: { sha256: string; zip_base64: string };
  dup_key_bypass: { file: string };
}

const folder = 'mcptrust';
const observed = async () => JSON.parse(await readText(`${folder}/observed.json`)) as Observed;
const compat = (name: string) => readBytes(`${folder}/backward_compat/${name}`);
const compatText = (name: string) => readText(`${folder}/backward_compat/${name}`);
const fixtureKey = async () => readPublicKey(await compatText('test_public.key'));
const fixtureSigner = async () => signerOf(readPrivateKey(await compatText('test_private.key')));

describe.skipIf(!hasVectors)('the released lock program', () => {
  test('every file of its vectors is used here', async () => {
    expect(await listFiles(`${folder}/backward_compat`)).toEqual([
      'legacy_v1_lock.json',
      'legacy_v1_sig.hex',
      'new_v1_sig.txt',
      'new_v2_sig.txt',
      'test_private.key',
      'test_public.key',
    ]);
    expect(await listFiles(`${folder}/canon_vectors`)).toEqual([
      'canon_v1.json',
      'canon_v2.json',
      'input.json',
    ]);
    expect(await listFiles(`${folder}/golden`)).toEqual(['mcp-lock.v3.json']);
    expect(await listFiles(`${folder}/mcp`)).toEqual(['prompts_list.json', 'resources_templates_list.json']);
    expect(await listFiles(`${folder}/proxy`)).toEqual(['mcp-lock.proxy.v3.json']);
  });

  test('the schema hash of every observed input that we accept', async () => {
    const { canon } = await observed();
    const refused: Record<string, string> = {};
    for (const { name, input_hex, hashjson } of canon) {
      const run = () => hashSchema(parse(fromHex(input_hex)), 'mcptrust-v1-go');
      const code = refusal(run);
      if (code === 'ok') expect(run(), name).toBe(hashjson);
      else refused[name] = code;
    }
    expect(Object.keys(refused).sort()).toEqual([
      ...['bom', 'dup_keys', 'invalid_utf8', 'lone_surrogates', 'overflow', 'raw_tab', 'trailing'],
      'trailing_comma',
    ]);
    expect(canon.length).toBe(20);
  });

  test('the shipped lock of the canon vectors reads, and signs as its shipped canonical text', async () => {
    const bytes = await readBytes(`${folder}/canon_vectors/input.json`);
    const { tools, serverCommand, version } = readLock(bytes);
    expect([version, serverCommand, [...tools]]).toEqual([
      '1.0',
      'test-server',
      [
        ['zeta_tool', { description_hash: 'sha256:abc', input_schema_hash: 'sha256:def', risk_level: 'LOW' }],
        [
          'alpha_tool',
          { description_hash: 'sha256:123', input_schema_hash: 'sha256:456', risk_level: 'HIGH' },
        ],
      ],
    ]);
    for (const form of ['v1', 'v2'] as const) {
      const { signature } = readSignature(utf8(await signLock(bytes, await fixtureSigner(), { form })));
      const canonical = await readBytes(`${folder}/canon_vectors/canon_${form}.json`);
      expect(verify(await fixtureKey(), canonical, signature)).toBe(true);
    }
  });
});

describe.skipIf(!hasVectors)('its signatures', () => {
  test('legacy, v1 and v2 over the old lock: made bit for bit, and verified', async () => {
    const lock = await compat('legacy_v1_lock.json');
    const [key, signer] = [await fixtureKey(), await fixtureSigner()];
    for (const [form, file, profile] of [
      ['legacy', 'legacy_v1_sig.hex', 'mcptrust-v1-go'],
      ['v1', 'new_v1_sig.txt', 'mcptrust-v1-go'],
      ['v2', 'new_v2_sig.txt', 'mcptrust-v2'],
    ] as const) {
      expect(await signLock(lock, signer, { form })).toBe(await compatText(file));
      const opened = openSigned(lock, await compat(file), [key]);
      expect([opened.version, opened.verified.by, opened.verified.profile]).toEqual(['1.0', 'sig', profile]);
      expect(opened.verified.keys).toEqual([key]);
    }
  });

  test('over a v3 lock with <&>, U+2028, astral names and a number: made bit for bit, and verified', async () => {
    const { signature: seen } = await observed();
    const lock = utf8(seen.lockfile_utf8);
    expect(sha256Hex(lock)).toBe(seen.lockfile_sha256);
    const { document, artifact } = readLock(lock);
    expect([digest(document, 'mcptrust-v1-go'), digest(document, 'mcptrust-v2')]).toEqual([
      seen.canon_v1_sha256,
      seen.canon_v2_sha256,
    ]);
    expect(artifact?.tarball_size).toBe(12345678);
    const [key, signer] = [await fixtureKey(), await fixtureSigner()];
    for (const [form, file] of [
      ['v1', seen.sig_v1_file],
      ['v2', seen.sig_v2_file],
    ] as const) {
      expect(await signLock(lock, signer, { form })).toBe(file);
      expect(openSigned(lock, utf8(file), [key]).verified.keys).toEqual([key]);
      const other = form === 'v1' ? seen.sig_v2_file : seen.sig_v1_file;
      const swapped = utf8(file.slice(0, 23) + other.slice(23));
      expect(refusal(() => openSigned(lock, swapped, [key]))).toBe('LOCK_SIGNATURE_INVALID');
    }
  });

  test('a lock with a second tools key, which verifies there, is refused here', async () => {
    const { dup_key_bypass } = await observed();
    const forged = utf8(dup_key_bypass.file);
    const [key, signer] = [await fixtureKey(), await fixtureSigner()];
    const honest = utf8(dup_key_bypass.file.replace(/ {2}"tools": \{"evil".*\n/, ''));
    const signature = utf8(await signLock(honest, signer));
    expect(openSigned(honest, signature, [key]).tools.size).toBe(1);
    // Its verifier lets the last key win, and finds the signed bytes.
    const lastWins = parse(forged, { allow: ['duplicate-keys'] });
    expect(verify(key, canonicalBytes(lastWins, 'mcptrust-v1-go'), readSignature(signature).signature)).toBe(
      true,
    );
    expect(refusal(() => openSigned(forged, signature, [key]))).toBe('JSON_DUPLICATE_KEY');
    expect(refusal(() => readLock(forged))).toBe('JSON_DUPLICATE_KEY');
  });
});

describe.skipIf(!hasVectors)('its lockfiles', () => {
  const result = async (file: string, key: string) =>
    ((parse(await readBytes(`${folder}/mcp/${file}`)) as JsonObject).get('result') as JsonObject).get(
      key,
    ) as JsonObject[];

  test('the golden v3 is written byte for byte from the recorded lists, and read', async () => {
    const golden = await readText(`${folder}/golden/mcp-lock.v3.json`);
    const scanned: Surface = {
      ...surface({ serverInfo: '{"name":"test-server"}' }),
      prompts: await result('prompts_list.json', 'prompts'),
      resourceTemplates: await result('resources_templates_list.json', 'resourceTemplates'),
    };
    const at = { ...options, generator: 'mcptrust test', updatedAt: new Date('2024-01-01T00:00:00Z') };
    const { text, warnings } = writeLock(scanned, { ...at, format: 'v3', compatGo: true });
    // The program ends a v3 file with a newline; its golden file was written without.
    expect(text).toBe(`${golden}\n`);
    expect(warnings).toEqual([]);
    const lock = readLock(utf8(golden));
    expect([
      lock.version,
      lock.serverName,
      lock.native,
      lock.prompts?.size,
      lock.resourceTemplates?.size,
    ]).toEqual([...['3.0', 'test-server', null, 3, 3]]);
    expect(lock.prompts?.get('summarize')).toEqual({
      argumentsHash: 'sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945',
      titleHash: null,
      descriptionHash: 'sha256:a04d95ebe29a8fe1cb065f5bff15fd68e4ff5913b122a1654b3f84493e590741',
    });
  });

  test('a lock whose tools have keys of another spelling is refused', async () => {
    const bytes = await readBytes(`${folder}/proxy/mcp-lock.proxy.v3.json`);
    expect(refusal(() => readLock(bytes))).toBe('LOCK_FIELD /tools/safe_tool/descriptionHash');
  });
});

describe.skipIf(!hasVectors)('its bundles', () => {
  test('one is read and verified with the fixture key', async () => {
    const { bundle } = await observed();
    const bytes = fromBase64(bundle.zip_base64);
    expect(sha256Hex(bytes)).toBe(bundle.sha256);
    const { files, manifest } = readBundle(bytes);
    expect([...files.keys()]).toEqual([
      ...['manifest.json', 'mcp-lock.json', 'mcp-lock.json.sig', 'public.key', 'README.txt'],
    ]);
    expect(manifest.go_version).toBe('go1.24.4');
    expect(files.get('mcp-lock.json')).toEqual(await compat('legacy_v1_lock.json'));
    const key = await fixtureKey();
    const verified = verifyBundle(bytes, [key]);
    expect(verified.trusted.key).toBe(key);
    expect([verified.carriesKey, verified.readme, verified.unsigned, verified.lock.version]).toEqual([
      ...[true, 'unchecked', ['manifest.json', 'public.key', 'README.txt'], '1.0'],
    ]);
  });
});
