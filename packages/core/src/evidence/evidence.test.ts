import { describe, expect, test } from 'vitest';
import { BullaError } from '../error.ts';
import { parse, stringify } from '../json/index.ts';
import { STAGES } from './failure.ts';
import {
  authorityOf,
  claimsOf,
  commitmentsOf,
  type Evidence,
  environmentOf,
  failureAt,
  failureText,
  readEvidence,
  readFailure,
  withOrigin,
} from './index.ts';

const HEX = 'ab'.repeat(32);
const FULL: Required<Evidence> = {
  instance: 'i',
  intent: 'c0',
  late: 'c1',
  outcome: 'lazy',
  origin: 'op.example/-/c',
  recovered: { origin: 'op.example/-/c', size: 3, root: HEX, length: 2 },
  agent: 'a',
  server: { name: 'files', digest: `sha256:${HEX}` },
  lock: `sha256:${HEX}`,
  tool: {
    server: 'files',
    name: 'write',
    locked: `sha256:${HEX}`,
    declared: `sha256:${HEX}`,
    fingerprint: HEX,
  },
  args: { commitment: HEX, of: 'jcs' },
  rest: { commitment: HEX, of: 'exact' },
  redacted: { args: { commitment: HEX, of: 'jcs' }, result: { uncommitted: 'RECORD_REDACTION_TOO_LARGE' } },
  manifest: { agent_id: 'a', version: 2, hash: HEX, bindings: HEX },
  capability: { static: HEX, runtime: HEX, invocation: HEX, link: HEX, envelope: HEX },
  consent: { id: 'c', asked: 'q', answered: 'r' },
  envelope: {
    exec_hash: HEX,
    profile: 'envelope-v1',
    audience: 'bank',
    policy: { id: 'treasury', version: 3, hash: HEX },
  },
  policy: { id: 'rules', version: 1, hash: HEX },
  facts: { removed: 2, names: ['x'], deep: { ok: true } },
  uncommitted: { '/outcome/metrics': 'VALUE_NOT_JSON' },
};

const capsule = (environment: unknown) => ({ context: { environment } });
const codeAt = (work: () => unknown) => {
  try {
    work();
    return null;
  } catch (error) {
    const { code, path } = error as BullaError;
    return `${code} ${path}`;
  }
};

describe('the evidence map', () => {
  test('is read back as it was built, plain and parsed', () => {
    const environment = environmentOf(FULL);
    expect(environment).toEqual({ bulla: { v: 1, ...FULL } });
    expect(readEvidence(capsule(environment))).toEqual(FULL);
    expect(readEvidence(parse(stringify(capsule(environment))))).toEqual(FULL);
    expect(readEvidence(capsule({}))).toBe(null);
    expect(readEvidence({})).toBe(null);
    expect(environmentOf({ lock: undefined } as unknown as Evidence)).toEqual({ bulla: { v: 1 } });
  });

  test.each([
    ['a version that is not known', { bulla: { v: 2 } }, 'EVIDENCE_INVALID /context/environment/bulla/v'],
    ['no version', { bulla: {} }, 'EVIDENCE_INVALID /context/environment/bulla/v'],
    ['no object', { bulla: [] }, 'EVIDENCE_INVALID /context/environment/bulla'],
    [
      'a member of another kind',
      { bulla: { v: 1, lock: 5 } },
      'EVIDENCE_INVALID /context/environment/bulla/lock',
    ],
    [
      'a member that is not known',
      { bulla: { v: 1, 'a/b': 1 } },
      'EVIDENCE_INVALID /context/environment/bulla/a~1b',
    ],
    [
      'a part without what it must have',
      { bulla: { v: 1, tool: { locked: 'x' } } },
      'EVIDENCE_INVALID /context/environment/bulla/tool/name',
    ],
    [
      'a commitment without its form',
      { bulla: { v: 1, args: { commitment: HEX } } },
      'EVIDENCE_INVALID /context/environment/bulla/args',
    ],
    [
      'a commitment as a text',
      { bulla: { v: 1, args: HEX } },
      'EVIDENCE_INVALID /context/environment/bulla/args',
    ],
    [
      'a commitment of an unknown form',
      { bulla: { v: 1, args: { commitment: HEX, of: 'sha1' } } },
      'EVIDENCE_INVALID /context/environment/bulla/args',
    ],
    [
      'a number that is no count',
      { bulla: { v: 1, manifest: { agent_id: 'a', version: -1 } } },
      'EVIDENCE_INVALID /context/environment/bulla/manifest/version',
    ],
  ])('with %s is refused', (_, environment, refusal) => {
    expect(codeAt(() => readEvidence(capsule(environment)))).toBe(refusal);
    expect(codeAt(() => readEvidence(parse(JSON.stringify(capsule(environment)))))).toBe(refusal);
  });

  test('is not built with what it does not know', () => {
    expect(codeAt(() => environmentOf({ digest: 'x' } as Evidence))).toBe(
      'EVIDENCE_INVALID /context/environment/bulla/digest',
    );
  });

  test('names the commitments of a capsule, the result among them', () => {
    const result = { commitment: HEX, of: 'jcs' };
    const sealed = {
      ...capsule(environmentOf({ args: FULL.args, rest: { uncommitted: 'VALUE_CYCLE' } })),
      execution: { tool_calls: [{ result }] },
    };
    expect(commitmentsOf(sealed)).toEqual({ args: FULL.args, result });
    expect(commitmentsOf(parse(stringify(sealed)))).toEqual({ args: FULL.args, result });
    expect(commitmentsOf({ execution: { tool_calls: [{ result: 'text' }] } })).toEqual({});
    const args = { commitment: HEX, of: 'jcs' } as const;
    const other = { commitment: 'cd'.repeat(32), of: 'exact' } as const;
    const copies = (redacted: NonNullable<Evidence['redacted']>) =>
      commitmentsOf(capsule(environmentOf({ redacted })));
    expect(copies({ args, result: other })).toEqual({ 'redacted-args': args, 'redacted-result': other });
    expect(copies({ args: { uncommitted: 'RECORD_REDACTION_TOO_LARGE' } })).toEqual({});
  });

  test('of the first record also names the origin of the chain', () => {
    const { context } = withOrigin(capsule({ other: 1, ...environmentOf({ lock: 'x' }) }), 'op/-/c');
    expect(context.environment).toEqual({ other: 1, bulla: { v: 1, lock: 'x', origin: 'op/-/c' } });
    expect(claimsOf({ context })).toEqual({ isOurs: true, intent: null, origin: 'op/-/c', recovered: null });
    expect(claimsOf(capsule({ bulla: { v: 9, intent: 'i', origin: 'o', recovered: {} } }))).toEqual({
      ...{ isOurs: true, intent: 'i', origin: 'o', recovered: {} },
    });
    expect(claimsOf({})).toEqual({ isOurs: false, intent: null, origin: null, recovered: null });
  });
});

describe('an authority', () => {
  const none = { approver: null, policy_reference: null, escalation_reason: null };
  const lock = { type: 'policy', reference: 'lock:1' } as const;
  const watched = { type: 'policy', step: { step: 'audit' } } as const;
  const alice = { type: 'human_approved', approver: 'alice', step: { step: 'consent' } } as const;
  const bob = { ...alice, approver: 'bob' } as const;
  const boss = { type: 'escalated', approver: 'boss', reason: 'high', step: { step: 'up' } } as const;

  test.each([
    ['nothing', [], { type: 'autonomous', ...none, chain: [] }],
    ['a rule', [lock], { type: 'policy', ...none, policy_reference: 'lock:1', chain: [] }],
    [
      'rules, of which the last one names it',
      [lock, watched, { type: 'policy', reference: 'grant:2' } as const],
      { type: 'policy', ...none, policy_reference: 'grant:2', chain: [{ step: 'audit' }] },
    ],
    [
      'people, whatever rules were asked too',
      [alice, lock, bob, alice],
      {
        type: 'human_approved',
        ...none,
        approver: 'alice, bob',
        chain: [{ step: 'consent' }, { step: 'consent' }, { step: 'consent' }],
      },
    ],
    [
      'whom it was escalated to',
      [boss, alice],
      {
        type: 'escalated',
        ...none,
        approver: 'boss',
        escalation_reason: 'high',
        chain: [{ step: 'up' }, { step: 'consent' }],
      },
    ],
  ])('rests on %s', (_, steps, authority) => {
    expect(authorityOf(steps)).toEqual(authority);
  });
});

describe('a failure', () => {
  test('has one grammar, and is read back', () => {
    for (const stage of STAGES) {
      const failure = { stage, code: 'SOME_CODE' };
      expect(failureText(failure)).toBe(`${stage}: SOME_CODE`);
      expect(readFailure(failureText(failure))).toEqual(failure);
    }
    const told = { stage: 'kill', code: 'KILLED', sentence: 'Enough: of\nthis.' } as const;
    expect(failureText(told)).toBe('kill: KILLED: Enough: of\nthis.');
    expect(readFailure(failureText(told))).toEqual(told);
    for (const text of ['', 'kill', 'kill: ', 'other: X', 'exit 1', 'kill:KILLED'])
      expect(readFailure(text)).toBe(null);
  });

  test('of an error is its code or class, and its sentence only where that is asked for', () => {
    const error = new BullaError('KILLED', 'Enough.');
    expect(failureAt('kill', error)).toEqual({ stage: 'kill', code: 'KILLED' });
    expect(failureAt('kill', error, true)).toEqual({ stage: 'kill', code: 'KILLED', sentence: 'Enough.' });
    expect(failureAt('action', new TypeError('secret'), true)).toEqual({
      stage: 'action',
      code: 'TypeError',
    });
    expect(failureAt('action', 'secret')).toEqual({ stage: 'action', code: 'Error' });
  });
});
