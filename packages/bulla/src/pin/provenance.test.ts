import type { BullaError } from '@bulla/core/error';
import { expect, test } from 'vitest';
import { CLAIMS, sigstore, statement, WORKFLOW } from '../../test/sigstore.ts';
import { integrityOf } from './cache.ts';
import { type ExpectedSigner, verifyProvenance } from './provenance.ts';
import { GITHUB_ISSUER } from './verify.ts';

const integrity = integrityOf(Buffer.from('the tarball'));
const expected: ExpectedSigner = {
  issuer: GITHUB_ISSUER,
  identity: null,
  source: 'https://github.com/team/shop',
};
const made = await sigstore();
const bundle = await made.attest(statement(integrity), CLAIMS);

function refused(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as BullaError).code;
  }
  return 'ok';
}
const verify = (
  of: Uint8Array = bundle,
  who: Partial<ExpectedSigner> = {},
  root: Uint8Array = made.trustedRoot,
) => verifyProvenance(of, root, integrity, { ...expected, ...who });

test('a provenance of the pinned tarball by the expected signer tells what it says', () => {
  expect(verify()).toEqual({
    issuer: GITHUB_ISSUER,
    identity: WORKFLOW,
    sourceRepository: 'https://github.com/team/shop',
    sourceRef: 'refs/tags/v1.0.0',
    predicateType: 'https://slsa.dev/provenance/v1',
    builder: 'https://github.com/actions/runner/github-hosted',
    claimedRepository: 'https://github.com/team/shop',
    claimedRef: 'refs/tags/v1.0.0',
    workflow: '.github/workflows/release.yml',
  });
});

test('the signer is the one that was asked for: exactly, or up to a star at the end', () => {
  const cases: [Partial<ExpectedSigner>, string][] = [
    [{ source: 'https://github.com/team/shop@refs/tags/v1.0.0' }, 'ok'],
    [{ source: 'https://github.com/team/shop@refs/tags/*' }, 'ok'],
    [{ source: 'https://github.com/team/*' }, 'ok'],
    [{ source: null, identity: WORKFLOW }, 'ok'],
    [{ source: null, identity: 'https://github.com/team/shop/*' }, 'ok'],
    [{ source: 'https://github.com/team/shop@refs/heads/main' }, 'PROVENANCE_INVALID'],
    [{ source: 'https://github.com/team/sho' }, 'PROVENANCE_INVALID'],
    [{ source: 'https://github.com/team/.*' }, 'PROVENANCE_INVALID'],
    [{ source: 'team/shop' }, 'PROVENANCE_INVALID'],
    [{ source: null, identity: 'https://github.com/team/shop' }, 'PROVENANCE_INVALID'],
    [{ identity: 'https://github.com/team/other/*' }, 'PROVENANCE_INVALID'],
    [{ issuer: 'https://accounts.example' }, 'PROVENANCE_INVALID'],
    [{ issuer: 'https://token.actions.githubusercontent.com*' }, 'PROVENANCE_INVALID'],
    [{ source: null }, 'PROVENANCE_UNASKED'],
  ];
  for (const [who, expected] of cases)
    expect(
      refused(() => verify(bundle, who)),
      JSON.stringify(who),
    ).toBe(expected);
});

test('a certificate that names no repository satisfies nobody who asks for one', async () => {
  const { repository, ref, ...claims } = CLAIMS;
  const nameless = await made.attest(statement(integrity), claims);
  expect(refused(() => verify(nameless))).toBe('PROVENANCE_INVALID');
  expect(refused(() => verify(nameless, { source: null, identity: WORKFLOW }))).toBe('ok');
  const long = await made.attest(statement(integrity), { ...CLAIMS, ref: `refs/heads/${'x'.repeat(150)}` });
  expect(verify(long).sourceRef).toBe(`refs/heads/${'x'.repeat(150)}`);
  expect(repository).toBe('team/shop');
  expect(ref).toBe('refs/tags/v1.0.0');
});

test('another tarball is refused, by its hash', async () => {
  const other = await made.attest(statement(integrityOf(Buffer.from('another'))), CLAIMS);
  const empty = await made.attest(statement(integrity, { subject: [] }), CLAIMS);
  const sha256 = await made.attest(statement(integrity, { subject: [{ digest: { sha256: 'aa' } }] }), CLAIMS);
  for (const one of [other, empty, sha256]) expect(refused(() => verify(one))).toBe('PROVENANCE_INVALID');
});

test('another content, signature, log entry, proof or trusted root is refused', async () => {
  const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64');
  const changed = (key: string, value: string) => {
    const text = bundle.toString().replace(new RegExp(`"${key}":"[^"]*"`), `"${key}":"${value}"`);
    expect(text).not.toBe(bundle.toString());
    return Buffer.from(text);
  };
  for (const [key, value] of [
    ['payload', base64(JSON.stringify(statement(integrity, { extra: 1 })))],
    ['sig', base64('x')],
    ['integratedTime', '1'],
    ['envelope', 'rekor.example - 1'],
    ['signedEntryTimestamp', base64('x')],
    ['canonicalizedBody', base64('{"apiVersion":"0.0.1","kind":"dsse","spec":{}}')],
  ] as const)
    expect(
      refused(() => verify(changed(key, value))),
      key,
    ).toBe('PROVENANCE_INVALID');
  const stranger = await sigstore();
  expect(refused(() => verify(bundle, {}, stranger.trustedRoot))).toBe('PROVENANCE_INVALID');
});

test('what is not understood is refused', async () => {
  const text = (value: string) => Buffer.from(value);
  for (const [of, root] of [
    [text('{}'), made.trustedRoot],
    [text('nothing'), made.trustedRoot],
    [text(bundle.toString().replace('{', '{"mediaType":"x",')), made.trustedRoot],
    [bundle, text('{"tlogs":[{}]}')],
    [bundle, text('[')],
  ] as const)
    expect(refused(() => verify(of, {}, root))).toBe('PROVENANCE_FORM');
  const other = await made.attest(
    statement(integrity, { predicateType: 'https://example.org/publish' }),
    CLAIMS,
  );
  const typeless = await made.attest(statement(integrity, { _type: 'x' }), CLAIMS);
  expect([refused(() => verify(other)), refused(() => verify(typeless))]).toEqual([
    'PROVENANCE_FORM',
    'PROVENANCE_FORM',
  ]);
});

test('the older predicate is read too', async () => {
  const predicate = {
    builder: { id: 'https://github.com/actions/runner' },
    invocation: {
      configSource: {
        uri: 'git+https://github.com/team/shop@refs/tags/v1.0.0',
        entryPoint: '.github/workflows/r.yml',
      },
    },
  };
  const old = statement(integrity, {
    _type: 'https://in-toto.io/Statement/v0.1',
    predicateType: 'https://slsa.dev/provenance/v0.2',
    predicate,
  });
  const { builder, claimedRepository, claimedRef, workflow } = verify(await made.attest(old, CLAIMS));
  expect([builder, claimedRepository, claimedRef, workflow]).toEqual([
    'https://github.com/actions/runner',
    'https://github.com/team/shop',
    'refs/tags/v1.0.0',
    '.github/workflows/r.yml',
  ]);
});
