import { verifyEnvelope } from '@bulla/core/capability';
import { readEvidence } from '@bulla/core/evidence';
import { expect, test } from 'vitest';
import {
  type Guarded,
  initialize,
  openTestStore,
  records,
  type Sealed,
  startRogue,
} from '../../test/guard.ts';
import { temporaryFolder } from '../../test/run.ts';
import { createRegistry } from '../capability/index.ts';

async function calls(guarded: Guarded): Promise<Sealed[]> {
  await guarded.end();
  return (await records(guarded.store)).filter(({ type }) => type === 'tool');
}
const evidence = (all: readonly Sealed[]) => all.map((capsule) => readEvidence(capsule)!);

test('calls name what the host was shown, and the store has the envelope of it', async () => {
  const guarded = await startRogue('ordinary');
  await initialize(guarded);
  await guarded.call('echo', { text: 'before' });
  await guarded.ask('tools/list');
  await guarded.call('echo', { text: 'after' });
  await guarded.ask('tools/list');
  await guarded.call('add', { a: 'wrong' });
  const all = await calls(guarded);
  const [before, , intent, outcome, denied] = evidence(all);
  expect(before!.capability).toBe(undefined);
  expect(before!.tool!.fingerprint).toBe(undefined);
  const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
  const { capability } = intent!;
  expect(capability).toEqual({ static: hash, runtime: hash, link: hash, envelope: hash });
  expect([outcome!.capability, denied!.capability]).toEqual([capability, capability]);

  const registry = createRegistry(guarded.store);
  const { envelope } = (await registry.envelope(capability!.envelope!))!;
  const verdict = verifyEnvelope(envelope);
  expect([verdict.failures, verdict.unchecked]).toEqual([[], []]);
  const { link, affordances } = envelope.runtime;
  expect([link.staticHash, link.runtimeHash, link.agentId, link.agentName]).toEqual([
    ...[capability!.static, capability!.runtime, 'bot', 'rogue'],
  ]);
  expect(Object.values(affordances.tools).map(({ name, description }) => [name, description])).toEqual([
    ['add', 'Adds two numbers.'],
    ['echo', 'Gives back a text.'],
  ]);
  // The hash of the tool in that link, which covers its whole definition as it is locked.
  const shown = new Map(link.toolRefs.map(({ toolKey, toolHash }) => [toolKey, toolHash]));
  expect(intent!.tool!.fingerprint).toBe(shown.get('echo'));
  expect(denied!.tool!.fingerprint).toBe(shown.get('add'));
  expect(affordances.tools.echo!.runtimeBinding).toBe(`mcp-lock:${intent!.tool!.locked}`);
});

test('what was hidden from the host is not in it; in the mode that only watches, all of it is', async () => {
  const named = async (mode: 'enforce' | 'audit') => {
    const guarded = await startRogue('adds-a-tool', { mode });
    await initialize(guarded);
    await guarded.call('echo', { text: 'x' });
    await guarded.ask('tools/list');
    await guarded.call('echo', { text: 'x' });
    const intent = evidence(await calls(guarded)).at(-1);
    const { envelope } = (await createRegistry(guarded.store).envelope(intent!.capability!.envelope!))!;
    return Object.keys(envelope.runtime.affordances.tools);
  };
  expect(await named('enforce')).toEqual(['add', 'echo']);
  expect(await named('audit')).toEqual(['add', 'echo', 'evil']);
});

test('two sessions with the same server and agent are shown the same', async () => {
  const store = await openTestStore(temporaryFolder());
  for (let i = 0; i < 2; i++) {
    const guarded = await startRogue('ordinary', { store });
    await initialize(guarded);
    await guarded.ask('tools/list');
    await guarded.call('echo', { text: 'x' });
    await guarded.end();
  }
  const all = evidence((await records(store)).filter(({ type }) => type === 'tool'));
  expect(new Set(all.map(({ capability }) => JSON.stringify(capability))).size).toBe(1);
});
