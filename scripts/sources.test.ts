import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const SOURCES = globSync('packages/*/src/**/*.ts', { cwd: root })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !file.endsWith('.test.ts'))
  .sort();

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** The calls of a file, each with the name of what is called. */
function calls(file: string): { name: string; call: Node }[] {
  const { program } = parseSync(file, readFileSync(join(root, file), 'utf8'));
  const found: { name: string; call: Node }[] = [];
  const open: unknown[] = [program];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== 'object' || node === null) continue;
    for (const value of Object.values(node)) open.push(value);
    const call = node as Node;
    if (call.type !== 'CallExpression' && call.type !== 'NewExpression') continue;
    const callee = call.callee as { name?: string; property?: { name?: string } };
    found.push({ name: callee.property?.name ?? callee.name ?? '', call });
  }
  return found;
}

/** Calls that get a list as their arguments which is short whatever others write; each argument takes room on the stack. */
const SHORT: Readonly<Record<string, string>> = {
  'bulla/src/capability/rows.ts': 'run',
  'bulla/src/chain/sqlite-source.ts': 'get iterate',
  'bulla/src/cli/cli.ts': 'action',
  'bulla/src/cli/log/consistency.ts': 'compareStates',
  'bulla/src/cli/receipt.ts': 'action',
  'bulla/src/consent/rows.ts': 'all run',
  'bulla/src/discover/discover.ts': 'join',
  'bulla/src/envelope/verifier.ts': 'read',
  'bulla/src/gateway/gates/session.ts': 'locate',
  'bulla/src/gateway/hub/hub.ts': 'locate',
  'bulla/src/gateway/lists/self.ts': 'locate',
  'bulla/src/gateway/upstream/legacy-host.ts': 'locate',
  'bulla/src/gateway/upstream/modern-host.ts': 'push',
  'bulla/src/gateway/upstream/open-call.ts': 'hasCapability',
  'bulla/src/mcp/frame.ts': 'max',
  'bulla/src/pin/verify.ts': 'verifyProvenance',
  'bulla/src/record/recorder.ts': 'openingsOf',
  'bulla/src/store/approved.ts': 'run',
  'bulla/src/store/ledger-limits.ts': 'all run',
  'bulla/src/store/ledger-policies.ts': 'run',
  'bulla/src/store/ledger.ts': 'run',
  'bulla/src/store/postgres.ts': 'change',
  'bulla/src/store/search.ts': 'all',
  'bulla/src/store/sqlite-statements.ts': 'all run',
  'bulla/src/store/sqlite.ts': 'all run',
  'bulla/src/store/used.ts': 'all run',
  'bulla/src/store/vouch.ts': 'min',
  'bulla/src/witness/state-file.ts': 'run',
  'bulla/src/witness/state.ts': 'run',
  'core/src/canon/order.ts': 'fromCharCode',
  'core/src/capability/snapshot-diff.ts': 'diffToolRefs',
  'core/src/capsule/verify.ts': 'push',
  'core/src/cel/pattern-syntax.ts': 'push',
  'core/src/consent/answer.ts': 'refused',
  'core/src/consent/check-row.ts': 'word',
  'core/src/consent/decide.ts': 'refused',
  'core/src/consent/run.ts': 'refused',
  'core/src/crypto/der.ts': 'concat layout of wrap',
  'core/src/lock/drift/drift.ts': 'serverItems instructionItems capabilityItems listItems contentItems',
  'core/src/lock/drift/server.ts': 'textItem',
  'core/src/log/merkle.ts': 'concat',
  'core/src/log/tiles.ts': 'concat',
  'core/src/manifest/report.ts': 'wordDiff',
  'core/src/schema/changes-objects.ts': 'direction',
  'core/src/schema/changes.ts': 'direction',
  'core/src/schema/walk.ts': 'direction',
};

const ALL = SOURCES.map((file) => ({ file: file.slice('packages/'.length), calls: calls(file) }));

test('no list that others can make long is spread into the arguments of a call', () => {
  const isSpread = ({ call }: { call: Node }) =>
    (call.arguments as Node[]).some(
      // A list that is written out in the call is as long as it is there.
      ({ type, argument }) => type === 'SpreadElement' && (argument as Node).type !== 'ArrayExpression',
    );
  const found = ALL.flatMap(({ file, calls }) =>
    [...new Set(calls.filter(isSpread).map(({ name }) => name))].map((name) => `${file} ${name}`),
  );
  const short = Object.entries(SHORT).flatMap(([file, names]) =>
    names.split(' ').map((name) => `${file} ${name}`),
  );
  expect(found.filter((one) => !short.includes(one))).toEqual([]);
});

test('texts are normalized in one place, which takes linear time', () => {
  const found = ALL.filter(({ calls }) => calls.some(({ name }) => name === 'normalize'));
  // The other one is of paths, and Node's.
  expect(found.map(({ file }) => file)).toEqual(['bulla/src/pin/program.ts', 'core/src/text/normalize.ts']);
});

test('use cases read no command line, print nothing, and never end the process', () => {
  // The program of the process in which modules run.
  const files = SOURCES.filter(
    (file) => file.startsWith('packages/bulla/src/app/') && !file.endsWith('/runner.ts'),
  );
  const FORBIDDEN =
    /process\.(?:argv|exit|stdin|stdout|stderr)\b|\bconsole\.|from '(?:commander|\.\.\/cli\/)/;
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => FORBIDDEN.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
});
