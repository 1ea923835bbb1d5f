import { describe, expect, test } from 'vitest';
import { canonicalize, digest } from '../canon/index.ts';
import { localSigner, publicKey, toHex, toUtf8 } from '../crypto/index.ts';
import { float, type JsonObject, number, parse } from '../json/index.ts';
import {
  type AuthorityType,
  type Capsule,
  type CapsuleInput,
  createCapsule,
  hashCapsule,
  lint,
  type OutcomeStatus,
  verifyCapsule,
} from './index.ts';

const capsule = (input: CapsuleInput = {}, specVersion = false): Capsule =>
  createCapsule(input, {
    id: 'a1b2c3d4-e5f6-7890-abcd-ef1234567890',
    now: new Date('2026-01-15T12:00:00Z'),
    specVersion,
  });
const found = (value: unknown) => lint(value).map(({ path, code }) => `${path} ${code}`);
const chosen = { id: 'a', description: 'do it', selected: true };

/** A capsule with one field of one section replaced, whatever its type. */
const changed = (section: string, key: string, value: unknown, from: Capsule = capsule()) => ({
  ...from,
  [section]: { ...(from as unknown as Record<string, object>)[section], [key]: value },
});

describe('lint', () => {
  test('finds nothing in what createCapsule makes, in both forms, plain and parsed', () => {
    const rich = capsule({
      parent_id: 'b1b2c3d4-e5f6-7890-abcd-ef1234567890',
      sequence: 3,
      previous_hash: 'ab'.repeat(32),
      trigger: { timestamp: '2026-01-15T12:00:00.000001+00:00' },
      reasoning: {
        options: [chosen, { id: 'b', description: 'leave it', rejection_reason: 'too late' }],
        selected_option: 'a',
        confidence: 1,
      },
      authority: { type: 'escalated', approver: 'eve', escalation_reason: 'money', chain: [{ level: 1 }] },
      execution: { tool_calls: [{ tool: 'x', arguments: { n: 0.5, s: '\u{1f600}' }, result: [1, null] }] },
      outcome: { status: 'success', metrics: { big: 2 ** 53 - 1, small: 0.0001, minus: -12.75 } },
    });
    for (const value of [capsule(), capsule({}, true), rich]) {
      expect(found(value)).toEqual([]);
      expect(found(parse(canonicalize(value, 'cps')))).toEqual([]);
    }
  });

  test('tells everything at once', () => {
    expect(
      found(
        capsule({
          sequence: 1,
          reasoning: { confidence: 1.5, options: [{ description: 'x' }] },
          authority: { type: 'policy' },
          outcome: { metrics: { x: 1e-7 } },
        }),
      ),
    ).toEqual([
      '/previous_hash chain_violation',
      '/reasoning/confidence invalid_value',
      '/reasoning/options/0/rejection_reason missing_value',
      '/reasoning/options options_differ',
      '/reasoning/selected_option options_differ',
      '/authority/policy_reference missing_value',
      '/outcome/metrics/x interop',
    ]);
  });

  test.each<[string, unknown, string[]]>([
    ['a root that is no object', [], [' wrong_type']],
    ['an unknown type', { ...capsule(), type: 'banana' }, ['/type invalid_value']],
    ['an unknown trigger type', changed('trigger', 'type', 'x'), ['/trigger/type invalid_value']],
    ['an unknown authority type', changed('authority', 'type', 'x'), ['/authority/type invalid_value']],
    ['an unknown status', changed('outcome', 'status', 'x'), ['/outcome/status invalid_value']],
    ['another spec_version', { ...capsule(), spec_version: '1.1' }, ['/spec_version invalid_value']],
    ['a spec_version that is no string', { ...capsule(), spec_version: 1 }, ['/spec_version wrong_type']],
    ['an upper-case id', { ...capsule(), id: capsule().id.toUpperCase() }, ['/id invalid_value']],
    ['an empty parent_id', { ...capsule(), parent_id: '' }, ['/parent_id invalid_value']],
    [
      'a negative sequence',
      { ...capsule(), sequence: -1, previous_hash: 'a'.repeat(64) },
      ['/sequence invalid_value'],
    ],
    [
      'an upper-case previous_hash',
      { ...capsule(), sequence: 1, previous_hash: 'A'.repeat(64) },
      ['/previous_hash invalid_value'],
    ],
    [
      'a genesis with a previous_hash',
      { ...capsule(), previous_hash: 'a'.repeat(64) },
      ['/previous_hash chain_violation'],
    ],
    [
      'milliseconds',
      changed('trigger', 'timestamp', '2026-01-15T12:00:00.123+00:00'),
      ['/trigger/timestamp invalid_value'],
    ],
    [
      'a timestamp in Z',
      changed('trigger', 'timestamp', '2026-01-15T12:00:00Z'),
      ['/trigger/timestamp invalid_value'],
    ],
    [
      'a confidence below 0',
      changed('reasoning', 'confidence', -0.1),
      ['/reasoning/confidence invalid_value'],
    ],
    [
      'a confidence of NaN',
      changed('reasoning', 'confidence', Number.NaN),
      ['/reasoning/confidence invalid_value', '/reasoning/confidence CANON_NOT_FINITE'],
    ],
    ['a confidence of -0', changed('reasoning', 'confidence', -0), ['/reasoning/confidence interop']],
    [
      'a confidence that others print otherwise',
      changed('reasoning', 'confidence', 0.00001),
      ['/reasoning/confidence interop'],
    ],
    [
      'a list of descriptions alone',
      changed('reasoning', 'options_considered', ['a']),
      ['/reasoning/options_considered options_differ'],
    ],
    ['an unknown top-level key', { ...capsule(), 'a/b': 1 }, ['/a~1b unknown_key']],
    ['an unknown section key', changed('trigger', 'approved_by', 'x'), ['/trigger/approved_by unknown_key']],
    [
      'a missing section',
      { ...capsule(), outcome: undefined },
      ['/outcome missing_field', '/outcome VALUE_NOT_JSON'],
    ],
    ['a section that is no object', { ...capsule(), outcome: [] }, ['/outcome wrong_type']],
    ['a source that is no string', changed('trigger', 'source', 5), ['/trigger/source wrong_type']],
    [
      'an environment that is no object',
      changed('context', 'environment', []),
      ['/context/environment wrong_type'],
    ],
    [
      'a side effect that is no string',
      changed('outcome', 'side_effects', ['a', 1]),
      ['/outcome/side_effects/1 wrong_type'],
    ],
    [
      'an approval step that is no object',
      changed('authority', 'chain', ['a']),
      ['/authority/chain/0 wrong_type'],
    ],
    [
      'a duration that is a fraction',
      changed('execution', 'duration_ms', 1.5),
      ['/execution/duration_ms wrong_type'],
    ],
    [
      'a negative duration',
      changed('execution', 'duration_ms', -5),
      ['/execution/duration_ms invalid_value'],
    ],
    [
      'a tool call that is no record',
      changed('execution', 'tool_calls', [1]),
      ['/execution/tool_calls/0 wrong_type'],
    ],
    [
      'a float outside the two float fields',
      changed('outcome', 'metrics', { x: float(1) }),
      ['/outcome/metrics/x interop'],
    ],
    [
      'an integer beyond a double',
      changed('outcome', 'metrics', { x: 2n ** 53n + 1n }),
      ['/outcome/metrics/x interop'],
    ],
    [
      'a fraction with more digits than a double',
      changed('outcome', 'metrics', { x: number('0.10000000000000000001') }),
      ['/outcome/metrics/x inexact_number'],
    ],
    ['a lexeme that all write otherwise', changed('outcome', 'metrics', { x: number('1.50') }), []],
    [
      'keys that the references sort differently',
      changed('outcome', 'metrics', { '\u{1f600}': 1, '\ufffd': 2 }),
      ['/outcome/metrics interop'],
    ],
    ['an astral key that stands alone', changed('outcome', 'metrics', { '\u{1f600}': 1 }), []],
    [
      'half a surrogate pair',
      changed('outcome', 'summary', '\ud83d'),
      ['/outcome/summary CANON_LONE_SURROGATE'],
    ],
    ['a date', changed('outcome', 'result', new Date(0)), ['/outcome/result VALUE_NOT_JSON']],
  ])('%s', (_, value, expected) => {
    expect(found(value)).toEqual(expected);
  });

  test('a parsed capsule is judged by its own digits', () => {
    const text = canonicalize(capsule(), 'cps');
    expect(found(parse(text.replace('"confidence":0.0', '"confidence":0')))).toEqual([
      '/reasoning/confidence interop',
    ]);
    expect(found(parse(text.replace('"confidence":0.0', '"confidence":0.50')))).toEqual([
      '/reasoning/confidence interop',
    ]);
    expect(found(parse(text.replace('"sequence":0', '"sequence":0.0')))).toEqual([
      '/sequence wrong_type',
      '/sequence interop',
    ]);
    const digits = text.replace('"metrics":{}', '"metrics":{"x":0.10000000000000000001}');
    expect(found(parse(digits))).toEqual(['/outcome/metrics/x interop']);
  });

  test('warns of nesting that Python cannot read, and refuses what could not be read here', () => {
    const nested = (depth: number) => {
      let value: unknown[] = [];
      for (let i = 1; i < depth; i++) value = [value];
      return lint(changed('outcome', 'result', value)).map(({ severity, code }) => `${severity} ${code}`);
    };
    // The capsule and its section are two levels of their own.
    expect(nested(898)).toEqual([]);
    expect(nested(899)).toEqual(['warning deep_nesting']);
    expect(nested(988)).toEqual(['warning deep_nesting']);
    expect(nested(989)).toEqual(['error VALUE_TOO_DEEP']);
  });

  test('what the specification allows is a warning, what it forbids an error', () => {
    const severities = (value: unknown) => lint(value).map(({ severity, code }) => `${severity} ${code}`);
    const odd = changed('outcome', 'metrics', { cost_usd: 0.00002 });
    expect(severities(odd)).toEqual(['warning interop']);
    expect(severities(changed('reasoning', 'options_considered', ['a']))).toEqual(['warning options_differ']);
    expect(severities({ ...odd, type: 'banana' })).toEqual(['error invalid_value', 'warning interop']);
    // Whatever is sealed cannot be mended any more.
    expect(severities({ ...odd, type: 'banana', hash: 'x', signature: 'y' })).toEqual([
      'warning invalid_value',
      'warning interop',
    ]);
    expect(severities({ ...odd, type: 'banana', hash: '', signature: '' })).toEqual([
      'error invalid_value',
      'warning interop',
    ]);
  });

  describe('options', () => {
    const options = (list: object[], selected_option = 'a') =>
      found(capsule({ reasoning: { options: list, selected_option } }));
    const other = { id: 'b', description: 'leave it', rejection_reason: 'too late' };

    test('one is selected, and named by its id or its description', () => {
      expect(options([chosen, other], 'a')).toEqual([]);
      expect(options([chosen, other], 'do it')).toEqual([]);
      expect(options([chosen, other], 'b')).toEqual(['/reasoning/selected_option options_differ']);
      expect(options([chosen, chosen])).toEqual(['/reasoning/options options_differ']);
      expect(options([other], 'b')).toEqual(['/reasoning/options options_differ']);
    });

    test('every other one says why not', () => {
      expect(options([chosen, { ...other, rejection_reason: ' ' }])).toEqual([
        '/reasoning/options/1/rejection_reason missing_value',
      ]);
    });

    test('feasibility lies within 0 and 1', () => {
      expect(options([{ ...chosen, feasibility: 7 }])).toEqual([
        '/reasoning/options/0/feasibility invalid_value',
      ]);
    });

    test('records are full and typed', () => {
      const raw = changed('reasoning', 'options', [{ ...chosen, selected: 1 }, 5]);
      expect(found(raw).filter((f) => /wrong_type|missing_field/.test(f))).toEqual([
        '/reasoning/options/0/pros missing_field',
        '/reasoning/options/0/cons missing_field',
        '/reasoning/options/0/estimated_impact missing_field',
        '/reasoning/options/0/feasibility missing_field',
        '/reasoning/options/0/risks missing_field',
        '/reasoning/options/0/selected wrong_type',
        '/reasoning/options/0/rejection_reason missing_field',
        '/reasoning/options/1 wrong_type',
      ]);
    });
  });

  test('authority names who or what gave it', () => {
    const authority = (input: NonNullable<CapsuleInput['authority']>) => found(capsule({ authority: input }));
    expect(authority({ type: 'human_approved' })).toEqual(['/authority/approver missing_value']);
    expect(authority({ type: 'human_approved', approver: 'eve' })).toEqual([]);
    expect(authority({ type: 'policy', policy_reference: '' })).toEqual([
      '/authority/policy_reference missing_value',
    ]);
    expect(authority({ type: 'escalated' })).toEqual([
      '/authority/approver missing_value',
      '/authority/escalation_reason missing_value',
    ]);
  });

  test('what belongs to another authority is null', () => {
    const full = { approver: 'eve', policy_reference: 'rule', escalation_reason: 'money' };
    const authority = (type: AuthorityType) => found(capsule({ authority: { type, ...full } }));
    expect(authority('autonomous')).toEqual([
      '/authority/approver unexpected_value',
      '/authority/policy_reference unexpected_value',
      '/authority/escalation_reason unexpected_value',
    ]);
    expect(authority('human_approved')).toEqual([
      '/authority/policy_reference unexpected_value',
      '/authority/escalation_reason unexpected_value',
    ]);
    expect(authority('policy')).toEqual([
      '/authority/approver unexpected_value',
      '/authority/escalation_reason unexpected_value',
    ]);
    expect(authority('escalated')).toEqual(['/authority/policy_reference unexpected_value']);
    // An empty text is not null.
    expect(found(capsule({ authority: { approver: '' } }))).toEqual(['/authority/approver unexpected_value']);
  });

  test('an error is null on success', () => {
    const outcome = (status: OutcomeStatus) => found(capsule({ outcome: { status, error: 'x' } }));
    expect(outcome('success')).toEqual(['/outcome/error unexpected_value']);
    for (const status of ['pending', 'failure', 'partial', 'blocked'] as const)
      expect(outcome(status)).toEqual([]);
    const calls = (success: boolean) =>
      found(capsule({ execution: { tool_calls: [{ tool: 'a' }, { tool: 'b', success, error: '' }] } }));
    expect(calls(true)).toEqual(['/execution/tool_calls/1/error unexpected_value']);
    expect(calls(false)).toEqual([]);
  });

  test('a prompt_hash is a hash', () => {
    expect(found(changed('reasoning', 'prompt_hash', 'ab'.repeat(32)))).toEqual([]);
    for (const bad of ['', 'AB'.repeat(32), `sha3:${'ab'.repeat(32)}`])
      expect(found(changed('reasoning', 'prompt_hash', bad))).toEqual([
        '/reasoning/prompt_hash invalid_value',
      ]);
  });

  test('in what others sealed, the same are warnings, and verification does not ask for them', () => {
    const signer = localSigner('Ed25519', new Uint8Array(32).fill(1));
    const content = capsule({ outcome: { status: 'success', error: 'x' }, authority: { approver: 'eve' } });
    const hash = digest(content, 'cps');
    const sealed = { ...content, hash, signature: toHex(signer.sign(toUtf8(hash))) };
    expect(lint(sealed).map(({ severity, code }) => `${severity} ${code}`)).toEqual([
      'warning unexpected_value',
      'warning unexpected_value',
    ]);
    const record = parse(JSON.stringify(sealed)) as JsonObject;
    expect(verifyCapsule(record, { keys: [publicKey('Ed25519', signer.publicKey)] }).code).toBe('ok');
    expect(() => hashCapsule(content)).toThrow(expect.objectContaining({ code: 'CAPSULE_LINT' }));
  });
});
