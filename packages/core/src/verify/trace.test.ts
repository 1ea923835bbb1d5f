import { describe, expect, test } from 'vitest';
import { key, signer } from '../../test/artifacts.ts';
import { type CapsuleInput, createCapsule, sealSync } from '../capsule/index.ts';
import { keyId, localSigner, publicKey, toUtf8 } from '../crypto/index.ts';
import { type Evidence, environmentOf } from '../evidence/index.ts';
import { recognise, type Trust, trace } from './index.ts';

const NOW = new Date('2026-03-01T00:00:00Z');
const trust: Trust = { keys: [key], pqKeys: [], facts: [], revoked: [], vkeys: [] };
const idOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;

/** A chain of capsules, as lines; the id of each is its place. */
function chainOf(...records: Recorded[]): string {
  return chainBy(signer, ...records);
}

type Recorded = CapsuleInput & { readonly evidence?: Evidence; readonly agent?: string };

function chainBy(sealer: typeof signer, ...records: Recorded[]): string {
  let previous: string | null = null;
  return records
    .map(({ evidence = {}, agent = 'bot', ...content }, sequence) => {
      const context = { agent_id: agent, environment: environmentOf(evidence) };
      const input = { ...content, context, sequence, previous_hash: previous };
      const { text, sealed } = sealSync(createCapsule(input, { id: idOf(sequence), now: NOW }), sealer, {
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

async function told(start: number, ...files: (string | Partial<Trust>)[]) {
  const texts = files.filter((file) => typeof file === 'string');
  const more = files.filter((file) => typeof file !== 'string');
  const artifacts = texts.map((file, i) => recognise(toUtf8(file), { name: `f${i}` }));
  const { steps } = await trace(idOf(start), artifacts, Object.assign({ ...trust }, ...more));
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

describe('a call whose process ended', () => {
  const mark = {
    type: 'system',
    domain: 'admin',
    parent_id: idOf(0),
    evidence: { intent: idOf(0) },
    outcome: { status: 'failure', error: 'record: RECORD_ORPHANED' },
  } as const;
  const unknown =
    'absent: Its outcome is not known: the process ended before it was recorded, and the call may or may not have been made.';

  test('says so where it is marked, and that nobody marked it where it is not', async () => {
    const marked = chainOf(pending, mark);
    expect((await told(0, marked)).outcome).toBe(unknown);
    // From the mark the trace leads to the call.
    expect(await told(1, marked)).toMatchObject({
      record: 'verified: bot was about to do: pay.',
      outcome: unknown,
    });
    expect((await told(0, chainOf(pending))).outcome).toBe(
      'absent: No outcome of it is among the files, and nothing marks it as orphaned: it was left out, it still runs, or the process ended.',
    );
  });

  test('says that its outcome was allowed to be lazy', async () => {
    const lazy = { ...pending, evidence: { outcome: 'lazy' } };
    const allowed =
      ' Its outcome was allowed to be lazy: the agent may have had the answer before it was recorded.';
    expect((await told(0, chainOf(lazy, mark))).outcome).toBe(`${unknown}${allowed}`);
    expect((await told(0, chainOf(lazy))).outcome).toMatch(/nothing marks it .* was allowed to be lazy/);
  });

  test('may have an outcome that came later and names the mark; any other contradicts the mark', async () => {
    const late = { ...ended('success'), evidence: { intent: idOf(0), late: idOf(1) } };
    expect((await told(0, chainOf(pending, mark, late))).outcome).toBe(
      'verified: It ended as success. That was recorded after the call had been marked as orphaned.',
    );
    expect((await told(0, chainOf(pending, mark, ended('success')))).outcome).toBe(
      'failed: It ended as success. But it does not name the record that marks the call as orphaned.',
    );
  });

  test('of another agent is not what a mark is about', async () => {
    expect((await told(0, chainOf(pending, { ...mark, agent: 'other' }))).outcome).toBe(
      `${unknown.replace('absent', 'failed')} But it names another agent.`,
    );
  });
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

describe('records of other keys and files', () => {
  const thief = localSigner('Ed25519', new Uint8Array(32).fill(5));
  const thiefKey = publicKey('Ed25519', thief.publicKey);
  const chain = chainOf(pending, ended('failure'));
  const forged = chainBy(thief, pending, ended('success')).split('\n')[1]!;

  test('an outcome counts only in the chain of its intent', async () => {
    const both = { keys: [key, thiefKey] };
    for (const file of [forged, `[${forged}]`])
      expect((await told(0, file, chain, both)).outcome).toBe(
        'failed: It ended as failure (action: Error). But it has 2 outcomes.',
      );
    const cut = chain.split('\n')[0]!;
    expect((await told(0, `${cut}\n${cut}\n`, forged, both)).outcome).toBe(
      'absent: It ended as success. That record is not in the chain.',
    );
  });

  test('what a revoked key signed counts nowhere but in a chain that witnesses saw', async () => {
    const revoked = { keys: [key, thiefKey], revoked: [{ key: keyId(thiefKey), at: 0 }] };
    const cut = `[${forged}`;
    const found = await told(0, cut, chain, revoked);
    expect([found.outcome, found.records]).toEqual([
      'verified: It ended as failure (action: Error).',
      expect.stringMatching(/^failed: Other records at hand are bad: f0: /),
    ]);
    const alone = await told(0, chain.split('\n')[0]!, cut, revoked);
    expect(alone.outcome).toMatch(/^absent: No outcome of it/);
    expect((await told(0, `${chain}${forged.replace(idOf(1), idOf(2))}`, revoked)).chain).toMatch(/^failed/);
  });

  test('what a stranger signed contradicts nothing, and is told of', async () => {
    const found = await told(0, chain, forged);
    expect([found.outcome, found.records]).toEqual([
      'verified: It ended as failure (action: Error).',
      'absent: Other records speak of the call, and their signatures cannot be checked: f1.',
    ]);
  });

  test('the longest chain counts, and what is cut off elsewhere changes nothing', async () => {
    const cut = `${chain.split('\n')[0]}\n`;
    const longer = chainOf(pending, ended('failure'), { type: 'system' });
    for (const files of [
      [cut, chain, longer],
      [longer, chain, cut],
    ]) {
      const found = await told(0, ...files);
      expect([found.outcome, found.chain!.slice(0, 45), found.records]).toEqual([
        'verified: It ended as failure (action: Error).',
        'verified: The chain that holds it: 3 records,',
        undefined,
      ]);
    }
    // A longer file that is bad takes the place of none, and one whose last key is not known is no fork.
    const junk = `${chain.split('\n')[0]}\n`.repeat(9);
    expect((await told(0, junk, chain)).chain).toMatch(/^verified: The chain that holds it: 2 records/);
    const later = chainBy(thief, pending, ended('failure'), { type: 'system' }).split('\n')[2]!;
    const rotated = `${longer.split('\n').slice(0, 2).join('\n')}\n${later}\n`;
    expect((await told(0, chain, rotated)).chain).not.toContain('differs from another chain');
    const fork = chainOf(pending, { type: 'system' }, { type: 'system' });
    expect((await told(0, longer, fork)).chain).toMatch(
      /^failed: .* But it differs from another chain with this record, f1\.$/,
    );
  });

  test('two records of one id contradict each other', async () => {
    const other = chainOf({ ...pending, agent: 'ceo' }, ended('success'));
    expect((await told(0, chain, other)).record).toBe(
      'failed: bot was about to do: pay. But it is not the only record of this id.',
    );
  });

  test('a record with numbers that no capsule can hold is told of, and breaks nothing', async () => {
    const odd = forged.replace('"duration_ms":0', '"duration_ms":1e999');
    expect(odd).not.toBe(forged);
    expect((await told(0, chain, odd)).outcome).toBe('verified: It ended as failure (action: Error).');
  });

  test('evidence is read by its own members, and texts of records are quoted only where they are texts', async () => {
    const evil = chain.replace('"intent":', '"constructor":{"arguments":{}},"intent":');
    expect((await told(0, evil)).outcome).toMatch(/^absent: No outcome/);
    const consent = { id: 'c', asked: idOf(0), answered: idOf(1) };
    const odd = { toString: 1, valueOf: 1 };
    const asked: Recorded = {
      ...{ type: 'auth', evidence: { consent: { id: 'c' }, facts: { asked: odd } } },
      outcome: { status: 'pending' },
    };
    const answered: Recorded = {
      ...{ type: 'auth', parent_id: idOf(0) },
      evidence: { consent: { id: 'c', asked: idOf(0) }, facts: { answer: { who: odd, choice: odd } } },
      outcome: { status: 'success' },
    };
    const found = await told(2, chainOf(asked, answered, { ...pending, evidence: { consent } }));
    expect(found.question).toMatch(/^failed: Somebody was asked\. But it was about another tool\./);
    expect(found.answer).toMatch(/^failed: Somebody answered: Somebody, over unknown\. But it did not allow/);
  });
});

describe('what a call rests on contradicts it', () => {
  const tool = { server: 'files', name: 'read', locked: 'sha256:11', declared: 'sha256:22' };
  const args = { commitment: 'aa', of: 'jcs' } as const;
  const about = { lock: 'sha256:33', tool, args };
  const asked = (evidence: Evidence = {}): Recorded => ({
    type: 'auth',
    evidence: { ...about, consent: { id: 'c' }, facts: { asked: 'alice', user: 'alice' }, ...evidence },
    outcome: { status: 'pending' },
  });
  const answered = (choice = 'allow-once', who = 'alice', question = 0): Recorded => ({
    ...{ type: 'auth', parent_id: idOf(question) },
    evidence: { ...about, consent: { id: 'c', asked: idOf(question) }, facts: { answer: { choice, who } } },
    authority: { type: 'human_approved', approver: who, chain: [{ step: 'consent', channel: 'passkey' }] },
    outcome: { status: 'success' },
  });
  const begun = (question = 0, answer = 1): Recorded => ({
    ...pending,
    evidence: { ...about, consent: { id: 'c', asked: idOf(question), answered: idOf(answer) } },
  });
  const ending = (n: number, evidence: Evidence = {}, agent = 'bot'): Recorded => ({
    ...ended('success', n),
    evidence: { ...about, intent: idOf(n), ...evidence },
    agent,
  });
  const QUESTION = 'verified: alice was asked.';
  const ANSWER = 'verified: alice answered: allow-once, over passkey.';

  test.each<[string, Recorded[], number, Record<string, unknown>]>([
    ['nothing', [asked(), answered(), begun(), ending(2)], 2, { question: QUESTION, answer: ANSWER }],
    [
      'somebody else is asked in the place of the first',
      [
        asked(),
        {
          ...{ type: 'auth', trigger: { type: 'user_request', request: 'consent escalate' } },
          evidence: { consent: { id: 'c', asked: idOf(0) }, facts: { to: 'bob' } },
        },
        answered('allow-once', 'bob'),
        begun(0, 2),
        ending(3),
      ],
      3,
      { answer: 'verified: bob answered: allow-once, over passkey.' },
    ],
    [
      'the answer is a denial',
      [asked(), answered('deny-once'), begun()],
      2,
      { answer: 'failed: alice answered: deny-once, over passkey. But it did not allow the call.' },
    ],
    [
      'another person answered',
      [asked(), answered('allow-once', 'mallory'), begun()],
      2,
      {
        answer:
          'failed: mallory answered: allow-once, over passkey. But it was given by somebody who was not asked.',
      },
    ],
    [
      'the question was about another tool',
      [asked({ tool: { ...tool, name: 'write' } }), answered(), begun()],
      2,
      { question: 'failed: alice was asked. But it was about another tool.' },
    ],
    [
      'the question was about other arguments',
      [asked({ args: { ...args, commitment: 'bb' } }), answered(), begun()],
      2,
      { question: 'failed: alice was asked. But it was about other arguments.' },
    ],
    [
      'the people were asked after the call began',
      [begun(1, 2), asked(), answered('allow-once', 'alice', 1)],
      0,
      {
        question: 'failed: alice was asked. But it was sealed after the call began.',
        answer: 'failed: alice answered: allow-once, over passkey. But it was sealed after the call began.',
      },
    ],
    [
      'an answer asks somebody else by itself',
      [
        asked(),
        {
          ...answered('allow-once', 'mallory'),
          evidence: {
            ...about,
            ...{ consent: { id: 'c', asked: idOf(0) } },
            facts: { to: 'mallory', answer: { choice: 'allow-once', who: 'mallory' } },
          },
        },
        begun(),
      ],
      2,
      { answer: expect.stringMatching(/But it was given by somebody who was not asked\.$/) },
    ],
    [
      'a second answer follows a denial',
      [asked(), answered('deny-once'), answered(), begun(0, 2)],
      3,
      { answer: `failed${ANSWER.slice('verified'.length)} But it is not the only answer.` },
    ],
    [
      'a call was begun and names no answer',
      [asked(), { ...pending, evidence: { ...about, consent: { id: 'c', asked: idOf(0) } } }],
      1,
      { answer: 'failed: The call was begun without an answer.' },
    ],
    [
      'the answer was blocked',
      [asked(), { ...answered(), outcome: { status: 'blocked', error: 'consent: denied' } }, begun()],
      2,
      { answer: `failed${ANSWER.slice('verified'.length)} But it did not allow the call.` },
    ],
    [
      'the approver is not who answered',
      [
        asked(),
        {
          ...answered(),
          authority: {
            type: 'human_approved',
            approver: 'bob',
            chain: [{ step: 'consent', channel: 'passkey' }],
          },
        },
        begun(),
      ],
      2,
      { answer: `self-reported${ANSWER.slice('verified'.length)}` },
    ],
    [
      'another call rests on the same consent',
      [asked(), answered(), begun(), begun()],
      2,
      { consent: 'failed: Somebody was asked for this call. But it is what another call rests on too.' },
    ],
    [
      'the outcome names another tool',
      [asked(), answered(), begun(), ending(2, { tool: { ...tool, name: 'write' } })],
      2,
      { outcome: 'failed: It ended as success. But it names another tool than the intent.' },
    ],
    [
      'the outcome names another agent',
      [asked(), answered(), begun(), ending(2, {}, 'ceo')],
      2,
      { outcome: 'failed: It ended as success. But it names another agent.' },
    ],
  ])('%s', async (_, records, start, steps) => {
    expect(await told(start, chainOf(...records))).toMatchObject(steps);
  });
});

test('a denied replay of an envelope is not taken for another use of it', async () => {
  const envelope = { exec_hash: '0xab', profile: 'envelope-v1', audience: 'bank' };
  const first = { ...pending, evidence: { envelope } };
  const replay = { ...denied, parent_id: null, evidence: { envelope } };
  const chain = chainOf(first, { ...ended('success'), evidence: { envelope, intent: idOf(0) } }, replay);
  expect((await told(2, chain)).envelope).toBe('absent: The envelope of the action: not at hand.');
  const twice = chainOf(first, first);
  expect((await told(0, twice)).envelope).toMatch(/^failed: .* But it was executed by another call too\.$/);
});
