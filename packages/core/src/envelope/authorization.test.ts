import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import {
  AUDIENCE,
  alice,
  alicesToken,
  approval,
  bob,
  by,
  claimsFor,
  envelope,
  envelopeWith,
  keys,
  mallory,
  NOW,
  refusal,
  rejection,
} from '../../test/envelope.ts';
import {
  fromBase64url,
  fromUtf8,
  keyId,
  localSigner,
  publicKey,
  type Signer,
  toBase64url,
  toUtf8,
} from '../crypto/index.ts';
import { JsonNumber, type JsonObject, parse, stringify } from '../json/index.ts';
import type { KeyValidity } from './authorization.ts';
import {
  type Authorization,
  addSignature,
  authorize,
  execHash,
  openAuthorization,
  readApprovals,
  readAuthorization,
  toAuthorizationDetails,
} from './index.ts';

interface General {
  payload: string;
  signatures: { protected: string; signature: string; [other: string]: unknown }[];
  [other: string]: unknown;
}

const claims = claimsFor(envelope);
const signed = await authorize(claims, by(alice, bob));
const general = (): General => JSON.parse(signed) as General;
const idOf = (signer: Signer) => keyId(publicKey(signer.algorithm, signer.publicKey));
const open = (value: General | string, known = keys) =>
  openAuthorization(typeof value === 'string' ? value : JSON.stringify(value), { keys: known });
const refused = (value: General | string, known = keys) => refusal(() => open(value, known));
const encode = (value: unknown) =>
  toBase64url(toUtf8(typeof value === 'string' ? value : JSON.stringify(value)));
const header = (change: Record<string, unknown> = {}) => ({
  alg: 'Ed25519',
  approval,
  kid: idOf(alice),
  typ: 'bulla-authorization-v1',
  ...change,
});

/** A JWS that Alice signed over whatever header and payload. */
function signedBy(signer: Signer, protectedHeader: unknown, payload: unknown = claims): General {
  const [p, b] = [encode(protectedHeader), encode(payload)];
  const signature = signer.sign(toUtf8(`${p}.${b}`)) as Uint8Array;
  return { payload: b, signatures: [{ protected: p, signature: toBase64url(signature) }] };
}

describe('an authorization', () => {
  test('has these bytes', () => {
    const { payload, signatures, ...rest } = general();
    expect(rest).toEqual({});
    expect(JSON.parse(fromUtf8(fromBase64url(payload)))).toEqual(claims);
    expect(signatures.map((each) => fromUtf8(fromBase64url(each.protected)))).toEqual(
      [alice, bob].map(
        (each) =>
          `{"alg":"Ed25519","approval":{"when":${NOW - 50},"how":"human","chain":[{"step":"consent",` +
          `"decision":"approved","channel":"passkey"}]},"kid":"${idOf(each)}","typ":"bulla-authorization-v1"}`,
      ),
    );
    const first = signatures[0]!;
    expect(first.signature).toBe(toBase64url(alice.sign(toUtf8(`${first.protected}.${payload}`))));
    expect(signed.endsWith('}\n')).toBe(true);
  });

  test('opens to the claims and the people who signed', () => {
    const opened = open(signed);
    expect(opened.people).toEqual(['alice', 'bob']);
    expect(opened.keyIds).toEqual([idOf(alice), idOf(bob)]);
    expect(opened.unknown).toEqual([]);
    const { approvals } = opened;
    expect(opened.claims).toEqual(claims);
    expect(approvals.map(({ person, keyId, when, how }) => [person, keyId, when, how])).toEqual([
      ['alice', idOf(alice), NOW - 50, 'human'],
      ['bob', idOf(bob), NOW - 50, 'human'],
    ]);
    expect(stringify(approvals[0]!.chain)).toBe(
      '[{"step":"consent","decision":"approved","channel":"passkey"}]',
    );
    expect(openAuthorization(toUtf8(signed), { keys })).toEqual(opened);
  });

  test('two keys of one person count as one person', async () => {
    const twice = await authorize(claims, by(alice, alicesToken));
    expect(open(twice).people).toEqual(['alice']);
    expect(open(twice).keyIds.length).toBe(2);
    const all = await authorize(claims, by(alicesToken, bob, alice));
    expect(open(all).people).toEqual(['alice', 'bob']);
  });

  test('signatures of unknown keys are set aside, unchecked', async () => {
    const value = JSON.parse(await authorize(claims, by(mallory, bob))) as General;
    value.signatures[0]!.signature = value.signatures[1]!.signature;
    expect(open(value).people).toEqual(['bob']);
    expect(open(value).unknown).toEqual([idOf(mallory)]);
    expect(open(value).approvals.map(({ person }) => person)).toEqual(['bob']);
  });

  test('nobody states an approval but their own, under the name by which the verifier knows them', async () => {
    const escalated = { ...approval, how: 'escalated' as const, chain: [{ step: 'passkey' }] };
    const begun = await authorize(claims, [{ signer: mallory, ...escalated }]);
    const added = await addSignature(begun, { signer: alice, ...approval, chain: [] });
    expect(open(added).approvals).toEqual([
      { person: 'alice', keyId: idOf(alice), when: NOW - 50, how: 'human', chain: [] },
    ]);
    expect(readApprovals(added).map(({ keyId, how }) => [keyId, how])).toEqual([
      [idOf(mallory), 'escalated'],
      [idOf(alice), 'human'],
    ]);
    // The header of one signature cannot be moved to another.
    const value = JSON.parse(added) as General;
    const [stated] = value.signatures;
    const header = JSON.parse(fromUtf8(fromBase64url(stated!.protected))) as Record<string, unknown>;
    value.signatures[1]!.protected = encode({ ...header, kid: idOf(alice) });
    expect(refused(value)[0]).toBe('EE_AO_SIGNATURE_INVALID');
  });

  test('is signed by one after the other', async () => {
    const one = await authorize(claims, by(alice));
    const two = await addSignature(one, by(bob)[0]!);
    expect(two).toBe(signed);
    expect(await rejection(addSignature(two, by(bob)[0]!))).toEqual([
      'EE_AO_DUPLICATE_SIGNATURE',
      '/signatures/2',
      'One key signed the authorization twice.',
    ]);
  });

  test('can be read without verifying, to be shown', async () => {
    const value = general();
    value.signatures[0]!.signature = value.signatures[1]!.signature;
    expect(readAuthorization(JSON.stringify(value)).exec_hash).toBe(execHash(envelope));
  });

  test('keeps the steps of a chain to the digit', async () => {
    const chain = [parse('{"n":12345678901234567890.10,"deep":{"__proto__":1}}') as JsonObject];
    const text = await authorize(claims, [{ signer: alice, ...approval, chain }]);
    expect(stringify(open(text).approvals[0]!.chain)).toBe(
      '[{"n":12345678901234567890.10,"deep":{"__proto__":1}}]',
    );
  });

  test('may be for a hash of the later draft', async () => {
    const exec_hash = execHash(envelope, 'envelope-v1-nul');
    expect(open(await authorize({ ...claims, exec_hash }, by(alice))).claims.exec_hash).toBe(exec_hash);
  });
});

describe('what cannot be signed', () => {
  const rejected = (change: Partial<Authorization>) =>
    rejection(authorize({ ...claims, ...change }, by(alice)));

  test('claims that would not open', async () => {
    expect(await rejected({ exp: claims.nbf })).toEqual([
      'EE_AO_INVALID',
      '/payload/exp',
      'An authorization must begin before it expires.',
    ]);
    expect(await rejected({ approvals: [{ who: 'ceo', how: 'human' }] } as never)).toEqual([
      'EE_AO_INVALID',
      '/payload/approvals',
      'There is no field "approvals" here.',
    ]);
    const unread = { signer: alice, ...approval, how: 'host' as never };
    expect(await rejection(authorize(claims, [unread]))).toEqual([
      'EE_AO_HEADER',
      '/signatures/approval/how',
      'This must be one of human, policy, escalated.',
    ]);
    expect(await rejected({ exec_hash: 'abc' })).toEqual([
      'EE_AO_INVALID',
      '/payload/exec_hash',
      'This must be a string of 64 to 66 hex digits, in the later draft after 0x.',
    ]);
    expect(await rejected({ exec_hash: execHash(envelope).toUpperCase() })).toEqual([
      'EE_AO_INVALID',
      '/payload/exec_hash',
      'This must be a string of 64 to 66 hex digits, in the later draft after 0x.',
    ]);
    expect(await rejected({ k: 2 } as never)).toEqual([
      'EE_AO_INVALID',
      '/payload/k',
      'There is no field "k" here.',
    ]);
    expect(await rejected({ aud: [AUDIENCE] } as never)).toEqual([
      'EE_AO_INVALID',
      '/payload/aud',
      'This must be a string of 1 to 256 characters.',
    ]);
  });

  test('nothing without a signer, and not twice by one key', async () => {
    expect(await rejection(authorize(claims, []))).toEqual([
      'EE_AO_INVALID',
      '/signatures',
      'An authorization has 1 to 100 signatures.',
    ]);
    expect(await rejection(authorize(claims, by(alice, alice)))).toEqual([
      'EE_AO_DUPLICATE_SIGNATURE',
      '/signatures/1',
      'One key signed the authorization twice.',
    ]);
  });

  test('with another algorithm, a weak key, or a signer that signs something else', async () => {
    const other = localSigner('ML-DSA-44', new Uint8Array(32).fill(9));
    expect(await rejection(authorize(claims, by(other)))).toEqual([
      'EE_AO_ALG',
      undefined,
      'An authorization is signed with Ed25519 or ML-DSA-65.',
    ]);
    const weak: Signer = { ...alice, publicKey: Uint8Array.of(1, ...new Uint8Array(31)) };
    expect((await rejection(authorize(claims, by(weak))))[0]).toBe('KEY_SMALL_ORDER');
    const broken: Signer = { ...alice, sign: () => alice.sign(toUtf8('something else')) };
    expect(await rejection(authorize(claims, by(broken)))).toEqual([
      'EE_AO_SIGNATURE_INVALID',
      undefined,
      'The signer returned a signature that does not verify.',
    ]);
    const failing: Signer = { ...alice, sign: () => Promise.reject(new Error('token gone')) };
    await expect(authorize(claims, by(failing))).rejects.toThrow('token gone');
  });
});

describe('EE_AO_SIGNATURE_INVALID', () => {
  const invalid = ['EE_AO_SIGNATURE_INVALID', '/signatures/0/signature', 'The signature does not verify.'];

  test('when a claim was changed', () => {
    const payload = encode({ ...claims, exp: claims.exp + 1 });
    expect(refused({ ...general(), payload })).toEqual(invalid);
  });

  test('when the signature is another, short, empty or that of another key', () => {
    for (const bytes of [bob.sign(toUtf8('x')), new Uint8Array(63), new Uint8Array(0)]) {
      const value = general();
      value.signatures[0]!.signature = toBase64url(bytes);
      expect(refused(value)).toEqual(invalid);
    }
  });

  test('also when the other signatures are good', () => {
    const value = general();
    value.signatures[1]!.signature = value.signatures[0]!.signature;
    expect(refused(value)).toEqual([invalid[0], '/signatures/1/signature', invalid[2]]);
  });

  test('when no known key signed', async () => {
    const told = ['EE_AO_SIGNATURE_INVALID', '/signatures', 'No known key signed the authorization.'];
    expect(refused(await authorize(claims, by(mallory)))).toEqual(told);
    expect(refused(signed, [])).toEqual(told);
  });

  test('when the header was exchanged for that of another key', () => {
    const value = general();
    const [first, second] = value.signatures as [General['signatures'][0], General['signatures'][0]];
    value.signatures = [{ ...first, protected: second.protected }];
    expect(refused(value)).toEqual(invalid);
  });

  test('for every bit of the signature and of the payload', () => {
    const flipped = (text: string, bit: number) => {
      const bytes = fromBase64url(text);
      bytes[(bit >> 3) % bytes.length]! ^= 1 << (bit & 7);
      return toBase64url(bytes);
    };
    fc.assert(
      fc.property(fc.nat(512 - 1), fc.nat(8 * 600), (bit, other) => {
        const value = general();
        value.signatures[0]!.signature = flipped(value.signatures[0]!.signature, bit);
        expect(refused(value)[0]).toBe('EE_AO_SIGNATURE_INVALID');
        const changed = { ...general(), payload: flipped(general().payload, other) };
        expect(refused(changed)[0]).toBe('EE_AO_SIGNATURE_INVALID');
      }),
      { numRuns: 40 * inject('soak') },
    );
  });
});

describe('EE_AO_ALG', () => {
  const alg = [
    'EE_AO_ALG',
    '/signatures/0/protected/alg',
    'An authorization is signed with Ed25519 or ML-DSA-65.',
  ];

  test.each(['none', 'None', 'EdDSA', 'HS256', 'ES256', 'ML-DSA-44', 'ed25519', '', 1, null])(
    '%j',
    (name) => {
      expect(refused(signedBy(alice, header({ alg: name })))).toEqual(alg);
    },
  );

  test('a missing one', () => {
    const { alg: _, ...rest } = header();
    expect(refused(signedBy(alice, rest))).toEqual(alg);
  });

  test('another than the key has', () => {
    expect(refused(signedBy(alice, header({ alg: 'ML-DSA-65' })))).toEqual([
      'EE_AO_ALG',
      '/signatures/0/protected/alg',
      'The header says ML-DSA-65, but the key is of Ed25519.',
    ]);
  });
});

describe('EE_AO_HEADER', () => {
  const ONLY = 'A protected header has alg, approval, kid and typ, and nothing else.';
  test.each<[string, unknown, string, string]>([
    ['crit', header({ crit: ['exp'], exp: 1 }), '/crit', 'Extensions of JWS (crit) are not understood.'],
    ['b64', header({ b64: false }), '/b64', 'A payload that is not encoded (b64) is not understood.'],
    ['jwk', header({ jwk: { kty: 'OKP' } }), '/jwk', ONLY],
    ['jku', header({ jku: 'https://example.com' }), '/jku', ONLY],
    ['x5c', header({ x5c: [] }), '/x5c', ONLY],
    ['cty', header({ cty: 'JWT' }), '/cty', ONLY],
    [
      'no approval',
      header({ approval: undefined }),
      '/approval',
      'A protected header states the approval of the signer.',
    ],
    [
      'another way to approve',
      header({ approval: { ...approval, how: 'host' } }),
      '/approval/how',
      'This must be one of human, policy, escalated.',
    ],
    [
      'a chain of texts',
      header({ approval: { ...approval, chain: ['x'] } }),
      '/approval/chain/0',
      'This must be an object.',
    ],
    [
      'a name',
      header({ approval: { ...approval, who: 'ceo' } }),
      '/approval/who',
      'There is no field "who" here.',
    ],
    ['another typ', header({ typ: 'JWT' }), '/typ', 'The header typ must be bulla-authorization-v1.'],
    [
      'a short kid',
      header({ kid: 'alice' }),
      '/kid',
      'The header kid is the full id of a key, 64 hex digits.',
    ],
    ['a list', [], '', 'A protected header is an object.'],
    [
      'a duplicate',
      `{"alg":"Ed25519","alg":"none","kid":"${idOf(alice)}","typ":"bulla-authorization-v1"}`,
      '',
      'The protected header is not strict JSON: The key "alg" occurs twice in one object.',
    ],
    ['no JSON', 'alg', '', 'The protected header is not strict JSON: A value was expected here.'],
  ])('%s', (_, value, at, message) => {
    expect(refused(signedBy(alice, value))).toEqual([
      'EE_AO_HEADER',
      `/signatures/0/protected${at}`,
      message,
    ]);
  });

  test('an unprotected header, even an empty one', () => {
    for (const unprotected of [{}, { kid: idOf(alice) }]) {
      const value = general();
      value.signatures[1]!.header = unprotected;
      expect(refused(value)).toEqual([
        'EE_AO_HEADER',
        '/signatures/1/header',
        'Nothing signs an unprotected header, so there must be none.',
      ]);
    }
  });
});

describe('EE_AO_INVALID', () => {
  const FORM = 'This must be an object of payload and signatures, as in general JSON form.';
  const { payload, signatures } = general();
  const first = signatures[0]!;
  const flattened = { payload, ...first };

  test.each<[string, string, string, string]>([
    ['no JSON', 'x', '', 'The authorization is not strict JSON: A value was expected here.'],
    ['the compact form', JSON.stringify(`${first.protected}.${payload}.${first.signature}`), '', FORM],
    ['the flattened form', JSON.stringify(flattened), '', FORM],
    ['a member too many', JSON.stringify({ payload, signatures, header: {} }), '', FORM],
    [
      'no signatures',
      JSON.stringify({ payload, signatures: [] }),
      '/signatures',
      'An authorization has 1 to 100 signatures.',
    ],
    [
      'too many signatures',
      JSON.stringify({ payload, signatures: new Array(101).fill(first) }),
      '/signatures',
      'An authorization has 1 to 100 signatures.',
    ],
    [
      'a member too many in a signature',
      JSON.stringify({ payload, signatures: [{ ...first, kid: 'x' }] }),
      '/signatures/0',
      'This must be an object of protected and signature, as in general JSON form.',
    ],
    [
      'a payload that is no string',
      JSON.stringify({ payload: claims, signatures }),
      '/payload',
      'The payload is a string.',
    ],
    [
      'padding',
      JSON.stringify({ payload, signatures: [{ ...first, signature: `${first.signature}==` }] }),
      '/signatures/0/signature',
      'This is not canonical base64url.',
    ],
    [
      'bits beyond the last byte',
      JSON.stringify({ payload, signatures: [{ ...first, signature: first.signature.replace(/.$/, 'B') }] }),
      '/signatures/0/signature',
      'This is not canonical base64url.',
    ],
    [
      'the other alphabet',
      JSON.stringify({ payload: '+/8', signatures }),
      '/payload',
      'This is not canonical base64url.',
    ],
    [
      'a duplicate member',
      signed.replace('{"payload"', '{"payload":"e30","payload"'),
      '/payload',
      'The authorization is not strict JSON: The key "payload" occurs twice in one object.',
    ],
  ])('%s', (_, text, path, message) => {
    expect(refused(text)).toEqual(['EE_AO_INVALID', path, message]);
  });

  test.each<[string, unknown, string, string]>([
    ['no JSON', 'x', '', 'The claims are not strict JSON: A value was expected here.'],
    ['a list', [], '', 'This must be an object.'],
    ['no expiry', { ...claims, exp: undefined }, '/exp', 'The field "exp" is missing.'],
    ['an expiry as text', { ...claims, exp: '9' }, '/exp', 'This must be an integer from 0 to 2^53-1.'],
    [
      'a threshold of its own',
      { ...claims, threshold: 1 },
      '/threshold',
      'There is no field "threshold" here.',
    ],
  ])('claims: %s', (_, value, at, message) => {
    expect(refused(signedBy(alice, header(), value))).toEqual(['EE_AO_INVALID', `/payload${at}`, message]);
  });

  test('claims with 1.0', () => {
    const text = JSON.stringify(claims).replace(`"nbf":${claims.nbf}`, `"nbf":${claims.nbf}.0`);
    expect(refused(signedBy(alice, header(), text))).toEqual([
      'EE_AO_INVALID',
      '/payload/nbf',
      'A number here has plain digits, without a point or an exponent.',
    ]);
  });

  test('claims are not looked at before a known key verified', () => {
    expect(refused(signedBy(mallory, header({ kid: idOf(mallory) }), 'x'))[0]).toBe(
      'EE_AO_SIGNATURE_INVALID',
    );
  });
});

describe('other refusals', () => {
  test('EE_AO_DUPLICATE_SIGNATURE', () => {
    const value = general();
    value.signatures.push(value.signatures[0]!);
    expect(refused(value)).toEqual([
      'EE_AO_DUPLICATE_SIGNATURE',
      '/signatures/2',
      'One key signed the authorization twice.',
    ]);
  });

  const limited = (change: Partial<KeyValidity>) =>
    keys.map((holder) =>
      holder.person === 'bob'
        ? { ...holder, validity: { notBefore: null, notAfter: null, revokedAt: null, ...change } }
        : holder,
    );

  test('EE_AO_KEY_REVOKED, whenever it says that it signed', () => {
    for (const revokedAt of [0, NOW, NOW + 1000])
      expect(refused(signed, limited({ revokedAt }))).toEqual([
        'EE_AO_KEY_REVOKED',
        '/signatures/1',
        'A key that signed the authorization is revoked.',
      ]);
    // Also when it is given a second time as if nothing was known of it.
    expect(refused(signed, [...limited({ revokedAt: NOW }), ...keys])[0]).toBe('EE_AO_KEY_REVOKED');
    expect(refused(signed, [...keys, ...limited({ revokedAt: NOW })])[0]).toBe('EE_AO_KEY_REVOKED');
  });

  test('EE_AO_KEY_INVALID, when it says that it signed and when it is used', () => {
    const opened = (change: Partial<KeyValidity>, now?: number) =>
      refusal(() => openAuthorization(signed, { keys: limited(change), ...(now && { now }) }));
    const when = NOW - 50;
    const invalid = (time: number) => [
      'EE_AO_KEY_INVALID',
      '/signatures/1',
      `A key that signed the authorization was not valid at ${time}.`,
    ];
    expect(opened({ notBefore: when, notAfter: when })).toBe('nothing');
    expect(opened({ notBefore: when + 1 })).toEqual(invalid(when));
    expect(opened({ notAfter: when - 1 })).toEqual(invalid(when));
    expect(opened({ notAfter: NOW - 1 }, NOW)).toEqual(invalid(NOW));
    expect(opened({ notAfter: NOW }, NOW)).toBe('nothing');
    expect(openAuthorization(signed, { keys: limited({ notAfter: NOW }) }).until).toBe(NOW);
  });

  test('EE_AO_KEYS_AMBIGUOUS', () => {
    const shared = [...keys, { key: keys[0]!.key, person: 'bob' }];
    expect(refused(signed, shared)).toEqual([
      'EE_AO_KEYS_AMBIGUOUS',
      undefined,
      'One key is given to two people.',
    ]);
    expect(open(signed, [...keys, keys[0]!]).people).toEqual(['alice', 'bob']);
  });
});

describe('authorization_details', () => {
  const read = readAuthorization(signed);

  test('holds the claims in the members of RFC 9396', () => {
    const details = toAuthorizationDetails(read, envelope);
    expect(JSON.parse(stringify(details))).toEqual({
      type: 'bulla.execution-envelope.v1',
      locations: [AUDIENCE],
      actions: ['TRANSFER'],
      identifier: 'ao-1',
      iss: 'gateway.example',
      sub: 'agent-7',
      tenant_id: 'acme',
      exec_hash: execHash(envelope),
      nbf: claims.nbf,
      exp: claims.exp,
    });
    expect(toAuthorizationDetails(read, envelopeWith({ action_type: 'MINT' })).get('actions')).toEqual([
      'MINT',
    ]);
  });

  test('a number counts by its digits', () => {
    expect(toAuthorizationDetails(read, envelope).get('exp')).toEqual(new JsonNumber(`${claims.exp}`));
  });
});
