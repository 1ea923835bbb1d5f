import { FlattenedSign, GeneralSign, generalVerify, importJWK } from 'jose';
import { describe, expect, test } from 'vitest';
import { alice, alicesToken, approval, bob, by, claimsFor, envelope, keys } from '../../test/envelope.ts';
import { fromUtf8, keyId, type LocalSigner, toBase64url, toUtf8 } from '../crypto/index.ts';
import { AUTHORIZATION_TYPE, authorize, openAuthorization, readAuthorization } from './index.ts';

// jose is the oracle: what we sign it verifies, what it signs we open, and both sign the same bytes.

const claims = claimsFor(envelope);
const holder = (index: number) => keys[index]!.key;
const header = (index: number) => ({
  alg: holder(index).algorithm,
  approval,
  kid: keyId(holder(index)),
  typ: AUTHORIZATION_TYPE,
});

function jwk(signer: LocalSigner, seed?: number) {
  const isEd25519 = signer.algorithm === 'Ed25519';
  const [kty, publicName, privateName] = isEd25519 ? ['OKP', 'x', 'd'] : ['AKP', 'pub', 'priv'];
  const secret = seed === undefined ? {} : { [privateName]: toBase64url(new Uint8Array(32).fill(seed)) };
  const kind = isEd25519 ? { crv: 'Ed25519' } : {};
  return importJWK({
    kty,
    ...kind,
    alg: signer.algorithm,
    [publicName]: toBase64url(signer.publicKey),
    ...secret,
  });
}

describe('jose', () => {
  test.each([
    ['Ed25519', alice],
    ['ML-DSA-65', alicesToken],
  ])('verifies each signature of ours: %s', async (alg, signer) => {
    const jws = JSON.parse(await authorize(claims, by(bob, signer))) as Parameters<typeof generalVerify>[0];
    const { payload, protectedHeader } = await generalVerify(jws, await jwk(signer));
    expect(JSON.parse(fromUtf8(payload))).toEqual(claims);
    expect(protectedHeader?.alg).toBe(alg);
  });

  test('refuses ours when a claim is changed, as we do', async () => {
    const jws = JSON.parse(await authorize(claims, by(alice))) as Parameters<typeof generalVerify>[0];
    const changed = { ...jws, payload: toBase64url(toUtf8(JSON.stringify({ ...claims, jti: 'other' }))) };
    await expect(generalVerify(changed, await jwk(alice))).rejects.toMatchObject({
      code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
    });
    expect(() => openAuthorization(JSON.stringify(changed), { keys })).toThrow(
      expect.objectContaining({ code: 'EE_AO_SIGNATURE_INVALID' }),
    );
  });

  test('signs an authorization that we open, with both algorithms', async () => {
    const jws = await new GeneralSign(toUtf8(JSON.stringify(claims)))
      .addSignature(await jwk(alice, 1))
      .setProtectedHeader(header(0))
      .addSignature(await jwk(alicesToken, 2))
      .setProtectedHeader(header(1))
      .addSignature(await jwk(bob, 3))
      .setProtectedHeader(header(2))
      .sign();
    const opened = openAuthorization(JSON.stringify(jws), { keys });
    expect(opened.people).toEqual(['alice', 'bob']);
    expect(opened.keyIds.length).toBe(3);
    expect(opened.claims.jti).toBe('ao-1');
  });

  test('signs the same bytes as we do with Ed25519', async () => {
    const jws = await new GeneralSign(toUtf8(JSON.stringify(claims)))
      .addSignature(await jwk(alice, 1))
      .setProtectedHeader(header(0))
      .sign();
    expect(JSON.parse(await authorize(claims, by(alice)))).toEqual(jws);
  });

  test('signs in forms that it takes and we refuse', async () => {
    const key = await jwk(alice, 1);
    const sign = () => new FlattenedSign(toUtf8(JSON.stringify(claims)));
    const eddsa = await sign()
      .setProtectedHeader({ ...header(0), alg: 'EdDSA' })
      .sign(key);
    const unprotected = await sign()
      .setProtectedHeader(header(0))
      .setUnprotectedHeader({ note: 'x' })
      .sign(key);
    const crit = await sign()
      .setProtectedHeader({ ...header(0), b64: true, crit: ['b64'] })
      .sign(key);
    const codes = [eddsa, unprotected, crit].map(({ payload, ...signature }) => {
      try {
        readAuthorization(JSON.stringify({ payload, signatures: [signature] }));
        return 'nothing';
      } catch (error) {
        return (error as { code: string }).code;
      }
    });
    expect(codes).toEqual(['EE_AO_ALG', 'EE_AO_HEADER', 'EE_AO_HEADER']);
  });
});
