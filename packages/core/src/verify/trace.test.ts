import { expect, test } from 'vitest';
import { key, signer } from '../../test/artifacts.ts';
import { type CapsuleInput, createCapsule, sealSync } from '../capsule/index.ts';
import { toUtf8 } from '../crypto/index.ts';
import { type Evidence, environmentOf } from '../evidence/index.ts';
import { recognise, type Trust, trace } from './index.ts';

const NOW = new Date('2026-03-01T00:00:00Z');
const trust: Trust = { keys: [key], pqKeys: [], facts: [], revoked: [], vkeys: [] };
const idOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;

/** A chain of capsules, as lines; the id of each is its place. */
function chainOf(...records: (CapsuleInput & { readonly evidence?: Evidence })[]): string {
  let previous: string | null = null;
  return records
    .map(({ evidence = {}, ...content }, sequence) => {
      const context = { agent_id: 'bot', environment: environmentOf(evidence) };
      const input = { ...content, context, sequence, previous_hash: previous };
      const { text, sealed } = sealSync(createCapsule(input, { id: idOf(sequence), now: NOW }), signer, {
        signedAt: NOW,
      });
      previous = sealed.hash;
      return `${text}\n`;
    })
    .join('');
}

const call = { type: 'tool', domain: 'agents', trigger: { type: 'agent', request: 'pay' } } as const;
const pending = { ...call, outcome: { status: 'pending' } } as const;
const ended = (status: 'success' | 'failure', n = 0) => ({
  ...{
    ...call,
    parent_id: idOf(n),
    outcome: { status, error: status === 'failure' ? 'action: Error' : null },
  },
  evidence: { intent: idOf(n) },
});
const denied = {
  ...call,
  parent_id: idOf(0),
  outcome: { status: 'blocked', error: 'arguments: VALUE_NOT_JSON' },
} as const;

async function told(start: number, ...files: string[]) {
  const artifacts = files.map((file, i) => recognise(toUtf8(file), { name: `f${i}` }));
  const { steps } = await trace(idOf(start), artifacts, trust);
  return Object.fromEntries(steps.map(({ step, basis, says }) => [step, `${basis}: ${says}`]));
}

test('a denial inside of a call is not its outcome', async () => {
  const good = await told(0, chainOf(pending, denied, ended('success')));
  expect(good.outcome).toBe('verified: It ended as success.');
  const crashed = await told(0, chainOf(pending, denied));
  expect(crashed.outcome).toMatch(/^absent: No outcome of it is among the files/);
  expect((await told(1, chainOf(pending, denied))).record).toBe(
    'verified: bot was denied: pay (arguments: VALUE_NOT_JSON).',
  );
});

test('two outcomes of one call contradict each other', async () => {
  const chain = chainOf(pending, ended('failure'), ended('success'));
  expect((await told(0, chain)).outcome).toBe(
    'failed: It ended as failure (action: Error). But it has 2 outcomes.',
  );
  expect((await told(2, chain)).outcome).toBe('failed: It ended as success. But it has 2 outcomes.');
});

test('escapes hide no record', async () => {
  const chain = chainOf(pending, ended('success'));
  const hidden = chain.replaceAll('"parent_id":"00000000-', '"parent_id":"00000000\\u002d');
  expect(hidden).not.toBe(chain);
  expect((await told(0, hidden)).outcome).toBe('verified: It ended as success.');
});

test('without a chain, nothing shows what stands around a record; a forged copy is told of', async () => {
  const [intent, outcome] = chainOf(pending, ended('success')).split('\n') as [string, string];
  const alone = await told(0, intent, outcome);
  expect(alone.chain).toMatch(/^absent: No chain that holds it/);
  const forged = outcome.replace('"status":"success"', '"status":"failure"');
  const beside = await told(0, chainOf(pending, ended('success')), forged);
  expect([beside.outcome, beside.records]).toEqual([
    'verified: It ended as success.',
    expect.stringMatching(/^failed: Other records at hand are bad: f1: /),
  ]);
});

test('what only an unverified record names is inferred', async () => {
  const lock = {
    evidence: {
      manifest: {
        agent_id: 'bot',
        bindings: '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
      },
    },
  };
  const chain = chainOf({ ...pending, ...lock }, ended('success'));
  expect((await told(0, chain)).binding).toBe('verified: No declared tool is bound to a server.');
  const tampered = chain.replace('"agent_id":"bot","environment"', '"agent_id":"ceo","environment"');
  const found = await told(0, tampered);
  expect([found.record!.split(':')[0], found.binding!.split(':')[0]]).toEqual(['failed', 'inferred']);
});
