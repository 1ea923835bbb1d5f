import { describe, expect, test } from 'vitest';
import { sha256, toUtf8 } from '../crypto/index.ts';
import { type Anchor, createAnchorVerifier } from './anchor.ts';
import { Frontier } from './merkle.ts';

const leaf = (text: string) => sha256(toUtf8(text));
const leaves = (count: number, name = 'r') => Array.from({ length: count }, (_, i) => leaf(`${name}${i}`));

function anchor(covered: readonly Uint8Array[], more: Partial<Anchor> & { origin?: string } = {}): Anchor {
  const { origin = 'log.example/a', ...rest } = more;
  const tree = new Frontier();
  for (const one of covered) tree.push(one);
  const checkpoint = { origin, size: covered.length, root: tree.root(), extensions: [] };
  return { checkpoint, witnesses: [], witnessed: false, witnessedBefore: () => false, ...rest };
}

function check(chain: readonly Uint8Array[], anchors: readonly Anchor[], origin?: string, first?: number) {
  const verifier = createAnchorVerifier(anchors, origin);
  for (const one of chain) verifier.push(one);
  const { ranges, failures } = verifier.finish(first);
  return { ranges, failures };
}

const witnesses = [{ name: 'w1', time: 1_700_000_000 }];

describe('a chain that is what its checkpoints say', () => {
  test('is told in three parts: witnessed, signed by the log alone, and covered by nothing', () => {
    const chain = leaves(10);
    const anchors = [
      anchor(chain.slice(0, 8)),
      anchor(chain.slice(0, 5), { witnessed: true, witnesses }),
      anchor(chain.slice(0, 3), { witnessed: true, witnesses }),
    ];
    expect(check(chain, anchors)).toEqual({
      ranges: [
        { from: 0, to: 3, kind: 'anchored', witnesses },
        { from: 3, to: 5, kind: 'anchored', witnesses },
        { from: 5, to: 8, kind: 'local', witnesses: [] },
        { from: 8, to: 10, kind: 'unanchored', witnesses: [] },
      ],
      failures: [],
    });
  });

  test('has one part without checkpoints, and none without records', () => {
    expect(check(leaves(2), []).ranges).toEqual([{ from: 0, to: 2, kind: 'unanchored', witnesses: [] }]);
    expect(check([], [anchor([])])).toEqual({ ranges: [], failures: [] });
  });

  test('may go on under its name with a number, after a recovery', () => {
    const chain = leaves(4);
    const anchors = ['log.example/a', 'log.example/a~2', 'log.example/a~17'].map((origin) =>
      anchor(chain, { origin }),
    );
    expect(check(chain, anchors, 'log.example/a').failures).toEqual([]);
  });
});

describe('told, with the first record', () => {
  test('the end was cut off', () => {
    const chain = leaves(50);
    expect(check(chain.slice(0, 40), [anchor(chain)]).failures).toEqual([
      {
        code: 'truncated',
        index: 40,
        error: 'A checkpoint covers 50 records, and the chain has 40: records 40 to 49 are missing.',
      },
    ]);
    expect(check(chain.slice(0, 49), [anchor(chain)]).failures[0]!.error).toBe(
      'A checkpoint covers 50 records, and the chain has 49: record 49 is missing.',
    );
  });

  test('the tail was replaced; a checkpoint that still fits narrows it down', () => {
    const chain = leaves(50);
    const forged = [...chain.slice(0, 37), ...leaves(20, 'forged')];
    expect(check(forged, [anchor(chain)])).toEqual({
      ranges: [{ from: 0, to: 57, kind: 'unanchored', witnesses: [] }],
      failures: [
        {
          code: 'rewritten',
          index: 0,
          error:
            'The first 50 records are not those that a checkpoint covers: the first that differs is one of records 0 to 49.',
        },
      ],
    });
    expect(check(forged, [anchor(chain), anchor(chain.slice(0, 30))]).failures).toEqual([
      expect.objectContaining({ code: 'rewritten', index: 30 }),
    ]);
    expect(check(forged, [anchor(chain)], undefined, 37).failures).toEqual([
      {
        code: 'rewritten',
        index: 37,
        error:
          'The first 50 records are not those that a checkpoint covers: record 37 is the first that differs.',
      },
    ]);
  });

  test('a record without a leaf is in no tree', () => {
    const chain = leaves(3);
    const verifier = createAnchorVerifier([anchor(chain)]);
    for (const one of [chain[0]!, null, chain[2]!]) verifier.push(one);
    expect(verifier.finish().failures).toEqual([expect.objectContaining({ code: 'rewritten' })]);
  });

  test('two trees of one size were signed', () => {
    const chain = leaves(6);
    const { failures } = check(chain, [anchor(chain), anchor(leaves(6, 'other'))]);
    expect(failures.map(({ code }) => code)).toEqual(['split_view', 'rewritten']);
    expect(failures[0]!.error).toMatch(
      /^The log signed two different trees of 6 records: [0-9a-f]{16}… and [0-9a-f]{16}….$/,
    );
  });

  test('a checkpoint of another log is not used', () => {
    const chain = leaves(4);
    for (const origin of ['log.example/b', 'log.example/a~', 'log.example/a~0', 'log.example/a~2x']) {
      expect(check(chain, [anchor(chain, { origin })], 'log.example/a')).toEqual({
        ranges: [{ from: 0, to: 4, kind: 'unanchored', witnesses: [] }],
        failures: [
          {
            code: 'foreign_checkpoint',
            index: null,
            error: `A checkpoint is of the log ${origin}, but the chain's is log.example/a.`,
          },
        ],
      });
    }
  });
});
