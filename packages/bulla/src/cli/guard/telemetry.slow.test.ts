import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { guardTarget, preparePlace, runGuard, shakeHands } from '../../../test/guard-process.ts';
import { script } from '../../../test/mcp.ts';
import { repo, temporaryFolder } from '../../../test/run.ts';
import type { StdioTarget } from '../../mcp/index.ts';

const program = join(repo, 'packages/bulla/dist/bulla.js');

async function guardOne(words: readonly string[], node: readonly string[]) {
  const received = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', received, 'ordinary');
  const place = await preparePlace(server);
  const { command, args, ...rest } = guardTarget(program, place, server, ...words);
  const [cli, ...options] = args;
  const target: StdioTarget = { ...rest, command, args: [...node, cli!, 'guard', ...options] };
  const guard = runGuard(target);
  await shakeHands(guard);
  const _meta = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
  guard.send({ id: 1, method: 'tools/call', params: { name: 'echo', _meta } });
  await guard.lines(2);
  guard.child.stdin!.end();
  const { code, stderr } = await guard.ended();
  const calls = readFileSync(received, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ method }) => method === 'tools/call');
  return { code, stderr, calls, _meta };
}

test('the SDK of the process gets the spans of calls, and the server continues the trace', async () => {
  const out = join(temporaryFolder(), 'spans');
  const sdk = pathToFileURL(join(repo, 'packages/bulla/test/telemetry-sdk.mjs'));
  sdk.searchParams.set('out', out);
  const { code, stderr, calls } = await guardOne(['--telemetry'], ['--import', sdk.href]);
  expect([code, stderr]).toEqual([0, '']);
  const spans = readFileSync(out, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
    ['bulla.gates', 0],
    ['bulla.intent', 0],
    ['tools/call', 2],
    ['bulla.outcome', 0],
    ['tools/call', 1],
  ]);
  const whole = spans.at(-1);
  expect([whole.traceId, whole.parentId]).toEqual(['a'.repeat(32), 'b'.repeat(16)]);
  expect(spans.slice(0, -1).map(({ parentId }) => parentId)).toEqual(Array(4).fill(whole.spanId));
  expect(calls[0].params._meta).toEqual({ traceparent: `00-${'a'.repeat(32)}-${spans[2].spanId}-01` });
});

test('without an SDK that is said, and calls pass as they are', async () => {
  const { code, stderr, calls, _meta } = await guardOne(['--telemetry'], []);
  expect([code, stderr]).toEqual([
    0,
    'bulla: telemetry is off: no OpenTelemetry SDK is loaded, as NODE_OPTIONS=--import does\n',
  ]);
  expect(calls[0].params._meta).toEqual(_meta);
});
