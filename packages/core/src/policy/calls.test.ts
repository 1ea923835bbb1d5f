import { describe, expect, test } from 'vitest';
import { type JsonObject, parse } from '../json/index.ts';
import {
  type CallFacts,
  callInput,
  evaluate,
  type PolicyError,
  parsePolicy,
  prepareInput,
  presetText,
  reads,
  resultInput,
} from './index.ts';

const object = (text: string) => parse(text) as JsonObject;
const tool = object('{"name":"pay","description":"x","inputSchema":{"type":"object"}}');
const call = (facts: CallFacts, args = '{}') =>
  prepareInput('call', callInput(tool, object(args), { server: 'shop' }, facts));
const rule = (expr: string, more = '') =>
  parsePolicy(`rules: [{name: r, phase: call, ${more} expr: ${JSON.stringify(expr)}}]`);
const answer = (expr: string, facts: CallFacts) => {
  const { passed, code } = evaluate(rule(expr), call(facts)).rules[0]!;
  return passed ? 'ok' : code!;
};
/** The code and the sentence with which a rule is refused. */
const refusal = (text: string) => {
  try {
    parsePolicy(`rules: [{name: r, ${text}}]`);
  } catch (error) {
    const { code, message } = (error as PolicyError).problems[0]!;
    return `${code} ${message}`;
  }
  return 'accepted';
};

const use = (calls: number, bytes: number) => ({ calls, bytes });
const uses = (n: number) => ({
  minute: use(n, 10 * n),
  hour: use(2 * n, 20 * n),
  day: use(3 * n, 2 ** 53 - 1),
});
const USED = { agent: uses(1), tool: uses(2), session: uses(3) };
const SESSION = { id: 's-1', calls: 2, denials: 1, tools: ['read', 'pay'] };

describe('what a rule about a call may speak of', () => {
  test.each<[string, CallFacts, string]>([
    ['input.used.agent.minute.calls == 1', { used: USED }, 'ok'],
    ['input.used.session.hour.bytes + 1 == 61', { used: USED }, 'ok'],
    ['input.used.tool.day.bytes == 9007199254740991', { used: USED }, 'ok'],
    ['input.used.tool.minute.calls < 2', { used: USED }, 'POLICY_DENIED'],
    ['input.used.tool.minute.calls < 2', {}, 'POLICY_EVALUATION'],
    ['type(input.used.agent.minute.calls) == int', { used: USED }, 'ok'],
    ['input.session.calls - input.session.denials == 1', { session: SESSION }, 'ok'],
    ['!("read" in input.session.tools)', { session: SESSION }, 'POLICY_DENIED'],
    ['input.session.id == "s-1"', { session: SESSION }, 'ok'],
    ['size(input.call.secrets) == 0', { secrets: [] }, 'ok'],
    ['size(input.call.secrets) == 0', {}, 'POLICY_EVALUATION'],
    [
      'input.call.secrets.all(s, s.kind == "jwt" && s.pointer.startsWith("/a"))',
      { secrets: [{ pointer: '/a/0', kind: 'jwt' }] },
      'ok',
    ],
  ])('%s', (expr, facts, expected) => expect(answer(expr, facts)).toBe(expected));

  test.each([
    ['phase: call, expr: input.used.agent.week.calls < 1', 'POLICY_EXPRESSION_FIELD'],
    ['phase: call, expr: input.used.user.day.calls < 1', 'POLICY_EXPRESSION_FIELD'],
    ['phase: call, expr: input.call.secret == 1', 'POLICY_EXPRESSION_FIELD'],
    ['phase: call, expr: input.session.calls == "1"', 'POLICY_EXPRESSION '],
    ['phase: call, expr: input.used.agent.day.calls', 'POLICY_EXPRESSION '],
    ['phase: call, expr: input.result.is_error', 'POLICY_EXPRESSION_FIELD'],
    ['phase: tool, expr: input.session.calls < 1', 'POLICY_EXPRESSION_FIELD'],
    ['phase: result, expr: input.session.calls < 1', 'POLICY_EXPRESSION_FIELD'],
    ['phase: result, expr: size(input.call.secrets) == 0', 'POLICY_EXPRESSION_FIELD'],
    ['phase: result, expr: input.result.bytes > 1.5', 'accepted'],
  ])('%s', (text, code) => expect(refusal(text)).toContain(code));

  test('a count is a whole number, or the input is refused', () => {
    const session = (calls: string) =>
      object(
        `{"tool":{"name":"a","description":"","input_schema":{},"risk_level":"LOW","risk_reasons":[],"digest":""},"server":{"name":""},"arguments":{},"session":{"id":"","calls":${calls},"denials":0,"tools":[]}}`,
      );
    expect(prepareInput('call', session('1.0')).shape).toBe('call');
    for (const wrong of ['1.5', '"1"', '1e300', 'null'])
      expect(() => prepareInput('call', session(wrong))).toThrow(
        expect.objectContaining({ code: 'POLICY_INPUT', path: '/session/calls' }),
      );
  });
});

describe('what a rule looks at is known before it is asked', () => {
  const all = ['arguments', 'call', 'session', 'used'];
  test.each<[string, string[]]>([
    ['input.arguments.a == 1', ['arguments']],
    ['has(input.call) && size(input.call.secrets) == 0', ['call']],
    ['input["used"].agent.day.calls < 1', ['used']],
    ['[1, 2].all(n, input.session.calls < n)', ['session']],
    ['[input].all(i, i.session.calls < 3)', all],
    ['dyn(input).session.calls < 3', all],
    ['size([input]) == 1', all],
    ['true', []],
  ])('%s', (expr, expected) => {
    const policy = rule(expr);
    expect(all.filter((name) => reads(policy, 'call', [name]))).toEqual(expected);
    expect(all.some((name) => reads(policy, 'result', [name]))).toBe(false);
  });

  test('as far as the names are written out', () => {
    const one = rule('input.used.agent.day.calls < 1');
    expect(['agent', 'tool'].map((name) => reads(one, 'call', ['used', name]))).toEqual([true, false]);
    const whole = rule('[input.used].all(used, used.tool.day.calls < 9)');
    expect(reads(whole, 'call', ['used', 'tool'])).toBe(true);
  });
});

describe('what follows where a rule is false', () => {
  const verdict = (...list: string[]) => {
    const text = list.map((one, i) => `  - {name: r${i}, phase: call, ${one}}`).join('\n');
    const { outcome, demands } = evaluate(parsePolicy(`mode: warn\nrules:\n${text}`), call({}, '{"n":5}'));
    return [outcome, ...demands];
  };
  const no = "expr: 'input.arguments.n < 5'";

  test.each<[string[], string[]]>([
    [[`decision: escalate, ${no}`], ['demand', 'person']],
    [[`decision: envelope, ${no}`], ['demand', 'envelope']],
    [
      [`decision: escalate, ${no}`, `decision: envelope, ${no}`, `decision: escalate, ${no}`],
      ['demand', 'person', 'envelope'],
    ],
    [[`decision: escalate, ${no}`, `decision: deny, ${no}`], ['fail']],
    [[`decision: escalate, severity: warn, ${no}`], ['pass']],
    // What could not be answered denies.
    [["decision: escalate, expr: 'input.arguments.missing < 5'"], ['fail']],
    [["decision: escalate, expr: 'input.arguments.n == 5'"], ['pass']],
  ])('%j', (list, expected) => expect(verdict(...list)).toEqual(expected));

  test('a warning demands too in mode strict', () => {
    const policy = rule('input.arguments.n < 5', 'decision: escalate, severity: warn,');
    expect(evaluate(policy, call({}, '{"n":5}'))).toMatchObject({ outcome: 'demand', demands: ['person'] });
  });

  test.each(['list', 'tool', 'result'])(
    'only a rule about calls can demand, not one of phase %s',
    (phase) => {
      const expr = phase === 'list' ? 'size(input.tools) > 0' : 'input.tool.name != "a"';
      const text = (decision: string) => `phase: ${phase}, decision: ${decision}, expr: '${expr}'`;
      expect(refusal(text('deny'))).toBe('accepted');
      for (const decision of ['escalate', 'envelope'])
        expect(refusal(text(decision))).toBe(
          'POLICY_FIELD Only a rule of phase call can ask for a person or an envelope; another one denies.',
        );
      expect(refusal(text('allow'))).toBe(
        'POLICY_FIELD The field decision is one of deny, escalate, envelope.',
      );
    },
  );
});

describe('rules about results', () => {
  const policy = (expr: string) =>
    parsePolicy(`rules: [{name: r, phase: result, expr: ${JSON.stringify(expr)}}]`);
  const ask = (expr: string, structured?: string) => {
    const facts = {
      isError: false,
      text: 'IBAN DE00',
      bytes: 100,
      ...(structured !== undefined && { structured: parse(structured) }),
    };
    const input = resultInput(tool, object('{"a":1}'), { server: 'shop', agent: 'bot' }, facts);
    const { outcome, rules } = evaluate(policy(expr), prepareInput('result', input));
    return rules[0]!.code ?? outcome;
  };

  test.each<[string, string | undefined, string]>([
    ['!input.result.is_error && input.agent.id == "bot" && input.arguments.a == 1', undefined, 'pass'],
    ['!input.result.text.matches("[A-Z]{2}[0-9]{2}")', undefined, 'POLICY_DENIED'],
    ['input.result.bytes <= 100', undefined, 'pass'],
    ['!has(input.result.structured)', undefined, 'pass'],
    ['input.result.structured.rows.size() < 2', '{"rows":[1]}', 'pass'],
    ['input.result.structured.rows.size() < 2', '{"rows":[1,2]}', 'POLICY_DENIED'],
    ['input.result.structured.rows.size() < 2', '[1]', 'POLICY_EVALUATION'],
    ['input.result.structured.rows.size() < 2', undefined, 'POLICY_EVALUATION'],
  ])('%s of %s', (expr, structured, expected) => expect(ask(expr, structured)).toBe(expected));

  test('they are asked about nothing else', () => {
    expect(evaluate(policy('input.result.bytes < 1'), call({})).rules).toEqual([]);
  });
});

test('the preset no-secrets-out refuses what was found, and what was not searched', () => {
  const policy = parsePolicy(presetText('no-secrets-out'));
  const outcome = (facts: CallFacts) => evaluate(policy, call(facts)).outcome;
  expect(outcome({ secrets: [] })).toBe('pass');
  expect(outcome({ secrets: [{ pointer: '/key', kind: 'aws' }] })).toBe('fail');
  expect(outcome({ secrets: [{ pointer: '', kind: 'too-large' }] })).toBe('fail');
  expect(outcome({})).toBe('fail');
  expect(() => presetText('none')).toThrow('there are baseline, strict, no-secrets-out.');
});
