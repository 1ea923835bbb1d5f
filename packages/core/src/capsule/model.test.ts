import { describe, expect, test } from 'vitest';
import { hasVectors, readBytes } from '#test-files';
import { canonicalize, digest } from '../canon/index.ts';
import { BullaError } from '../error.ts';
import { type JsonObject, parse } from '../json/index.ts';
import { createCapsule, isoTimestamp, lint, validate } from './index.ts';
import { isIsoTimestamp } from './time.ts';

const id = 'a1b2c3d4-e5f6-7890-abcd-ef1234567890';
const now = new Date('2026-01-15T12:00:00Z');

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof BullaError) return `${error.code} ${error.path ?? ''}`.trim();
    throw error;
  }
  return 'ok';
}

async function golden(form: '12' | '13') {
  const file = parse(await readBytes(`capsule/golden-${form}key.json`)) as JsonObject;
  return (file.get('fixtures') as JsonObject[]).map((fixture) => ({
    name: fixture.get('name') as string,
    dict: fixture.get('capsule_dict') as JsonObject,
    canonical: fixture.get('canonical_json') as string,
    hash: fixture.get('sha3_256_hash') as string,
  }));
}

describe('createCapsule', () => {
  test('fills every default, in the 12 keys of the seed', () => {
    expect(createCapsule({}, { id, now })).toEqual({
      id,
      type: 'agent',
      domain: 'agents',
      parent_id: null,
      sequence: 0,
      previous_hash: null,
      trigger: {
        type: 'user_request',
        source: '',
        timestamp: '2026-01-15T12:00:00+00:00',
        request: '',
        correlation_id: null,
        user_id: null,
      },
      context: { agent_id: '', session_id: null, environment: {} },
      reasoning: {
        analysis: '',
        options: [],
        options_considered: [],
        selected_option: '',
        reasoning: '',
        confidence: 0,
        model: null,
        prompt_hash: null,
      },
      authority: {
        type: 'autonomous',
        approver: null,
        policy_reference: null,
        chain: [],
        escalation_reason: null,
      },
      execution: { tool_calls: [], duration_ms: 0, resources_used: {} },
      outcome: { status: 'pending', result: null, summary: '', error: null, side_effects: [], metrics: {} },
    });
  });

  test('is the golden minimal capsule, in both forms', () => {
    expect(digest(createCapsule({}, { id, now }), 'cps')).toBe(
      'e6266f6d907a02e1f3531dc354765c0bca506180b91c1f5892a544b81bcf8dee',
    );
    const thirteen = createCapsule({}, { id, now, specVersion: true });
    expect(thirteen.spec_version).toBe('1.0');
    expect(digest(thirteen, 'cps')).toBe('8c71e187dfbffca067265f576d9fb72ee8a223c3dff801dd7c5dd8fcb915f2cd');
  });

  test('makes full options and tool calls, and the list of descriptions', () => {
    const capsule = createCapsule(
      {
        reasoning: {
          options: [{ description: 'a', selected: true }, { description: 'b' }],
          confidence: undefined,
        },
        execution: { tool_calls: [{ tool: 'ls' }] },
      },
      { id, now },
    );
    expect(capsule.reasoning.options_considered).toEqual(['a', 'b']);
    expect(capsule.reasoning.confidence).toBe(0);
    expect(capsule.reasoning.options[1]).toEqual({
      id: '',
      description: 'b',
      pros: [],
      cons: [],
      estimated_impact: {},
      feasibility: 0,
      risks: [],
      selected: false,
      rejection_reason: '',
    });
    expect(capsule.execution.tool_calls).toEqual([
      { tool: 'ls', arguments: {}, result: null, success: false, duration_ms: 0, error: null },
    ]);
  });

  test('keeps a given list of descriptions, so that lint can refuse it', () => {
    const { reasoning } = createCapsule({ reasoning: { options_considered: ['x'] } }, { id, now });
    expect([reasoning.options, reasoning.options_considered]).toEqual([[], ['x']]);
  });
});

describe('isoTimestamp', () => {
  test('has six fraction digits or none', () => {
    expect(isoTimestamp(now)).toBe('2026-01-15T12:00:00+00:00');
    expect(isoTimestamp(new Date('2026-01-15T12:00:00.120Z'))).toBe('2026-01-15T12:00:00.120000+00:00');
    expect(isoTimestamp(new Date('0001-01-01T00:00:00Z'))).toBe('0001-01-01T00:00:00+00:00');
  });

  test('refuses what has no such form', () => {
    for (const date of [new Date(Number.NaN), new Date(8.64e15), new Date('0000-06-01T00:00:00Z')])
      expect(codeOf(() => isoTimestamp(date))).toBe('CAPSULE_TIMESTAMP');
  });

  test('isIsoTimestamp takes exactly that', () => {
    const odd = [
      '2026-01-15T12:00:00Z',
      '2026-01-15T12:00:00.000000+00:00',
      '2026-01-15T12:00:00.123+00:00',
      '2026-01-15 12:00:00+00:00',
      '2026-01-15T12:00:00-00:00',
      '2026-02-29T12:00:00+00:00',
      '2026-04-31T12:00:00+00:00',
      '2100-02-29T12:00:00+00:00',
      '0000-01-15T12:00:00+00:00',
      '2026-01-15T24:00:00+00:00',
      '2026-01-15T23:59:60+00:00',
      '2026-01-15T12:00:00+00:00\n',
    ];
    expect(odd.filter(isIsoTimestamp)).toEqual([]);
    expect(isIsoTimestamp('2024-02-29T23:59:59.000001+00:00')).toBe(true);
    expect(isIsoTimestamp('2000-02-29T23:59:59+00:00')).toBe(true);
  });
});

describe.skipIf(!hasVectors)('the golden capsules', () => {
  test.each(['12', '13'] as const)('%s keys: canonical text, hash and validation', async (form) => {
    const fixtures = await golden(form);
    expect(fixtures.length).toBe(16);
    for (const { name, dict, canonical, hash } of fixtures) {
      expect(validate(dict, { form, strictUnknownKeys: true, claimedHash: hash }), name).toEqual({
        ok: true,
        category: null,
        field: null,
        message: '',
      });
      expect(canonicalize(dict, 'cps'), name).toBe(canonical);
      expect(digest(dict, 'cps'), name).toBe(hash);
    }
  });

  test('pass our linter, but two, which break rules that the specification says in words', async () => {
    for (const form of ['12', '13'] as const) {
      const found = (await golden(form)).flatMap(({ name, dict }) =>
        lint(dict).map((f) => `${name} ${f.path} ${f.code}`),
      );
      // One is approved by a human, and names a policy and a reason to escalate too; one rejects without a reason.
      const full = ['policy_reference', 'escalation_reason'].map(
        (key) => `full /authority/${key} unexpected_value`,
      );
      const unicode = 'unicode_strings /reasoning/options/0/rejection_reason missing_value';
      expect(found).toEqual([...full, unicode]);
    }
  });
});
