import { describe, expect, test } from 'vitest';
import { policy, policyDocument, policyText, refusal } from '../../test/envelope.ts';
import { policyHash } from './hash.ts';
import { parsePolicy } from './index.ts';

type Document = { policy_doc: Record<string, unknown[]> & { destinations: Record<string, unknown> } };

/** The sample with a change to its rules. */
function changed(change: (doc: Document['policy_doc'], root: Record<string, unknown>) => void): string {
  const root = structuredClone(policyDocument) as unknown as Document & Record<string, unknown>;
  change(root.policy_doc, root);
  return JSON.stringify(root);
}

const refused = (text: string) => refusal(() => parsePolicy(text));
const [usdc] = policyDocument.policy_doc.assets;
const [, day] = policyDocument.policy_doc.ceilings;
const [calls] = policyDocument.policy_doc.velocity;

describe('a policy', () => {
  test('is read with its hash', () => {
    expect([policy.policy_id, policy.policy_version, policy.policy_effective_at]).toEqual([
      'payments',
      3,
      1771000000,
    ]);
    expect(policy.policy_hash).toBe(policyHash(policyDocument));
    expect(policy.actions).toContainEqual({ action_type: 'TRANSFER', people: 2 });
    expect(policy.assets.length).toBe(2);
    expect(policy.allow).toBe(null);
  });

  test('knows an EVM address in any case, and other destinations only as they stand', () => {
    const { deny } = policy;
    expect(deny.has('EVM', '0xbad0000000000000000000000000000000000bad')).toBe(true);
    expect(deny.has('EVM', '0xBAD0000000000000000000000000000000000BAD')).toBe(true);
    expect(deny.has('EVM', 'Mallory')).toBe(false);
    expect(deny.has('BANK_RAIL', '0xbad0000000000000000000000000000000000bad')).toBe(false);
    expect(deny.has('BANK_RAIL', 'mallory')).toBe(true);
  });

  test('may permit nothing at all', () => {
    const empty = changed((doc) => {
      for (const name of ['actions', 'assets', 'ceilings', 'velocity']) doc[name] = [];
      doc.destinations.allow = [];
    });
    expect(parsePolicy(empty).actions).toEqual([]);
  });

  test('has another hash for every other rule', () => {
    const hashes = [
      policyText,
      changed((doc) => doc.actions!.pop()),
      changed((doc) => doc.actions!.reverse()),
      changed((doc) => Object.assign(doc.ceilings![1]!, { amount: '5000001' })),
      changed((_, root) => Object.assign(root, { policy_version: 4 })),
      changed((_, root) => Object.assign(root, { policy_effective_at: 0 })),
    ].map((text) => parsePolicy(text).policy_hash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe('EE_POLICY_INVALID', () => {
  const TWICE = 'This stands in the list twice.';
  test.each<[string, Parameters<typeof changed>[0], string, string]>([
    [
      'another namespace',
      (_, root) => Object.assign(root, { policy_namespace: 'mine' }),
      '/policy_namespace',
      'This must be "cryptocardia.policy.v1".',
    ],
    [
      'another format',
      (doc) => Object.assign(doc, { format: 'bulla.policy.v2' }),
      '/policy_doc/format',
      'This must be "bulla.policy.v1".',
    ],
    [
      'version 0',
      (_, root) => Object.assign(root, { policy_version: 0 }),
      '/policy_version',
      'This must be an integer from 1 to 2^53-1.',
    ],
    [
      'an unknown rule',
      (doc) => Object.assign(doc, { cel: [] }),
      '/policy_doc/cel',
      'There is no field "cel" here.',
    ],
    [
      'no deny list',
      (doc) => delete doc.destinations.deny,
      '/policy_doc/destinations/deny',
      'The field "deny" is missing.',
    ],
    [
      'nobody needed',
      (doc) => Object.assign(doc.actions![0]!, { people: 0 }),
      '/policy_doc/actions/0/people',
      'This must be an integer from 1 to 100.',
    ],
    [
      'an amount as a number',
      (doc) => Object.assign(doc.ceilings![0]!, { amount: 5 }),
      '/policy_doc/ceilings/0/amount',
      'This must be a string of 1 to 80 digits without a leading zero.',
    ],
    [
      'a window of 0',
      (doc) => Object.assign(doc.ceilings![0]!, { window: 0 }),
      '/policy_doc/ceilings/0/window',
      'This must be an integer from 1 to 3162240000.',
    ],
    [
      'a window by name',
      (doc) => Object.assign(doc.ceilings![0]!, { window: 'day' }),
      '/policy_doc/ceilings/0/window',
      'This must be a number of seconds or ever or call.',
    ],
    [
      'a count for each call',
      (doc) => Object.assign(doc.velocity![0]!, { window: 'call' }),
      '/policy_doc/velocity/0/window',
      'This must be a number of seconds or ever.',
    ],
    [
      'a ceiling by asset',
      (doc) => Object.assign(doc.ceilings![0]!, { per: ['asset'] }),
      '/policy_doc/ceilings/0/per/0',
      'This must be one of caller, to, asset_class.',
    ],
    [
      'an id that is none',
      (doc) => Object.assign(doc.velocity![0]!, { id: 'All Calls' }),
      '/policy_doc/velocity/0/id',
      'This must be a string of 1 to 64 small letters, digits, dots, dashes and _.',
    ],
    ['an action twice', (doc) => doc.actions!.push(doc.actions![0]), '/policy_doc/actions/2', TWICE],
    ['an asset twice', (doc) => doc.assets!.push({ ...usdc, decimals: 18 }), '/policy_doc/assets/2', TWICE],
    [
      'an asset twice, in other case',
      (doc) => doc.assets!.push({ ...usdc, contract: usdc!.contract!.toLowerCase() }),
      '/policy_doc/assets/2',
      TWICE,
    ],
    ['a ceiling twice', (doc) => doc.ceilings!.push({ ...day, window: 60 }), '/policy_doc/ceilings/2', TWICE],
    [
      'a velocity twice',
      (doc) => doc.velocity!.push({ ...calls, window: 60 }),
      '/policy_doc/velocity/1',
      TWICE,
    ],
    [
      'a ceiling on nothing',
      (doc) => doc.ceilings!.push({ ...day, id: 'x', asset: 'ETH' }),
      '/policy_doc/ceilings/2/asset',
      'The policy lists no such asset.',
    ],
    [
      'a ceiling over two units',
      (doc) => doc.assets!.push({ ...usdc, network: 'mainnet', decimals: 18 }),
      '/policy_doc/ceilings/0/asset',
      'The entries of this asset differ in their decimals.',
    ],
  ])('%s', (_, change, path, message) => {
    expect(refused(changed(change))).toEqual(['EE_POLICY_INVALID', path, message]);
  });

  test('what is not strict JSON', () => {
    expect(
      refused(policyText.replace('"policy_version":3', '"policy_version":3,"policy_version":3')),
    ).toEqual([
      'EE_POLICY_INVALID',
      '/policy_version',
      'The policy is not strict JSON: The key "policy_version" occurs twice in one object.',
    ]);
    expect(refused(policyText.replace('"policy_version":3', '"policy_version":3.0'))).toEqual([
      'EE_POLICY_INVALID',
      '/policy_version',
      'A number here has plain digits, without a point or an exponent.',
    ]);
  });
});
