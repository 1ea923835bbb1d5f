import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { localSigner, toHex } from '../crypto/index.ts';
import { createCapsule, sealSync } from './index.ts';

/** The rules of the seed once more, by Python's own json and hashlib and whichever Ed25519 library is there. */
const SCRIPT = `
import hashlib, json, sys
try:
    from nacl.signing import VerifyKey
    def check(key, message, signature): VerifyKey(key).verify(message, signature)
except ImportError:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    def check(key, message, signature): Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
key = bytes.fromhex(sys.argv[1])
for line in sys.stdin.buffer:
    record = json.loads(line)
    seal = {name: record.pop(name) for name in ("hash", "signature", "signature_pq", "signed_at", "signed_by")}
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha3_256(text.encode("utf-8")).hexdigest() == seal["hash"], text
    assert seal["signed_by"] == sys.argv[1][:16]
    check(key, seal["hash"].encode("ascii"), bytes.fromhex(seal["signature"]))
    print(len(record))
`;

const probe = 'import importlib.util as u; assert u.find_spec("nacl") or u.find_spec("cryptography")';
const python = spawnSync('python3', ['-c', probe]).status === 0;
if (!python)
  console.log('skipped: no python3 with nacl or cryptography, so seals are not compared with Python');

test.skipIf(!python)('Python recomputes the hash and verifies the signature of what we export', () => {
  const signer = localSigner('Ed25519', new Uint8Array(32).fill(1));
  const number = fc.oneof(
    fc.maxSafeInteger().map((n) => n + 0),
    fc.double({ min: 0.0001, max: 1e14, noNaN: true }),
  );
  const given = fc.record({
    text: fc.string({ unit: 'grapheme' }),
    number,
    confidence: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0.0001, max: 1, noNaN: true })),
    specVersion: fc.boolean(),
  });
  const sample = fc.sample(given, 300);
  const lines = sample.map(({ text, number, confidence, specVersion }) => {
    const capsule = createCapsule(
      {
        trigger: { request: text },
        reasoning: { confidence },
        outcome: { result: [number, { [text]: null }] },
      },
      { id: 'a1b2c3d4-e5f6-7890-abcd-ef1234567890', now: new Date(0), specVersion },
    );
    return sealSync(capsule, signer, { signedAt: new Date(0) }).text;
  });
  const run = spawnSync('python3', ['-c', SCRIPT, toHex(signer.publicKey)], {
    input: lines.map((line) => `${line}\n`).join(''),
    encoding: 'utf8',
  });
  expect(run.stderr).toBe('');
  expect(run.stdout.trim().split('\n')).toEqual(sample.map(({ specVersion }) => (specVersion ? '13' : '12')));
});
