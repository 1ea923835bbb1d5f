import { describe, expect, test } from 'vitest';
import { envelope, envelopeWith, NOW, policyDocument, refusal } from '../../test/envelope.ts';
import { evaluateConstraints } from './constraints.ts';
import { parsePolicy } from './index.ts';

const withRules = (rules: unknown) =>
  JSON.stringify({ ...policyDocument, policy_doc: { ...policyDocument.policy_doc, rules } });
const rule = (expr: string, message = '') => withRules([{ id: 'mine', expr, message }]);

/** What a policy with this rule alone says of an envelope that is else in order. */
function told(expr: string, message = '', of = envelope): string[] {
  const { violations } = evaluateConstraints(parsePolicy(rule(expr, message)), of, { now: NOW, people: 2 });
  return violations.map(({ code, path, message: said }) => `${code} ${path} ${said}`);
}

describe('rules in CEL', () => {
  test.each([
    'input.target.to == "0x2222222222222222222222222222222222222222"',
    'input.action_type == "TRANSFER" && input.tenant_id == "acme" && input.actor.caller.startsWith("agent-")',
    'int(input.target.amount) <= 1000000 && input.target.decimals == 6 && input.target.asset_class == 1',
    'input.rail.chain_id == 11155111 && input.rail.type == "EVM" && has(input.rail.contract)',
    '!has(input.actor.role)',
    `input.constraints.ttl == ${NOW + 300} && input.constraints.nonce == 7 && input.constraints.replay_scope == "caller"`,
    'input.people >= 2 && input.intent_id == "intent-1" && input.execution_id.matches("^exec-[0-9]+$")',
  ])('see the fields that bind: %s', (expr) => {
    expect(told(expr)).toEqual([]);
  });

  test('refuse with the policy’s own words, behind the other constraints and before the sums', () => {
    expect(told('int(input.target.amount) < 1000000', 'At most 0.99 USDC.')).toEqual([
      'EE_CONSTRAINT_VIOLATION  The rule mine refuses this: At most 0.99 USDC.',
    ]);
    const much = envelopeWith({ target: { amount: '6000000' } });
    expect(told('false', '', much).map((line) => line.split(' ').slice(1, 5).join(' '))).toEqual([
      '/target/amount The limit usdc-call',
      ' The rule mine',
      '/target/amount The limit usdc-day',
    ]);
  });

  test('that cannot be answered refuse', () => {
    expect(told('input.actor.role == "admin"')).toEqual([
      'EE_CONSTRAINT_VIOLATION  The rule mine refuses this: The rule could not be evaluated: no such key (role) at its character 13.',
    ]);
    const huge = envelopeWith({ target: { amount: '9'.repeat(80) } });
    expect(told('int(input.target.amount) > 0', '', huge).length).toBe(3);
  });

  test('are part of the policy’s hash, and may be left out', () => {
    const hashes = [undefined, [], [{ id: 'a', expr: 'true', message: '' }]].map(
      (rules) => parsePolicy(withRules(rules)).policy_hash,
    );
    expect(new Set(hashes).size).toBe(3);
    expect(hashes[0]).toBe(parsePolicy(JSON.stringify(policyDocument)).policy_hash);
  });

  test.each<[string, string, string, string]>([
    [
      'a field that does not exist',
      rule('input.target.amout == "1"'),
      '/policy_doc/rules/0/expr',
      'At its character 14: The input never has a field',
    ],
    ['no CEL', rule('input.people >='), '/policy_doc/rules/0/expr', 'At its character 16: This is not CEL'],
    [
      'no answer',
      rule('input.target.to'),
      '/policy_doc/rules/0/expr',
      'At its character 1: A rule must be true or false',
    ],
    ['an empty one', rule(''), '/policy_doc/rules/0/expr', 'This must be a string of 1 to 8192 characters'],
    [
      'one without an id',
      withRules([{ expr: 'true', message: '' }]),
      '/policy_doc/rules/0/id',
      'The field "id" is missing',
    ],
    [
      'two of one id',
      withRules([1, 2].map(() => ({ id: 'a', expr: 'true', message: '' }))),
      '/policy_doc/rules/1',
      'This stands in the list twice',
    ],
    ['null', withRules(null), '/policy_doc/rules', 'This must be a list of 0 to 100 elements'],
  ])('EE_POLICY_INVALID: %s', (_, text, path, message) => {
    const [code, at, said] = refusal(() => parsePolicy(text));
    expect([code, at, said!.slice(0, message.length)]).toEqual(['EE_POLICY_INVALID', path, message]);
  });
});
