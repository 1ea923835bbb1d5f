import { expect, inject, test } from 'vitest';
import {
  added,
  caller,
  channel,
  DAY,
  LOCATE,
  manifest,
  NOTIFY,
  READ,
  Relation,
  SECOND,
  START,
  tool,
} from '../../test/consent.ts';
import {
  ALLOWED_BY,
  applyChanges,
  type Channel,
  decide,
  type Prompt,
  rowsOf,
  type Step,
  stateOf,
} from './index.ts';

// Every path to "allowed", by name; and a search that finds no other.

const PATHS: Readonly<Record<(typeof ALLOWED_BY)[number], (relation: Relation) => Step>> = {
  'low-silent': (relation) => relation.call(NOTIFY),
  'medium-allowed-once': (relation) => relation.answer(relation.call(READ).prompt!, 'allow-once'),
  'medium-session': (relation) => relation.answer(relation.call(READ).prompt!, 'allow-session'),
  'medium-window': (relation) => {
    relation.answer(relation.call(READ).prompt!, 'allow-session');
    return relation.call(READ);
  },
  'high-allowed-once': (relation) => relation.answer(relation.call(LOCATE).prompt!, 'allow-once'),
};

test.each(ALLOWED_BY)('%s is a path to allowed', (by) => {
  const { decisions } = PATHS[by](added());
  expect(decisions.map((decision) => [decision.stage, decision.by])).toEqual([['allowed', by]]);
});

/** One thing that may happen, told by a name; null where it makes no sense. */
type Move = readonly [name: string, (relation: Relation) => Step | null];

const onOpen =
  (kind: Prompt['kind'], act: (relation: Relation, prompt: Prompt) => Step) => (relation: Relation) => {
    const prompt = [...relation.state.rows.prompts.values()].find((open) => open.kind === kind);
    return prompt === undefined ? null : act(relation, prompt);
  };

const CHANNELS: readonly Channel[] = (
  ['passkey', 'pin', 'os-user', 'device', 'terminal', 'host'] as const
).map(channel);

const MOVES: readonly Move[] = [
  ...[NOTIFY, READ, LOCATE].map(
    (called): Move => [`call ${called.name}`, (relation) => relation.call(called)],
  ),
  ['call read_file raised', (relation) => relation.call(READ, { raises: [{ to: 'high', why: 'risk' }] })],
  [
    'call read_file elsewhere',
    (relation) => relation.call(READ, { identity: { ...caller, session: 'process:p2' } }),
  ],
  [
    'call in a group',
    (relation) => relation.call(NOTIFY, { identity: { ...caller, conversation: 'group' } }),
  ],
  ...CHANNELS.flatMap((over) =>
    (['allow-once', 'allow-session', 'never'] as const).map(
      (choice): Move => [
        `${choice} over ${over.kind}`,
        onOpen('call', (relation, prompt) => relation.answer(prompt, choice, over)),
      ],
    ),
  ),
  [
    'request filesystem:read',
    (relation) => {
      const [id, at] = [relation.id(), relation.at];
      return relation.run({ type: 'request', id, at, identity: caller, scope: 'filesystem:read' });
    },
  ],
  [
    'grant the request',
    onOpen('grant', (relation, prompt) =>
      relation.run({ ...relation.answering(prompt, 'grant'), disclosure: relation.disclose() }),
    ),
  ],
  ['grant everything', (relation) => relation.grant()],
  ['revoke filesystem:read', (relation) => relation.revoke('filesystem:read')],
  ['redefine read_file', (relation) => redefine(relation, false)],
  ['break', (relation) => redefine(relation, true)],
  ['restart', (relation) => relation.run({ type: 'restart', at: relation.at })],
  ['30 seconds', (relation) => wait(relation, 30 * SECOND)],
  ['24 hours', (relation) => wait(relation, DAY)],
];

function redefine(relation: Relation, breaking: boolean): Step {
  const { version } = [...relation.state.rows.manifests.values()][0]!;
  const anew = tool('read_file', 'filesystem:read', 'medium', breaking ? 1 : 2);
  return relation.declare(manifest(version + 1, [NOTIFY, anew, LOCATE]), breaking);
}

function wait(relation: Relation, ms: number): Step {
  relation.at += ms;
  return relation.sweep();
}

/** A relation that goes on from a state of another, without touching it. */
function from(before: Relation): Relation {
  const relation = new Relation(before.rules, false);
  relation.at = before.at;
  relation.state = before.state;
  const taken = before.id();
  while (relation.id() !== taken);
  return relation;
}

/** What a later decision can rest on, without the names of ids and digests, and times only from now. */
function fingerprint({ state, at }: Relation): string {
  const { manifests, grants, silences, prompts } = rowsOf(state);
  const names = new Map<string, number>();
  return JSON.stringify({ manifests, grants, silences, prompts }, (key, value: unknown) => {
    if (key === 'rev' || key === 'at' || key === 'previous' || key === 'channel') return 0;
    if (typeof value === 'number' && value >= START) return value - at;
    if (typeof value !== 'string' || !/^(?:grant-)?id-\d+$|^[0-9a-f]{64}$/.test(value)) return value;
    names.set(value, names.get(value) ?? names.size);
    return names.get(value);
  });
}

/** A hundred times as long runs look one move further. */
const DEPTH = inject('soak') > 1 ? 7 : 5;

test(`no sequence of ${DEPTH} moves reaches allowed by another path`, { timeout: 300_000 }, () => {
  const found = new Map<string, Set<string>>();
  const seen = new Set<string>();
  const begin = new Relation({}, false);
  begin.declare();
  const granted = from(begin);
  granted.grant();
  let level = [begin, granted];
  for (let depth = 0; depth < DEPTH; depth++) {
    const next: Relation[] = [];
    for (const before of level) {
      for (const [name, move] of MOVES) {
        const after = from(before);
        const step = move(after);
        if (step === null) continue;
        for (const decision of step.decisions) {
          if (decision.stage !== 'allowed') expect(decision.by).toBe(null);
          else found.set(decision.by!, (found.get(decision.by!) ?? new Set()).add(name));
        }
        const print = fingerprint(after);
        if (seen.has(print)) continue;
        seen.add(print);
        next.push(after);
      }
    }
    level = next;
  }
  const sorted = Object.fromEntries([...found].map(([by, names]) => [by, [...names].toSorted()]));
  const all = CHANNELS.map(({ kind }) => kind).toSorted();
  expect(sorted).toEqual({
    'low-silent': ['call notify'],
    'medium-allowed-once': all.map((kind) => `allow-once over ${kind}`),
    'medium-session': all.map((kind) => `allow-session over ${kind}`),
    'medium-window': ['call read_file', 'call read_file elsewhere'],
    'high-allowed-once': ['os-user', 'passkey', 'pin'].map((kind) => `allow-once over ${kind}`),
  });
  expect(seen.size).toBeGreaterThan(1000);
});

test('an allowed call starts once, and not twice even from one state', () => {
  const relation = added();
  const { id, declared, args } = relation.call(NOTIFY).decisions[0]!;
  const event = {
    type: 'start' as const,
    at: relation.at,
    id,
    declared: declared!,
    locked: null,
    args: args!,
  };
  const [one, two] = [decide(relation.state, event), decide(relation.state, event)];
  expect([one.refusal, two.refusal]).toEqual([null, null]);
  const after = applyChanges(relation.state, one.changes);
  expect(() => applyChanges(after, two.changes)).toThrow(
    expect.objectContaining({ code: 'CONSENT_CONFLICT' }),
  );
  expect(decide(stateOf(rowsOf(after)), event).refusal!.code).toBe('CONSENT_SPENT');
});
