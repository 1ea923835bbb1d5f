import { describe, expect, test } from 'vitest';
import { hasVectors, readBytes } from '#test-files';
import { type JsonObject, parse, toPlain } from '../json/index.ts';
import { createCapsule, lint, validate } from './index.ts';

const base = () =>
  createCapsule({}, { id: 'a1b2c3d4-e5f6-7890-abcd-ef1234567890', now: new Date('2026-01-15T12:00:00Z') });
const verdict = (value: unknown, options = {}) => {
  const { ok, category, field } = validate(value, options);
  return ok ? 'ok' : `${category}:${field}`;
};

describe.skipIf(!hasVectors)('the published invalid capsules', () => {
  test('16 of 16 give the published category and field, parsed and plain', async () => {
    const file = parse(await readBytes('capsule/invalid.json')) as JsonObject;
    const fixtures = file.get('fixtures') as JsonObject[];
    expect(fixtures.length).toBe(16);
    for (const fixture of fixtures) {
      const name = fixture.get('name') as string;
      const claimedHash = fixture.get('claimed_hash') as string | undefined;
      const expected = `${fixture.get('expected_error')}:${fixture.get('error_field')}`;
      const capsule = fixture.get('capsule_dict')!;
      for (const value of [capsule, toPlain(capsule)]) {
        const options = claimedHash === undefined ? {} : { claimedHash };
        expect(verdict(value, { ...options, form: '13' }), name).toBe(expected);
        // All but the one that concerns the 13th key hold for the seed's 12 keys too.
        const twelve = name === 'missing_spec_version' ? 'ok' : expected;
        expect(verdict(value, { ...options, form: '12' }), name).toBe(twelve);
      }
    }
  });
});

describe.skipIf(!hasVectors)('where the two references disagree', () => {
  // Ours, where it is not Python's verdict; each time TypeScript's, or the seed's, is the stricter one.
  const stricter: Record<string, string> = {
    'timestamp 20260115T120000+0000': 'invalid_value:trigger.timestamp',
    'timestamp 2026-W03-4T12:00:00+00:00': 'invalid_value:trigger.timestamp',
    'timestamp 2026-01-15T12:00:00+00:00:30': 'invalid_value:trigger.timestamp',
    'timestamp 2026-01-15T12:00:00,5+00:00': 'invalid_value:trigger.timestamp',
    'timestamp 2026-01-15T12+00:00': 'invalid_value:trigger.timestamp',
    'timestamp 2026-01-15T12:00:00+0000': 'invalid_value:trigger.timestamp',
    "id '{a1b2c3d4-e5f6-7890-abcd-ef1234567890}'": 'invalid_value:id',
    "id 'urn:uuid:a1b2c3d4-e5f6-7890-abcd-ef1234567890'": 'invalid_value:id',
    "id 'a1b2c3d4e5f67890abcdef1234567890'": 'invalid_value:id',
    "id 'a1b2c3d4e5f6-7890-abcd-ef1234567890'": 'invalid_value:id',
    'sequence true': 'wrong_type:sequence',
    'duration_ms true': 'wrong_type:execution.duration_ms',
    'confidence NaN': 'invalid_value:reasoning.confidence',
    // Python names an arbitrary one of the missing keys, TypeScript the first.
    'trigger {}': 'missing_field:trigger.type',
  };

  test('58 cases: Python is followed, or the stricter of the two', async () => {
    const cases = parse(await readBytes('capsule/validation-divergence.json')) as [string, string, string][];
    expect(cases.length).toBe(58);
    const differing: string[] = [];
    for (const [name, raw, python] of cases) {
      const value = parse(raw, { allow: ['non-finite'] });
      expect(verdict(value, { form: '13' }), name).toBe(stricter[name] ?? python);
      if (stricter[name] !== undefined) differing.push(name);
    }
    expect(differing.length).toBe(Object.keys(stricter).length);
  });

  test('lint refuses all of them but those that are what the seed wants', async () => {
    const cases = parse(await readBytes('capsule/validation-divergence.json')) as [string, string, string][];
    const passed = cases.filter(([, raw]) => lint(parse(raw, { allow: ['non-finite'] })).length === 0);
    expect(passed.map(([name]) => name)).toEqual(["domain ''", 'hash field at top (strict)']);
  });
});

describe('validate', () => {
  test('takes the seed form by default and ignores other keys unless told', () => {
    expect(verdict(base())).toBe('ok');
    expect(verdict(base(), { form: '13' })).toBe('missing_field:spec_version');
    expect(verdict({ ...base(), zeta: 1, Alpha: 1 }, { strictUnknownKeys: true })).toBe(
      'invalid_value:Alpha',
    );
    expect(verdict({ ...base(), spec_version: '1.0' }, { strictUnknownKeys: true })).toBe(
      'invalid_value:spec_version',
    );
    expect(verdict({ ...base(), hash: '' }, { strictUnknownKeys: true })).toBe('invalid_value:hash');
    expect(verdict({ ...base(), '\u{1f600}': 1, '\ufffd': 1 }, { strictUnknownKeys: true })).toBe(
      'invalid_value:\ufffd',
    );
    expect(verdict({ ...base(), hash: '' })).toBe('ok');
  });

  test('stops at the first failure, in the order of the reference', () => {
    for (const root of [null, [], 5, 'x', undefined]) expect(verdict(root)).toBe('wrong_type:');
    expect(verdict({ ...base(), id: 5, type: 'x' })).toBe('wrong_type:id');
    expect(verdict({ ...base(), spec_version: '', sequence: -1 }, { form: '13' })).toBe(
      'invalid_value:sequence',
    );
    expect(verdict({ ...base(), spec_version: '' }, { form: '13' })).toBe('invalid_value:spec_version');
    expect(verdict({ ...base(), sequence: 1, trigger: [] })).toBe('chain_violation:previous_hash');
    expect(verdict({ ...base(), parent_id: 5 })).toBe('wrong_type:parent_id');
    expect(verdict({ ...base(), parent_id: '' })).toBe('invalid_value:parent_id');
    expect(verdict({ ...base(), previous_hash: 'x' })).toBe('invalid_value:previous_hash');
    expect(verdict({ ...base(), outcome: null })).toBe('wrong_type:outcome');
    expect(verdict({ ...base(), outcome: { status: 'x' } })).toBe('missing_field:outcome.result');
  });

  test('compares a claimed hash under cps alone', () => {
    const hash = 'e6266f6d907a02e1f3531dc354765c0bca506180b91c1f5892a544b81bcf8dee';
    expect(verdict(base(), { claimedHash: hash })).toBe('ok');
    expect(verdict(base(), { claimedHash: hash.toUpperCase() })).toBe('ok');
    expect(verdict({ ...base(), extra: 1 }, { claimedHash: hash })).toBe('ok');
    expect(verdict(base(), { claimedHash: 'xyz' })).toBe('invalid_value:hash');
    expect(verdict({ ...base(), domain: 'x' }, { claimedHash: hash })).toBe('integrity_violation:hash');
    const odd = { ...base(), outcome: { ...base().outcome, metrics: { x: Number.NaN } } };
    expect(verdict(odd, { claimedHash: hash })).toBe('integrity_violation:hash');
  });
});
