import { join } from 'node:path';
import { formatVkey, noteVerifier } from '@bulla/core/crypto';
import { parsePolicy, readAnchor } from '@bulla/core/log';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { input, key, sealer } from '../../test/store-suite.ts';
import { runWitness } from '../../test/witness-server.ts';
import { storeSource, verifyChain } from '../chain/index.ts';
import { openStore } from '../store/index.ts';
import { createSubmit, type SubmitOutcome } from './index.ts';

const ORIGIN = 'op.example/-/c';
const vkey = formatVkey(noteVerifier(ORIGIN, key));
const policyOf = (name: string, witness: { vkey: string; url: string }) =>
  parsePolicy(Buffer.from(`witness ${name} ${witness.vkey} ${witness.url}\nquorum ${name}\n`));

/** A chain of real records that shows its checkpoints to one witness. */
async function chainFor(witness: { vkey: string; url: string }, word: string) {
  const outcomes: SubmitOutcome[] = [];
  const policy = policyOf('w', witness);
  const store = await openStore({
    url: join(temporaryFolder(), 's.db'),
    create: true,
    sealer,
    operator: 'op.example',
    submit: createSubmit(policy, { onOutcome: (outcome) => outcomes.push(outcome) }),
  });
  const chain = store.chain('c');
  const grow = async (count: number) => {
    await Promise.all(Array.from({ length: count }, (_, i) => chain.append(input(`${word} ${i}`))));
    return (await chain.checkpoint()).note;
  };
  return { chain, policy, outcomes, grow, close: () => store.close() };
}

test('checkpoints of a chain are cosigned as it grows, and its records are anchored', async () => {
  const witness = await runWitness([vkey]);
  const { chain, policy, outcomes, grow, close } = await chainFor(witness, 'n');
  await grow(300);
  const note = await grow(5);
  expect(outcomes.map(({ size, quorum }) => [size, quorum]).at(-1)).toEqual([305, true]);
  const anchors = [readAnchor(note, { keys: [key], policy })];
  const report = await verifyChain(await storeSource(chain), { keys: [key], anchors: { anchors } });
  expect(report.anchors!.ranges.map(({ from, to, kind }) => [from, to, kind])).toEqual([
    [0, 305, 'anchored'],
  ]);
  expect((await chain.checkpoints(1))[0]!.note).toBe(note);
  await close();
});

test('a split view: each witness cosigns what it is shown first, refuses the other, and who has both sees it', async () => {
  const [w1, w2] = [await runWitness([vkey]), await runWitness([vkey])];
  const [one, other] = [await chainFor(w1, 'for the first'), await chainFor(w2, 'for the second')];
  const [a, b] = [await one.grow(8), await other.grow(8)];
  const trust = (policy: typeof one.policy) => ({ keys: [key], policy });
  const anchors = [readAnchor(a, trust(one.policy)), readAnchor(b, trust(other.policy))];
  expect(anchors.map(({ witnessed }) => witnessed)).toEqual([true, true]);

  const report = await verifyChain(await storeSource(one.chain), { keys: [key], anchors: { anchors } });
  expect(report.failures.map(({ code }) => code)).toEqual(['split_view', 'rewritten']);
  expect(report.failures[0]!.error).toMatch(/^The log signed two different trees of 8 records: /);

  let told: SubmitOutcome | undefined;
  const submit = createSubmit(policyOf('w', w1), { onOutcome: (outcome) => (told = outcome) });
  await submit({ note: b, size: 8, consistency: async () => [] });
  expect(told!.alarms.map((alarm) => !alarm.ok && alarm.code)).toEqual(['WITNESS_INCONSISTENT']);
  expect(w1.evidence).toEqual(['split-view']);
  await Promise.all([one.close(), other.close()]);
});
