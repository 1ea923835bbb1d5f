import { commit } from '@bulla/core/canon';
import { execHash, parsePolicy as parseBound, parseEnvelope, readMapping } from '@bulla/core/envelope';
import { parse } from '@bulla/core/json';
import { lockDigest } from '@bulla/core/lock';
import { parsePolicy } from '@bulla/core/policy';
import { describe, expect, test } from 'vitest';
import {
  approved,
  DESK_POLICY,
  mallory,
  type Presented,
  signed,
  startApproved,
} from '../../../test/approved.ts';
import { type Message, records, type Sealed, told } from '../../../test/guard.ts';
import { createEnvelope } from '../../envelope/index.ts';
import { createLedger } from '../../store/index.ts';
import { metaEdits, NO_TRACE, type Telemetry } from '../telemetry.ts';

const ARGS = { text: 'hello' };
const codeOf = ({ error }: Message) => error?.data?.code;
const textOf = ({ result }: Message) => result?.content[0].text;
const hashOf = ({ envelope }: Presented) => execHash(parseEnvelope(envelope));
const called = (received: Message[]) => received.filter(({ method }) => method === 'tools/call');
const calls = async (store: Parameters<typeof records>[0]): Promise<Sealed[]> =>
  (await records(store)).filter(({ type }) => type === 'tool');

test('a call with its envelope is made once; the envelope stays here, and its commitment is that of the record', async () => {
  const guard = await startApproved();
  const presented = await approved(guard.lock, 'echo', ARGS);
  const hash = hashOf(presented);
  expect(textOf(await guard.callWith('echo', ARGS, presented, { kept: 1 }))).toBe('echo {"text":"hello"}');
  const again = await guard.callWith('echo', ARGS, presented);
  expect(textOf(again)).toBe('echo {"text":"hello"}');
  await guard.end();

  expect(called(guard.received()).map(({ params }) => params)).toEqual([
    { name: 'echo', arguments: ARGS, _meta: { kept: 1 } },
  ]);
  const [intent, outcome, ...more] = (await calls(guard.store)) as [Sealed, Sealed];
  // What came again was not made: it got the outcome that was sealed.
  expect(more).toEqual([]);
  expect(again.result._meta).toEqual({ 'bulla/repeats': outcome.id });
  const { args, envelope, tool } = intent.context.environment.bulla;
  const { target, rail } = JSON.parse(presented.envelope);
  expect(`${args.of}:${args.commitment}`).toBe(target.to);
  expect(args).toEqual(commit('args', ARGS, Buffer.from(presented.salt!, 'hex')));
  expect([envelope.exec_hash, tool.locked]).toEqual([hash, rail.contract]);
  expect(intent.authority).toMatchObject({ type: 'human_approved', approver: 'alice' });
  expect(intent.authority.chain.at(-1)).toMatchObject({ step: 'envelope', exec_hash: hash });
  expect([outcome.outcome.status, outcome.parent_id]).toEqual(['success', intent.id]);
  expect(await createLedger(guard.store).execution(hash)).toMatchObject({
    ...{ state: 'committed', intent_id: intent.id, outcome_id: outcome.id },
  });
});

test('a call without its envelope is denied, with all that somebody needs to approve it', async () => {
  const guard = await startApproved();
  const { error } = await guard.call('echo', ARGS);
  expect(error!.message).toBe(
    'Bulla: The tool "echo" is called only with an envelope that a person has approved, and this call has none. Have it approved, and call again with the same arguments and the envelope in _meta.',
  );
  expect(error!.data).toEqual({
    ...{ stage: 'envelope', code: 'ENVELOPE_REQUIRED', tool: 'echo', capsule: expect.any(String) },
    envelope: {
      ...{ action: 'TOOL_CALL', lock: lockDigest(guard.lock), server: 'rogue', name: 'echo' },
      locked: guard.lock.native!.tools.get('echo')!.digest,
      ...{ caller: 'bot', audience: 'desk.example', tenant_id: 'acme', mapped: false },
      command:
        'bulla envelope tool-call --server rogue --tool echo --caller bot --tenant-id acme --lock LOCK --arguments ARGUMENTS --policy-id POLICY -o ENVELOPE',
    },
  });
  await guard.end();
  expect(called(guard.received())).toEqual([]);
  expect(await told(guard.store)).toContain('tools/call rogue/echo blocked ENVELOPE_REQUIRED');
  expect(JSON.stringify(await records(guard.store))).not.toContain('hello');
});

test('what needs no envelope passes without one; one that is given is verified and consumed', async () => {
  const guard = await startApproved({ irreversible: [] });
  expect(textOf(await guard.call('echo', ARGS))).toBe('echo {"text":"hello"}');
  const presented = await approved(guard.lock, 'echo', ARGS);
  expect(codeOf(await guard.callWith('echo', { text: 'other' }, presented))).toBe('EE_TOOL_CALL');
  expect(textOf(await guard.callWith('echo', ARGS, presented))).toBe('echo {"text":"hello"}');
  const again = await guard.callWith('echo', ARGS, presented);
  expect(again.result._meta).toEqual({ 'bulla/repeats': expect.any(String) });
  await guard.end();
  expect(called(guard.received())).toHaveLength(2);
});

test('a rule can demand an envelope', async () => {
  const rules = [
    parsePolicy(
      `rules: [{name: large, phase: call, expr: 'size(input.arguments.text) < 4', decision: envelope}]`,
    ),
  ];
  const guard = await startApproved({ irreversible: [], rules });
  expect(textOf(await guard.call('echo', { text: 'abc' }))).toBe('echo {"text":"abc"}');
  expect(codeOf(await guard.call('echo', ARGS))).toBe('ENVELOPE_REQUIRED');
  const presented = await approved(guard.lock, 'echo', ARGS);
  expect(textOf(await guard.callWith('echo', ARGS, presented))).toBe('echo {"text":"hello"}');
  await guard.end();
});

test('of two calls at once with one envelope one is made, and the record of the other names no approver', async () => {
  const guard = await startApproved();
  const presented = await approved(guard.lock, 'echo', ARGS);
  const answers = await Promise.all(Array.from({ length: 8 }, () => guard.callWith('echo', ARGS, presented)));
  await guard.end();
  // Those that came before the first was sealed are refused, later ones get its outcome.
  const isRepeated = ({ result }: (typeof answers)[number]) => result?._meta !== undefined;
  const made = answers.filter((answer) => answer.result !== undefined && !isRepeated(answer));
  expect(made.map(textOf)).toEqual(['echo {"text":"hello"}']);
  const refused = answers.filter(({ error }) => error !== undefined);
  expect(refused.map(({ error }) => [error!.data!.code, error!.data!.exec_hash])).toEqual(
    refused.map(() => ['EE_NONCE_REPLAY', hashOf(presented)]),
  );
  expect(refused.length + answers.filter(isRepeated).length).toBe(7);
  expect(called(guard.received())).toHaveLength(1);
  const blocked = (await calls(guard.store)).filter(({ outcome }) => outcome.status === 'blocked');
  expect(
    blocked.map(({ authority, outcome, context }) => [
      authority.type,
      authority.approver,
      outcome.error,
      context.environment.bulla.envelope.exec_hash,
    ]),
  ).toEqual(refused.map(() => ['policy', null, 'envelope: EE_NONCE_REPLAY', hashOf(presented)]));
});

describe('an envelope is refused', () => {
  const now = () => Math.floor(Date.now() / 1000);
  type Make = (lock: Awaited<ReturnType<typeof startApproved>>['lock']) => Promise<Presented>;
  const other: readonly (readonly [string, string, Make])[] = [
    ['of other arguments', 'EE_TOOL_CALL', (lock) => approved(lock, 'echo', { text: 'hellp' })],
    ['of another server', 'EE_TOOL_CALL', (lock) => approved(lock, 'echo', ARGS, { server: 'other' })],
    ['of another tool', 'EE_TOOL_CALL', (lock) => approved(lock, 'echo', ARGS, { name: 'add' })],
    [
      'of another definition',
      'EE_TOOL_CALL',
      (lock) => approved(lock, 'echo', ARGS, { locked: `sha256:${'0'.repeat(64)}` }),
    ],
    [
      'of another lock',
      'EE_TOOL_CALL',
      (lock) => approved(lock, 'echo', ARGS, { lock: `sha256:${'0'.repeat(64)}` }),
    ],
    [
      'of another agent',
      'EE_TOOL_CALL',
      (lock) => approved(lock, 'echo', ARGS, { actor: { caller: 'other', role: null } }),
    ],
    [
      'of another tenant',
      'EE_TENANT_MISMATCH',
      (lock) => approved(lock, 'echo', ARGS, { tenant_id: 'other' }),
    ],
    ['that expired', 'EE_TTL_EXPIRED', (lock) => approved(lock, 'echo', ARGS, { ttl: now() - 60 })],
    [
      'for another ledger',
      'EE_AO_AUDIENCE_MISMATCH',
      (lock) => approved(lock, 'echo', ARGS, {}, { audience: 'other' }),
    ],
    [
      'that a stranger signed',
      'EE_AO_SIGNATURE_INVALID',
      (lock) => approved(lock, 'echo', ARGS, {}, { signer: mallory }),
    ],
    [
      'without its salt',
      'EE_TOOL_CALL',
      async (lock) => {
        const { salt: _, ...rest } = await approved(lock, 'echo', ARGS);
        return rest;
      },
    ],
    [
      'with another salt',
      'EE_TOOL_CALL',
      async (lock) => ({ ...(await approved(lock, 'echo', ARGS)), salt: '0'.repeat(64) }),
    ],
    [
      'that cannot be read',
      'EE_INVALID_JSON',
      async (lock) => ({ ...(await approved(lock, 'echo', ARGS)), envelope: '{' }),
    ],
    [
      'with an authorization that is none',
      'EE_AO_INVALID',
      async (lock) => ({ ...(await approved(lock, 'echo', ARGS)), authorization: '' }),
    ],
  ];

  test.each(other)('%s: %s', async (_, code, make) => {
    const guard = await startApproved();
    const presented = await make(guard.lock);
    expect(codeOf(await guard.callWith('echo', ARGS, presented))).toBe(code);
    await guard.end();
    expect(called(guard.received())).toEqual([]);
    expect(await told(guard.store)).toContain(`tools/call rogue/echo blocked ${code}`);
  });

  test('whose form is not exact, before anything of it is read', async () => {
    const guard = await startApproved();
    const good = await approved(guard.lock, 'echo', ARGS);
    const misshapen: unknown[] = [
      null,
      'text',
      [],
      {},
      { ...good, envelope: JSON.parse(good.envelope) },
      { ...good, authorization: null },
      { ...good, salt: good.salt!.toUpperCase() },
      { ...good, salt: 'ab' },
      { ...good, more: 1 },
      { ...good, Salt: good.salt },
      { ...good, envelope: good.envelope.padEnd(256 * 1024) },
    ];
    for (const presented of misshapen)
      expect(
        codeOf(await guard.callWith('echo', ARGS, presented)),
        JSON.stringify(presented).slice(0, 80),
      ).toBe('GATEWAY_PARAMS');
    const twins = { 'Bulla/Envelope': good };
    expect(codeOf(await guard.callWith('echo', ARGS, good, twins))).toBe('GATEWAY_PARAMS');
    expect(codeOf(await guard.callWith('echo', ARGS, undefined, twins))).toBe('GATEWAY_PARAMS');
    const twice = `{"bulla/envelope":${JSON.stringify(good)},"bulla/envelope":${JSON.stringify(good)}}`;
    guard.send(
      `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":${twice}}}`,
    );
    expect((await guard.until(({ error }) => error?.code === -32700)).error!.data!.code).toBe(
      'MCP_FRAME_JSON',
    );
    for (const method of ['tools/list', 'ping', 'prompts/get'])
      expect(codeOf(await guard.ask(method, { _meta: { 'bulla/envelope': good } })), method).toBe(
        'GATEWAY_PARAMS',
      );
    // It was not used up by any of that.
    expect(textOf(await guard.callWith('echo', ARGS, good))).toBe('echo {"text":"hello"}');
    await guard.end();
    expect(called(guard.received())).toHaveLength(1);
    expect(JSON.stringify(guard.received())).not.toContain('authorization');
  });

  test('where nothing takes one', async () => {
    const guard = await startApproved({ envelopes: undefined });
    const presented = await approved(guard.lock, 'echo', ARGS);
    expect(codeOf(await guard.callWith('echo', ARGS, presented))).toBe('GATEWAY_PARAMS');
    await guard.end();
    expect(called(guard.received())).toEqual([]);
  });
});

describe('a mapping', () => {
  const mappings = new Map([
    [
      'echo',
      readMapping(
        parse(
          '{"bind":{"/to":"/target/to","/amount":"/target/amount"},"free":["/memo"],"fixed":{"/action_type":"TRANSFER"}}',
        ),
      ),
    ],
  ]);
  const transfer = (changes: { action_type?: string; amount?: string; caller?: string } = {}) => {
    const { action_type = 'TRANSFER', amount = '1250', caller = 'bot' } = changes;
    return signed(
      createEnvelope({
        ...{ tenant_id: 'acme', action_type, actor: { caller }, policy: parseBound(DESK_POLICY) },
        rail: { type: 'BANK', network: 'sepa' },
        target: { to: 'acct-7', asset: 'EUR', amount, decimals: 2 },
      }),
    );
  };
  const args = { to: 'acct-7', amount: 1250, memo: 'rent' };

  test('binds the arguments to an envelope of its action, without a salt', async () => {
    const guard = await startApproved({ mappings });
    expect((await guard.call('echo', args)).error!.data!.envelope).toMatchObject({ mapped: true });
    const presented = await transfer();
    const refused = async (given: object, by: object) => codeOf(await guard.callWith('echo', given, by));
    expect(await refused({ ...args, to: 'acct-8' }, presented)).toBe('EE_ARGS_MISMATCH');
    expect(await refused({ ...args, amount: 1251 }, presented)).toBe('EE_ARGS_MISMATCH');
    expect(await refused({ ...args, more: 1 }, presented)).toBe('EE_ARGS_UNBOUND');
    expect(await refused({ to: 'acct-7' }, presented)).toBe('EE_ARGS_MISSING');
    expect(await refused(args, await transfer({ action_type: 'REFUND' }))).toBe('EE_ARGS_MISMATCH');
    expect(await refused(args, await transfer({ caller: 'other' }))).toBe('EE_TOOL_CALL');
    expect(textOf(await guard.callWith('echo', args, presented))).toBe(`echo ${JSON.stringify(args)}`);
    const again = await guard.callWith('echo', args, presented);
    expect(again.result._meta).toEqual({ 'bulla/repeats': expect.any(String) });
    // One of exactly the call counts too.
    const exact = await approved(guard.lock, 'echo', args);
    expect(textOf(await guard.callWith('echo', args, exact))).toBe(`echo ${JSON.stringify(args)}`);
    await guard.end();
    expect(called(guard.received())).toHaveLength(2);
    const [intent] = (await calls(guard.store)).filter(({ outcome }) => outcome.status === 'pending');
    expect(intent!.context.environment.bulla).toMatchObject({
      envelope: { exec_hash: hashOf(presented) },
      tool: { server: 'rogue', name: 'echo', locked: guard.lock.native!.tools.get('echo')!.digest },
    });
  });

  test('is needed for an envelope of another action', async () => {
    const guard = await startApproved();
    expect(codeOf(await guard.callWith('echo', args, await transfer()))).toBe('EE_TOOL_CALL');
    await guard.end();
  });
});

test('a trace is handed on in the place of the envelope', async () => {
  const handed = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: '' };
  const telemetry: Telemetry = {
    call: () => ({ ...NO_TRACE, handOn: (frame) => metaEdits(frame, handed) }),
    denied() {},
  };
  const guard = await startApproved({ telemetry });
  const presented = await approved(guard.lock, 'echo', ARGS);
  expect(textOf(await guard.callWith('echo', ARGS, presented))).toBe('echo {"text":"hello"}');
  await guard.end();
  const { traceparent } = handed;
  expect(called(guard.received()).map(({ params }) => params!._meta)).toEqual([{ traceparent }]);
});

test('a _meta that held the envelope alone is empty for the server', async () => {
  const guard = await startApproved();
  const presented = await approved(guard.lock, 'echo', ARGS);
  const text = JSON.stringify({ name: 'echo', arguments: ARGS, _meta: { 'bulla/envelope': presented } });
  guard.send(
    `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${text.replace('"_meta":{', '"_meta": { ')}}`,
  );
  await guard.until(({ id }) => id === 7);
  await guard.end();
  expect(called(guard.received())[0]!.params).toEqual({ name: 'echo', arguments: ARGS, _meta: {} });
});

test('where the gateway only watches, a missing envelope is noticed, and none is consumed or handed on', async () => {
  const guard = await startApproved({ mode: 'audit' });
  const presented = await approved(guard.lock, 'echo', ARGS);
  expect(textOf(await guard.call('echo', ARGS))).toBe('echo {"text":"hello"}');
  expect(textOf(await guard.callWith('echo', ARGS, presented))).toBe('echo {"text":"hello"}');
  await guard.end();
  const steps = (await calls(guard.store)).filter(({ outcome }) => outcome.status === 'pending');
  expect(steps.map(({ authority }) => authority.chain.map(({ code }: { code: string }) => code))).toEqual([
    ['ENVELOPE_REQUIRED'],
    [],
  ]);
  expect(await createLedger(guard.store).execution(hashOf(presented))).toBe(null);
  expect(JSON.stringify(guard.received())).not.toContain('authorization');
});
