/** What a guard keeps of the calls of a tool, on one kind of store. */
import { commit, opens } from '@bulla/core/canon';
import { commitmentsOf, readEvidence, resultOf } from '@bulla/core/evidence';
import { parse } from '@bulla/core/json';
import { expect, test } from 'vitest';
import type { RecordRules } from '../src/gateway/tools.ts';
import type { Store } from '../src/store/index.ts';
import { type Guarded, initialize, records, type Sealed, startRogue } from './guard.ts';

const of = (length: number) => 'Ab3'.repeat(length).slice(0, length);
export const SECRETS = {
  aws: `AKIA${'IOSFODNN7EXAMPLE'}`,
  jwt: `eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2Ui${of(20)}.${of(43)}`,
  google: `AIza${of(35)}`,
  bulla: `hsk_${of(40)}`,
  rule: 'correct horse battery staple',
} as const;

/** A session with a rogue server in which `echo` is recorded by these rules. */
export async function recording(store: Store, record: RecordRules): Promise<Guarded> {
  const guarded = await startRogue('ordinary', { store, tools: new Map([['echo', { record }]]) });
  await initialize(guarded);
  return guarded;
}

export async function ended(guarded: Guarded): Promise<Sealed[]> {
  await guarded.end();
  return (await records(guarded.store)).filter(({ type }) => type === 'tool');
}

/** What lies beside the chain for a commitment; it must open that. */
async function opened(store: Store, capsule: unknown, kind: keyof ReturnType<typeof commitmentsOf>) {
  const committed = commitmentsOf(capsule)[kind]!;
  const opening = await store.opening(committed.commitment);
  if (opening?.payload == null) return opening === null ? null : { salt: opening.salt };
  expect(opening.kind).toBe(kind);
  expect(opens(committed, kind, parse(opening.payload), opening.salt)).toBe(true);
  return { salt: opening.salt, value: JSON.parse(opening.payload) };
}

/** `bytesOf` gives all that the store has written. */
export function keepSuite(open: () => Promise<{ store: Store; bytesOf?: () => Promise<Buffer> }>): void {
  test('arguments and results are kept, without what pointers lead to and without secrets', async () => {
    const { store, bytesOf } = await open();
    const guarded = await recording(store, {
      arguments: true,
      result: true,
      redact: ['/password', '/content/0/_meta', '/list/1'],
    });
    const { aws, jwt, google, bulla, rule } = SECRETS;
    const args = {
      text: 'hello',
      password: rule,
      list: [1, rule, google],
      env: { [bulla]: 1 },
      key: aws,
      jwt,
    };
    expect((await guarded.call('echo', args)).result.content[0].text).toContain(rule);
    const [intent, outcome] = await ended(guarded);
    // The commitments are to what was called and came back; the copies have commitments of their own.
    const { salt } = (await opened(store, intent, 'args'))!;
    expect(opens(readEvidence(intent)!.args as never, 'args', args, salt)).toBe(true);
    expect(commit('args', args, salt)).toEqual(readEvidence(intent)!.args);
    const copy = await opened(store, intent, 'redacted-args');
    expect(copy!.value).toEqual({
      removed: [
        { pointer: '/password', by: 'rule' },
        { pointer: '/list/1', by: 'rule' },
        { pointer: '/list/2', by: 'secret', kind: 'google' },
        { pointer: '/env', by: 'secret', kind: 'bulla' },
        { pointer: '/key', by: 'secret', kind: 'aws' },
        { pointer: '/jwt', by: 'secret', kind: 'jwt' },
      ],
      value: {
        text: 'hello',
        password: '[redacted]',
        list: [1, '[redacted]', '[redacted]'],
        env: '[redacted]',
        key: '[redacted]',
        jwt: '[redacted]',
      },
    });
    const result = await opened(store, outcome, 'redacted-result');
    expect(result!.value.value).toEqual({ content: [{ type: 'text', text: '[redacted]' }] });
    expect(
      new Set(result!.value.removed.map(({ by, pointer }: Record<string, string>) => `${by} ${pointer}`)),
    ).toEqual(new Set(['secret /content/0/text']));
    expect(await opened(store, outcome, 'result')).toEqual({ salt: expect.any(Uint8Array) });
    // An outcome repeats what its intent says.
    expect(readEvidence(outcome)!.redacted).toEqual({
      ...readEvidence(intent)!.redacted,
      result: commitmentsOf(outcome)['redacted-result'],
    });
    for (const secret of Object.values(SECRETS)) {
      expect(JSON.stringify(await records(store))).not.toContain(secret);
      expect(guarded.log.join('\n')).not.toContain(secret);
      expect((await bytesOf?.())?.includes(secret)).not.toBe(true);
    }
    expect((await bytesOf?.())?.includes('"text":"hello"') ?? true).toBe(true);

    // Erased with everything else that opens something.
    expect(await store.eraseOpenings(outcome!.id)).toBe(4);
    for (const kind of ['args', 'redacted-args'] as const)
      expect(await opened(store, intent, kind)).toBe(null);
    for (const kind of ['result', 'redacted-result'] as const)
      expect(await opened(store, outcome, kind)).toBe(null);
    expect((await bytesOf?.())?.includes('"text":"hello"')).not.toBe(true);
    await records(store);
    await store.close();
  });

  test('a value in which nothing had to be removed opens the commitment itself', async () => {
    const { store } = await open();
    const guarded = await recording(store, { arguments: true, result: true, redact: ['/password'] });
    await guarded.call('echo', { text: 'hello' });
    const [intent, outcome] = await ended(guarded);
    expect((await opened(store, intent, 'args'))!.value).toEqual({ text: 'hello' });
    expect((await opened(store, outcome, 'result'))!.value).toEqual({
      content: [{ type: 'text', text: 'echo {"text":"hello"}' }],
    });
    expect(readEvidence(outcome)!.redacted).toBe(undefined);
    await store.close();
  });

  test('only what a rule asks for is kept, of that tool alone', async () => {
    const { store } = await open();
    const guarded = await recording(store, { result: true });
    await guarded.call('add', { a: 1 });
    await guarded.call('echo', { text: SECRETS.rule });
    const [addIntent, addOutcome, intent, outcome] = await ended(guarded);
    const unkept = { salt: expect.any(Uint8Array) };
    expect(await opened(store, addIntent, 'args')).toEqual(unkept);
    expect(await opened(store, addOutcome, 'result')).toEqual(unkept);
    expect(await opened(store, intent, 'args')).toEqual(unkept);
    expect((await opened(store, outcome, 'result'))!.value.content).toHaveLength(1);
    await store.close();
  });

  test('the arguments of a denied call are kept too', async () => {
    const { store } = await open();
    const guarded = await recording(store, { arguments: true });
    await guarded.call('echo', { text: 5, key: SECRETS.aws });
    const [denied, ...more] = await ended(guarded);
    expect([denied!.outcome.status, more]).toEqual(['blocked', []]);
    expect((await opened(store, denied, 'redacted-args'))!.value).toEqual({
      removed: [{ pointer: '/key', by: 'secret', kind: 'aws' }],
      value: { text: 5, key: '[redacted]' },
    });
    await store.close();
  });

  test('what is too large to be searched is not kept, the record says so, and the call is made', async () => {
    const { store, bytesOf } = await open();
    const guarded = await recording(store, { arguments: true, result: true });
    const text = `${SECRETS.aws} ${'x'.repeat(2 * 1024 * 1024)}`;
    expect((await guarded.call('echo', { text })).result.content[0].text).toContain(SECRETS.aws);
    const [intent, outcome] = await ended(guarded);
    const uncommitted = 'RECORD_REDACTION_TOO_LARGE';
    expect(readEvidence(intent)!.redacted).toEqual({ args: { uncommitted } });
    expect(readEvidence(outcome)!.redacted).toEqual({ args: { uncommitted }, result: { uncommitted } });
    expect(resultOf(outcome)).toEqual({ commitment: expect.any(String), of: 'jcs' });
    const { salt } = (await opened(store, intent, 'args'))!;
    expect(opens(readEvidence(intent)!.args as never, 'args', { text }, salt)).toBe(true);
    expect((await bytesOf?.())?.includes(SECRETS.aws)).not.toBe(true);
    await store.close();
  });
}
