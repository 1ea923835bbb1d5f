import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { hasVectors, readBytes, readText } from '#test-files';
import { envelope, envelopeWith, fields, policyDocument, policyText, refusal } from '../../test/envelope.ts';
import { digestText } from '../canon/index.ts';
import { sha256Hex, toUtf8 } from '../crypto/index.ts';
import { parse } from '../json/index.ts';
import { policyHash } from './hash.ts';
import { createEnvelope, type Envelope, execHash, parseEnvelope, parsePolicy } from './index.ts';

describe.skipIf(!hasVectors)('the published vectors', () => {
  test.each([
    [
      '001',
      '050e3c01b4d5e09fe7e7d138c3d7d3817d532410b9bd13fead5bb9c5569db57a',
      '0x717c96f736ea35c6d81901e35a7a792d1db80be5631ab18a7bd6159a855da188',
      '41a95b883c3034a20749ba6195086d155aa3fe672ce0e4260f352accf09fe4bf',
    ],
    [
      '002',
      'f7da2067ed1cf4355fe90802c3c7f56ff37ab92e626e0b18ee457404cfee1a91',
      '0x4f49af42698775a741493c3ec3abaec105824134f22416e6b81a701c0c5e904a',
      '9a6c2087564f44ac16183154735c683c0ef0b70e94dc4176007ab75e33abe695',
    ],
  ])('%s: by the rule, and what was published', async (number, rule, draft, published) => {
    const read = parseEnvelope(await readBytes(`envelope/envelope-${number}.json`));
    expect(execHash(read)).toBe(rule);
    expect(execHash(read, 'envelope-v1-nul')).toBe(draft);
    const canonical = await readText(`envelope/canonical-${number}.json`);
    expect(canonical.endsWith('}\n')).toBe(true);
    expect(digestText(canonical.trimEnd(), 'envelope-v1')).toBe(rule);
    // The published hash took the final newline of the file along, against its own rule.
    expect(digestText(canonical, 'envelope-v1')).toBe(published);
    expect(published).not.toBe(rule);
  });
});

describe('exec_hash', () => {
  const canonical = JSON.stringify({
    action_type: 'TRANSFER',
    actor: { caller: 'agent-7', role: null },
    constraints: { nonce: 7, replay_scope: 'caller', ttl: 1771088900 },
    execution_id: 'exec-1',
    intent_id: 'intent-1',
    policy_binding: {
      policy_hash: policyHash(policyDocument),
      policy_id: 'payments',
      policy_version: 3,
    },
    rail: {
      chain_id: 11155111,
      contract: '0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
      network: 'sepolia',
      type: 'EVM',
    },
    target: {
      amount: '1000000',
      asset: 'USDC',
      asset_class: 1,
      decimals: 6,
      to: '0x2222222222222222222222222222222222222222',
    },
    tenant_id: 'acme',
    version: 1,
  });

  test('is SHA-256 over the domain and the sorted fields', () => {
    expect(execHash(envelope)).toBe(sha256Hex(`EXEC:ENV:v1${canonical}`));
    expect(execHash(envelope, 'envelope-v1-nul')).toBe(
      `0x${sha256Hex(`CryptoCardia.ExecutionEnvelope.v1\u0000${canonical}`)}`,
    );
  });

  test('does not depend on the metadata, whatever it is', () => {
    const hash = execHash(envelope);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.maxSafeNat(), (other, created_at) => {
        expect(execHash(createEnvelope({ ...fields, metadata: { ...other, created_at } }))).toBe(hash);
      }),
      { numRuns: 200 * inject('soak') },
    );
    const text = JSON.stringify(fields);
    const exact = text.replace('"note":"rent"', '"note":0.10000000000000000001');
    expect(execHash(parseEnvelope(exact))).toBe(hash);
  });

  test('does not depend on spelling, order or spaces of the text', () => {
    const reversed = Object.fromEntries(Object.entries(fields).reverse());
    const text = JSON.stringify(reversed, null, 4).replaceAll('acme', '\\u0061cme');
    expect(text).toContain('\\u0061cme');
    expect(execHash(parseEnvelope(text))).toBe(execHash(envelope));
  });

  test('EE_CANONICALIZATION_FAILED for what is no envelope', () => {
    const forged = (value: unknown) => refusal(() => execHash(value as Envelope));
    expect(forged({ ...fields, version: 1.5 })).toEqual([
      'EE_CANONICALIZATION_FAILED',
      '/version',
      'The envelope has no canonical form: 1.5 is not a base-10 integer.',
    ]);
    expect(forged({ ...fields, tenant_id: '\ud800' })).toEqual([
      'EE_CANONICALIZATION_FAILED',
      '/tenant_id',
      'The envelope has no canonical form: The string holds half of a surrogate pair.',
    ]);
    expect(forged(undefined)).toEqual([
      'EE_CANONICALIZATION_FAILED',
      '',
      'The envelope has no canonical form: undefined has no JSON form.',
    ]);
  });

  test('is another one for every other value of every binding field', () => {
    const seen = new Set([execHash(envelope)]);
    const others = [
      ...['intent_id', 'execution_id', 'tenant_id'].map((name) => ({ [name]: 'other' })),
      { action_type: 'MINT' },
      ...Object.entries({ type: 'BANK_RAIL', network: 'x', chain_id: 1, contract: null }).map(part('rail')),
      ...Object.entries({ caller: 'x', role: 'x' }).map(part('actor')),
      ...Object.entries({ to: 'x', asset: 'x', asset_class: null, amount: '1', decimals: 5 }).map(
        part('target'),
      ),
      ...Object.entries({ ttl: 1, nonce: 8, replay_scope: 'tenant' }).map(part('constraints')),
      ...Object.entries({ policy_id: 'x', policy_version: 4, policy_hash: '0xabcd' }).map(
        part('policy_binding'),
      ),
    ];
    for (const change of others) seen.add(execHash(envelopeWith(change)));
    expect(others.length).toBe(21);
    expect(seen.size).toBe(22);
  });

  test('tells apart texts that look alike or move between fields', () => {
    const hashes = [
      { intent_id: 'ab', execution_id: 'c' },
      { intent_id: 'a', execution_id: 'bc' },
      { intent_id: 'é' },
      { intent_id: 'e\u0301' },
      { target: { amount: '1' } },
      { target: { amount: '10' } },
    ].map((change) => execHash(envelopeWith(change)));
    expect(new Set(hashes).size).toBe(6);
  });
});

function part(name: string) {
  return ([field, value]: [string, unknown]) => ({ [name]: { [field]: value } });
}

describe('policy_hash', () => {
  test('is 0x and SHA-256 over the domain, a zero byte and the canonical snapshot', () => {
    const snapshot = { policy_version: 1, policy_doc: { b: 'x', a: [1, null] } };
    const bytes = toUtf8(
      'CryptoCardia.PolicyHash.v1\u0000{"policy_doc":{"a":[1,null],"b":"x"},"policy_version":1}',
    );
    expect(policyHash(snapshot)).toBe(`0x${sha256Hex(bytes)}`);
    expect(policyHash(parse(JSON.stringify(snapshot)))).toBe(policyHash(snapshot));
    expect(policyHash({})).toBe('0xf91adef7a53e2130503a7c6b1d6edcd913693376c220afe3d6be6088b27b2951');
  });

  test('of a policy file is that of the file itself, in any order and indentation', () => {
    const parsed = parsePolicy(policyText);
    expect(parsed.policy_hash).toBe(policyHash(policyDocument));
    const reversed = Object.fromEntries(Object.entries(policyDocument).reverse());
    expect(parsePolicy(JSON.stringify(reversed, null, 1)).policy_hash).toBe(parsed.policy_hash);
  });

  test('EE_POLICY_HASH_DERIVATION_FAILED for what has no exact canonical form', () => {
    const code = 'EE_POLICY_HASH_DERIVATION_FAILED';
    expect(refusal(() => policyHash(parse('{"a":[9007199254740993]}')))).toEqual([
      code,
      '/a/0',
      'The number cannot be hashed exactly.',
    ]);
    expect(refusal(() => policyHash({ a: { b: undefined } }))).toEqual([
      code,
      '/a/b',
      'The policy has no canonical form: undefined has no JSON form.',
    ]);
    expect(refusal(() => policyHash(parse('{"a":1e999}')))).toEqual([
      code,
      '/a',
      'The policy has no canonical form: 1e999 is not a finite number.',
    ]);
    for (const value of [null, undefined, 'x', 1, []])
      expect(refusal(() => policyHash(value))).toEqual([code, '', 'The snapshot of a policy is an object.']);
  });
});
