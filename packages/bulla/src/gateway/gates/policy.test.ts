import { readEvidence } from '@bulla/core/evidence';
import { parsePolicy, presetText } from '@bulla/core/policy';
import { describe, expect, test } from 'vitest';
import {
  initialize,
  type Message,
  openTestStore,
  records,
  rogueLock,
  startRogue,
  told,
} from '../../../test/guard.ts';
import { temporaryFolder } from '../../../test/run.ts';
import { type Gate, policyGate } from './index.ts';

const policy = (...rules: string[]) =>
  parsePolicy(`name: house\nrules:\n${rules.map((rule, i) => `  - {name: r${i}, ${rule}}`).join('\n')}`);
const start = async (rules: string[], options: Parameters<typeof startRogue>[1] = {}) => {
  const guarded = await startRogue('ordinary', { rules: [policy(...rules)], ...options });
  await initialize(guarded);
  return guarded;
};
const codeOf = ({ error, result }: Message) => error?.data?.code ?? result.content[0].text;
const reached = (guarded: { received(): Message[] }) =>
  guarded.received().filter(({ method }) => method === 'tools/call').length;

// It has the form of a token, and was never one.
const TOKEN = `ghp_${'a1B2'.repeat(9)}`;

describe('secrets in arguments', () => {
  test('are refused by the preset, which says which kind and where, and never what', async () => {
    const guarded = await startRogue('ordinary', { rules: [parsePolicy(presetText('no-secrets-out'))] });
    await initialize(guarded);
    expect(codeOf(await guarded.call('echo', { text: 'hello' }))).toBe('echo {"text":"hello"}');
    const { error } = await guarded.call('echo', { text: 'x', deep: [{ 'a/b': `token ${TOKEN}` }] });
    expect([error!.code, error!.message, error!.data!.code]).toEqual([
      403,
      'Bulla: A rule forbids this call. no_secrets_in_arguments: The arguments hold keys or tokens, or are too large to be searched for them. Found: github at "/deep/0/a~1b".',
      'POLICY_DENIED',
    ]);
    const large = await guarded.call('echo', { text: 'x '.repeat(600_000) });
    expect(large.error!.message).toContain('Found: too-large at "".');
    await guarded.end();
    expect(reached(guarded)).toBe(1);
    const sealed = await records(guarded.store);
    expect(JSON.stringify(sealed)).not.toMatch(/ghp_|a~1b/);
    const blocked = sealed.filter(({ outcome }) => outcome.status === 'blocked');
    expect(blocked.map(({ outcome }) => outcome.error.slice(-15))).toEqual([
      ' Found: github.',
      'und: too-large.',
    ]);
  });

  test('are not looked for where no rule asks', async () => {
    const guarded = await start(["phase: call, expr: 'has(input.arguments.text)'"]);
    expect(codeOf(await guarded.call('echo', { text: TOKEN }))).toContain('ghp_');
  });
});

describe('the session', () => {
  test('is known in the order of its intents, with what was denied', async () => {
    const guarded = await start([
      "phase: call, expr: 'input.session.calls < 3', failure_msg: Three calls are enough.",
      `phase: call, expr: '!(input.tool.name == "add" && "add" in input.session.tools)', failure_msg: Once.`,
      "phase: call, expr: 'input.session.denials < 2', failure_msg: Too many denials.",
    ]);
    expect(codeOf(await guarded.call('add'))).toBe('add {}');
    const again = await guarded.call('add');
    expect(again.error!.message).toBe('Bulla: A rule forbids this call. r1: Once.');
    // A prompt is no call of a tool.
    await guarded.ask('prompts/get', { name: 'ask' });
    expect(codeOf(await guarded.call('echo'))).toBe('echo {}');
    expect(codeOf(await guarded.call('add'))).toBe('POLICY_DENIED');
    expect((await guarded.call('echo')).error!.message).toContain('r2: Too many denials.');
  });

  test('calls at the same time do not both take the last place', async () => {
    const guarded = await start(["phase: call, expr: 'input.session.calls < 3'"]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => guarded.call('echo')));
    expect(answers.map(codeOf).toSorted()).toEqual([
      ...new Array(17).fill('POLICY_DENIED'),
      ...new Array(3).fill('echo {}'),
    ]);
    await guarded.end();
    expect(reached(guarded)).toBe(3);
  });

  test('its names are the most recent 256', async () => {
    const guarded = await start([
      `phase: call, expr: 'input.tool.name != "add" || !("add" in input.session.tools)'`,
    ]);
    expect(codeOf(await guarded.call('add'))).toBe('add {}');
    for (let i = 0; i < 255; i++) await guarded.call('echo');
    expect(codeOf(await guarded.call('add'))).toBe('POLICY_DENIED');
    expect(codeOf(await guarded.call('echo'))).toBe('echo {}');
    expect(codeOf(await guarded.call('add'))).toBe('add {}');
  }, 60_000);
});

describe('what was used', () => {
  const limit = (scope: string, calls: number) =>
    `phase: call, expr: 'input.used.${scope}.minute.calls < ${calls} && input.used.${scope}.day.calls < ${calls}', failure_msg: Enough.`;

  test('by an agent, over sessions; what was denied is not counted', async () => {
    const first = await start([limit('agent', 2)]);
    expect(codeOf(await first.call('echo'))).toBe('echo {}');
    const second = await start([limit('agent', 2)], { store: first.store });
    expect(codeOf(await second.call('add'))).toBe('add {}');
    for (const guarded of [first, second]) expect(codeOf(await guarded.call('echo'))).toBe('POLICY_DENIED');
    const other = await start([limit('agent', 2)], { store: first.store, agentId: 'other' });
    expect(codeOf(await other.call('echo'))).toBe('echo {}');
    const wider = await start([limit('agent', 3)], { store: first.store });
    expect(codeOf(await wider.call('echo'))).toBe('echo {}');
  });

  test('of a tool, and in a session', async () => {
    const first = await start([limit('tool', 1)]);
    expect(codeOf(await first.call('echo'))).toBe('echo {}');
    const other = await start([limit('tool', 1)], { store: first.store, agentId: 'other' });
    expect([codeOf(await other.call('echo')), codeOf(await other.call('add'))]).toEqual([
      'POLICY_DENIED',
      'add {}',
    ]);
    const session = await start([limit('session', 1)], { store: first.store });
    expect([codeOf(await session.call('echo')), codeOf(await session.call('echo'))]).toEqual([
      'echo {}',
      'POLICY_DENIED',
    ]);
  });

  test('bytes are those of the messages', async () => {
    const guarded = await start(["phase: call, expr: 'input.used.agent.hour.bytes == 0'"]);
    const line = '{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{}}}';
    guarded.send(line);
    await guarded.until(({ id }) => id === 'a');
    expect(codeOf(await guarded.call('echo'))).toBe('POLICY_DENIED');
    const exact = await start([`phase: call, expr: 'input.used.agent.hour.bytes == ${line.length}'`], {
      store: guarded.store,
    });
    expect(codeOf(await exact.call('echo'))).toBe('echo {}');
  });

  test('calls at the same time take exactly what is left', async () => {
    const guarded = await start([limit('agent', 5)]);
    const answers = await Promise.all(Array.from({ length: 30 }, () => guarded.call('echo')));
    expect(answers.map(codeOf).filter((text) => text === 'echo {}')).toHaveLength(5);
    await guarded.end();
    expect(reached(guarded)).toBe(5);
  });

  test('to be asked again alone lets no more pass than may', async () => {
    const store = await openTestStore(temporaryFolder());
    const lock = await rogueLock('ordinary');
    // It does not check while the intent is written.
    const gate = policyGate(policy(limit('agent', 5)), lock, { store, watches: true });
    const guarded = await startRogue('ordinary', { gates: [gate], store });
    await initialize(guarded);
    const answers = await Promise.all(Array.from({ length: 30 }, () => guarded.call('echo')));
    const made = answers.map(codeOf).filter((text) => text === 'echo {}').length;
    expect(made).toBeLessThanOrEqual(5);
    expect(answers.map(codeOf).filter((text) => text === 'POLICY_DENIED')).toHaveLength(30 - made);
    // Those that were denied are given back: what is left can be used up, and no more.
    for (let i = made; i < 5; i++) expect(codeOf(await guarded.call('echo'))).toBe('echo {}');
    expect(codeOf(await guarded.call('echo'))).toBe('POLICY_DENIED');
    await guarded.end();
    expect(reached(guarded)).toBe(5);
    await store.close();
  });

  test('a call that another gate stops after its intent is given back', async () => {
    let stops = true;
    const gate: Gate = {
      name: 'kill',
      rule: () => ({ pass: {} }),
      async again() {
        if (stops) throw new Error('stopped');
      },
    };
    const guarded = await start([limit('agent', 1)], { gates: [gate] });
    expect(codeOf(await guarded.call('echo'))).toBe('GATEWAY_FAILED');
    stops = false;
    expect(codeOf(await guarded.call('echo'))).toBe('echo {}');
    expect(codeOf(await guarded.call('echo'))).toBe('POLICY_DENIED');
  });

  test('two rules count a call once, and both stand in its record', async () => {
    const rules = [policy(limit('agent', 2)), policy(limit('tool', 2))];
    const guarded = await startRogue('ordinary', { rules });
    await initialize(guarded);
    expect([codeOf(await guarded.call('echo')), codeOf(await guarded.call('echo'))]).toEqual([
      'echo {}',
      'echo {}',
    ]);
    expect(codeOf(await guarded.call('echo'))).toBe('POLICY_DENIED');
    await guarded.end();
    const intent = (await records(guarded.store)).find(({ outcome }) => outcome.summary?.endsWith('/echo'))!;
    expect(readEvidence(intent)!.policy).toEqual({ id: 'house', hash: rules[0]!.digest });
    expect(intent.authority.chain.filter(({ step }: { step: string }) => step === 'policy')).toEqual(
      rules.map(({ digest }) => ({ step: 'policy', rule: 'house', policy: digest, decision: 'allow' })),
    );
  });

  test('a gate without a store is refused where it would have to count', async () => {
    const lock = await rogueLock('ordinary');
    expect(() => policyGate(policy(limit('agent', 1)), lock)).toThrow(
      expect.objectContaining({ code: 'USAGE' }),
    );
  });
});

describe('demands', () => {
  const large = (decision: string) =>
    `phase: call, decision: ${decision}, expr: '!has(input.arguments.a) || input.arguments.a <= 100'`;

  test.each([
    ['escalate', 'POLICY_NEEDS_PERSON'],
    ['envelope', 'POLICY_NEEDS_ENVELOPE'],
  ])('%s: what no gate meets is denied', async (decision, code) => {
    const guarded = await start([large(decision)]);
    expect(codeOf(await guarded.call('add', { a: 100 }))).toBe('add {"a":100}');
    expect(codeOf(await guarded.call('add', { a: 101 }))).toBe(code);
    await guarded.end();
    expect(reached(guarded)).toBe(1);
    expect((await told(guarded.store)).at(-1)).toBe(`tools/call rogue/add blocked ${code}`);
  });

  test('a later gate meets one by deleting it', async () => {
    const seen: string[][] = [];
    const gate: Gate = {
      name: 'consent',
      rule({ demands }) {
        seen.push([...demands]);
        demands.delete('person');
        return { pass: {} };
      },
    };
    const both = await start([large('escalate'), large('envelope')], { gates: [gate] });
    expect(codeOf(await both.call('add', { a: 101 }))).toBe('POLICY_NEEDS_ENVELOPE');
    const one = await start([large('escalate')], { gates: [gate] });
    expect(codeOf(await one.call('add', { a: 101 }))).toBe('add {"a":101}');
    expect(seen).toEqual([['person', 'envelope'], ['person']]);
    await one.end();
    const intent = (await records(one.store)).find(
      ({ outcome }) => outcome.status === 'pending' && outcome.summary.endsWith('/add'),
    )!;
    expect(intent.authority.chain[0]).toEqual({ step: 'policy', rule: 'house', decision: 'demand person' });
  });

  test('one that arises only while others race is not met by what was asked before', async () => {
    const guarded = await start(["phase: call, decision: escalate, expr: 'input.used.agent.day.calls < 2'"]);
    const answers = await Promise.all(Array.from({ length: 10 }, () => guarded.call('echo')));
    expect(answers.map(codeOf).toSorted()).toEqual([
      ...new Array(8).fill('POLICY_NEEDS_PERSON'),
      ...new Array(2).fill('echo {}'),
    ]);
  });
});

describe('rules about results', () => {
  test('what fails is withheld, and recorded so', async () => {
    const guarded = await start([
      `phase: result, expr: '!input.result.text.contains("IBAN")', failure_msg: No account numbers.`,
      `phase: result, expr: 'input.result.bytes < 5000 && !input.result.is_error'`,
    ]);
    expect(codeOf(await guarded.call('echo', { text: 'hello' }))).toBe('echo {"text":"hello"}');
    const { error } = await guarded.call('echo', { text: 'IBAN DE00' });
    expect([error!.message, error!.data!.code, error!.data!.stage]).toEqual([
      'Bulla: The call was made, but its result is withheld: a rule forbids it. r0: No account numbers.',
      'GATEWAY_RESULT_WITHHELD',
      'policy',
    ]);
    expect(codeOf(await guarded.call('echo', { text: 'x'.repeat(5000) }))).toBe('GATEWAY_RESULT_WITHHELD');
    // A prompt has no result of a tool.
    expect((await guarded.ask('prompts/get', { name: 'ask' })).error).toBe(undefined);
    await guarded.end();
    expect(reached(guarded)).toBe(3);
    expect((await told(guarded.store)).filter((line) => line.includes('failure'))).toEqual([
      'tools/call rogue/echo failure GATEWAY_RESULT_WITHHELD',
      'tools/call rogue/echo failure GATEWAY_RESULT_WITHHELD',
    ]);
  });

  test('errors, embedded resources and structured content are results too', async () => {
    const rules = [
      `phase: result, expr: '!input.result.text.contains("IBAN")'`,
      `phase: result, expr: '!has(input.result.structured) || input.result.structured.rows.size() < 2'`,
      "phase: result, expr: 'input.arguments.mayFail == true || !input.result.is_error'",
    ];
    const guarded = await startRogue('answers-as-told', { rules: [policy(...rules)] });
    await initialize(guarded);
    const embedded = { type: 'resource', resource: { uri: 'file:///a', text: 'IBAN' } };
    const cases: [object, boolean, string | null][] = [
      [{ result: { content: [{ type: 'text', text: 'fine' }, embedded] } }, true, 'r0'],
      [{ result: { content: [], structuredContent: { rows: [1] } } }, true, null],
      [{ result: { content: [], structuredContent: { rows: [1, 2] } } }, true, 'r1'],
      [{ result: { content: [], isError: true } }, true, null],
      [{ result: { content: [], isError: true } }, false, 'r2'],
      [{ error: { code: -1, message: 'IBAN' } }, true, 'r0'],
      [{ error: { code: -1, message: 'no', data: { rows: [1, 2] } } }, true, 'r1'],
      [{ error: { code: -1, message: 'no' } }, false, 'r2'],
    ];
    for (const [body, mayFail, rule] of cases) {
      const { error } = await guarded.call('echo', { body, mayFail });
      const withheld = error?.data?.code === 'GATEWAY_RESULT_WITHHELD' ? error.message : '';
      expect([body, /(r[0-9]):/.exec(withheld)?.[1] ?? null]).toEqual([body, rule]);
    }
  });

  test('a text that is too long to read is withheld where a rule reads it', async () => {
    const text = 'x'.repeat(1024 * 1024);
    const reading = await start([`phase: result, expr: '!input.result.text.contains("IBAN")'`]);
    expect((await reading.call('echo', { text })).error!.message).toContain('too long for the rules to read');
    const other = await start(["phase: result, expr: '!input.result.is_error'"]);
    expect(codeOf(await other.call('echo', { text })).length).toBeGreaterThan(text.length);
  });
});

test('where the gateway only watches, what rules say is recorded, and nothing is blocked', async () => {
  const guarded = await start(
    [
      "phase: call, expr: 'input.used.agent.day.calls < 1'",
      "phase: call, decision: escalate, expr: 'input.session.calls < 1'",
      `phase: result, expr: '!input.result.text.contains("IBAN")'`,
    ],
    { mode: 'audit' },
  );
  const answers = await Promise.all([1, 2, 3].map((n) => guarded.call('echo', { text: `IBAN ${n}` })));
  expect(answers.map(codeOf)).toEqual([1, 2, 3].map((n) => `echo {"text":"IBAN ${n}"}`));
  expect(codeOf(await guarded.call('echo'))).toBe('echo {}');
  await guarded.end();
  const sealed = await records(guarded.store);
  expect(sealed.filter(({ outcome }) => outcome.status === 'blocked')).toEqual([]);
  const last = sealed.findLast(({ outcome, type }) => type === 'tool' && outcome.status === 'pending')!;
  expect(last.authority.chain).toContainEqual({
    ...{ step: 'audit', decision: 'would-block', stage: 'policy', code: 'POLICY_DENIED' },
  });
});

test('arguments that rules cannot read are denied', async () => {
  const guarded = await start(["phase: call, expr: 'true'"]);
  const deep = JSON.parse(`${'['.repeat(120)}${']'.repeat(120)}`);
  expect((await guarded.call('echo', { deep })).error).toMatchObject({
    message: 'Bulla: The rules cannot read this call. This is nested more than 100 deep.',
    data: { code: 'POLICY_INPUT', stage: 'policy' },
  });
});
