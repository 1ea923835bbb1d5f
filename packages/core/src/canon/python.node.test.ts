import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { parse } from '../json/index.ts';
import { canonicalize } from './index.ts';

const python = spawnSync('python3', ['--version']).status === 0;
if (!python) console.log('skipped: python3 is not here, so cps is not compared with its json module');

/** Python's own canonical form, which the capsule reference uses, of one JSON document a line. */
const SCRIPT = `
import json, sys
for line in sys.stdin:
    value = json.loads(line)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8") + b"\\n")
`;

const lexeme = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.bigInt({ min: 0n, max: 10n ** 30n }),
    fc.constantFrom('', '.0', '.5', '.000001', '.3000000000000004'),
    fc.constantFrom('', 'e0', 'E3', 'e-5', 'e15', 'e16', 'e-25', 'e+200'),
  )
  .map((parts) => parts.join(''));
const double = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .map((value) => (Object.is(value, -0) ? '-0.0' : String(value)));
const text = fc.string({ unit: 'binary', maxLength: 12 }).map((s) => JSON.stringify(s));
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    lexeme,
    double,
    text,
    fc.constantFrom('true', 'false', 'null'),
    tie('list'),
    tie('object'),
  ),
  list: fc
    .array(tie('tree') as fc.Arbitrary<string>, { maxLength: 5 })
    .map((items) => `[${items.join(',')}]`),
  object: fc
    .uniqueArray(fc.tuple(text, tie('tree') as fc.Arbitrary<string>), {
      selector: ([key]) => key,
      maxLength: 6,
    })
    .map((entries) => `{${entries.map(([key, value]) => `${key}:${value}`).join(',')}}`),
}));

test.skipIf(!python)('cps-python writes what Python writes, for thousands of random documents', () => {
  const documents = fc.sample(tree as fc.Arbitrary<string>, 4000 * inject('soak'));
  const run = spawnSync('python3', ['-c', SCRIPT], {
    input: documents.map((document) => `${document}\n`).join(''),
    encoding: 'utf8',
    env: { ...process.env, PYTHONIOENCODING: 'utf-8', PYTHONUTF8: '1' },
    maxBuffer: 1 << 28,
  });
  expect(run.stderr).toBe('');
  const lines = run.stdout.split('\n');
  for (let i = 0; i < documents.length; i++) {
    expect(canonicalize(parse(documents[i]!), 'cps-python', { nonFinite: true }), documents[i]!).toBe(
      lines[i],
    );
  }
});
