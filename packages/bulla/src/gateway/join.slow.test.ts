import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromHex, type PublicKey, publicKey, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Artifact, recognise, type Trace, type Trust, trace } from '@bulla/core/verify';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { type Evidence, joinedCall } from '../../test/join.ts';
import { bulla, temporaryFolder } from '../../test/run.ts';

// The gate of the whole: locked, declared, allowed by a rule, consented to by a person, bound to an envelope.

/** Made by the first test; the others look at it. */
let joined: Evidence;

const trustIn = (keys: readonly string[]): Trust => ({
  keys: keys.map((key) => publicKey('Ed25519', fromHex(key))),
  ...{ pqKeys: [], facts: [], revoked: [], vkeys: [] },
});

/** What is no artifact any more is not at hand. */
function artifactsOf(files: Readonly<Record<string, string | Uint8Array>>): Artifact[] {
  return Object.entries(files).flatMap(([name, content]) => {
    try {
      return [recognise(typeof content === 'string' ? toUtf8(content) : content, { name })];
    } catch (error) {
      if (error instanceof BullaError) return [];
      throw error;
    }
  });
}

/** The steps of a trace and their basis; with the artifact that they lead to. */
const told = ({ steps }: Trace) =>
  steps.map(({ step, basis, artifact }) =>
    [step, basis, ...(artifact === undefined ? [] : [artifact])].join(' '),
  );

const ALL = [
  'record verified',
  'outcome verified',
  'chain verified chain',
  'host self-reported',
  'lock verified lock',
  'tool verified lock',
  'manifest verified manifest',
  'declaration verified manifest',
  'binding verified bindings',
  'rules verified rules',
  'question verified',
  'answer verified',
  'envelope verified envelope',
  'authorization verified authorization',
  'policy verified policy',
  'arguments self-reported',
  'result self-reported',
];

test('a call leaves two call capsules, one question and one answer', async () => {
  joined = await joinedCall();
  const { intent, outcome, question, answer, sealed, said } = joined;
  expect(said).toBe('Echo: hello');
  expect(
    sealed.map(({ type, trigger, outcome: { status } }) => `${type} ${trigger.request} ${status}`),
  ).toEqual([
    'auth manifest push desk 1 success',
    'auth consent disclose success',
    'auth consent grant success',
    'auth envelope policy publish desk 1 success',
    'system guard everything pending',
    'auth consent ask say pending',
    'auth consent answer say success',
    'tool tools/call everything/echo pending',
    'tool tools/call everything/echo success',
    'system guard everything success',
  ]);
  const { bulla } = intent.context.environment;
  expect(Object.keys(bulla).sort()).toEqual(
    ['v', 'instance', 'server', 'lock', 'tool', 'args', 'manifest', 'consent', 'envelope', 'policy'].sort(),
  );
  expect(Object.keys(bulla.tool).sort()).toEqual(['declared', 'locked', 'name', 'server']);
  expect(bulla.consent).toEqual({ id: bulla.consent.id, asked: question.id, answered: answer.id });
  expect(outcome.parent_id).toBe(intent.id);
  expect(answer.parent_id).toBe(question.id);
  // The same commitment in question, intent and outcome; no value anywhere.
  expect(question.context.environment.bulla.args).toEqual(bulla.args);
  expect(outcome.execution.tool_calls[0].arguments).toEqual(bulla.args);
  expect(JSON.stringify(sealed)).not.toContain('hello');
  expect(intent.authority).toMatchObject({
    type: 'human_approved',
    approver: 'account:alice, alice',
    policy_reference: null,
    escalation_reason: null,
  });
  expect(intent.authority.chain.map(({ step }: { step: string }) => step)).toEqual([
    'policy',
    'consent',
    'approval',
    'envelope',
  ]);
});

test.each(['intent', 'outcome'] as const)('the trace from the %s resolves every digest', async (from) => {
  const { files, keys } = joined;
  for (const name of [joined[from].id, joined[from].hash])
    expect(told(await trace(name, artifactsOf(files), trustIn(keys)))).toEqual(ALL);
});

test('without a file, only what rests on it is absent', async () => {
  const { files, keys, intent } = joined;
  const missing = async (name: string) => {
    const { [name]: _, ...rest } = files;
    const found = await trace(intent.id, artifactsOf(rest), trustIn(keys));
    return found.steps
      .filter(({ basis }) => basis === 'absent' || basis === 'failed')
      .map(({ step }) => step);
  };
  expect(await missing('lock')).toEqual(['lock', 'tool']);
  expect(await missing('manifest')).toEqual(['manifest', 'declaration']);
  expect(await missing('bindings')).toEqual(['binding']);
  expect(await missing('rules')).toEqual(['rules']);
  expect(await missing('policy')).toEqual(['policy']);
  expect(await missing('envelope')).toEqual(['envelope']);
  expect(await missing('authorization')).toEqual(['authorization']);
  await expect(missing('chain')).rejects.toMatchObject({ code: 'TRACE_NO_RECORD' });
});

test('the keys of people who approve count for authorizations and for nothing else', async () => {
  const { files, keys, intent } = joined;
  const [sealer, alice] = trustIn(keys).keys as [PublicKey, PublicKey];
  const basisOf = async (trust: Partial<Trust>) => {
    const { steps } = await trace(intent.id, artifactsOf(files), { ...trustIn([]), ...trust });
    return Object.fromEntries(steps.map(({ step, basis }) => [step, basis]));
  };
  const approvers = [{ person: 'alice', key: alice }];
  expect(await basisOf({ keys: [sealer], approvers })).toMatchObject({
    ...{ record: 'verified', chain: 'verified', authorization: 'verified' },
  });
  expect(await basisOf({ keys: [sealer] })).toMatchObject({ record: 'verified', authorization: 'absent' });
  const swapped = [{ person: 'gateway', key: sealer }];
  expect(await basisOf({ keys: [sealer], approvers: swapped })).toMatchObject({ authorization: 'absent' });
  expect(await basisOf({ keys: [alice], approvers })).toMatchObject({ record: 'absent', chain: 'absent' });
});

test('a chain that was cut off is not good because its checkpoint was spoiled', async () => {
  const { files, keys, intent } = joined;
  const lines = files.chain!.split('\n');
  const chainStep = async (checkpoint: string, chain = files.chain!) => {
    const { steps } = await trace(intent.id, artifactsOf({ ...files, chain, checkpoint }), trustIn(keys));
    return steps.find(({ step }) => step === 'chain')!;
  };
  const cut = lines.slice(0, -3).join('\n');
  expect(await chainStep(files.checkpoint!, `${cut}\n`)).toMatchObject({ basis: 'failed' });
  const [origin, size, root] = files.checkpoint!.split('\n') as [string, string, string];
  const other = root.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
  for (const chain of [files.chain!, `${cut}\n`])
    for (const spoiled of [
      files.checkpoint!.replace(root, other),
      files.checkpoint!.replace(`\n${size}\n`, '\n1\n'),
      files.checkpoint!.replaceAll(origin, 'log.example/other'),
    ])
      expect((await chainStep(spoiled, chain)).basis, spoiled).toBe('failed');
});

/** The steps that may fail when a file was tampered with. */
const RESTS: Readonly<Record<string, readonly string[]>> = {
  lock: ['lock', 'tool'],
  manifest: ['manifest', 'declaration'],
  bindings: ['binding'],
  rules: ['rules'],
  policy: ['policy'],
  envelope: ['envelope'],
  authorization: ['authorization'],
};

describe('a flipped bit', () => {
  const flipped = (text: string, at: number): Uint8Array => {
    const bytes = toUtf8(text);
    bytes[at]! ^= 1;
    return bytes;
  };
  /** Few in a long file, all in soak. */
  const places = (text: string, count = 40) => {
    const { length } = toUtf8(text);
    const stride = inject('soak') > 1 ? 1 : Math.max(1, Math.floor(length / count));
    return Array.from({ length: Math.ceil(length / stride) }, (_, i) => i * stride);
  };

  test.each(Object.keys(RESTS))('in the %s fails exactly that step', async (name) => {
    const { files, keys, intent } = joined;
    // The specification leaves the metadata of an envelope out of its exec_hash.
    const unsealed = /"metadata":\{[^}]*\}/.exec(name === 'envelope' ? files[name]! : '');
    for (const at of places(files[name]!)) {
      if (unsealed !== null && at >= unsealed.index && at < unsealed.index + unsealed[0].length) continue;
      const artifacts = artifactsOf({ ...files, [name]: flipped(files[name]!, at) });
      const { steps } = await trace(intent.id, artifacts, trustIn(keys));
      const bad = steps
        .filter(({ basis }) => basis === 'absent' || basis === 'failed')
        .map(({ step }) => step);
      expect(bad, `${name} at ${at}`).toContain(RESTS[name]![0]);
      expect(
        bad.filter((step) => !RESTS[name]!.includes(step)),
        `${name} at ${at}`,
      ).toEqual([]);
    }
  });

  test('in a record fails that record, and the chain', async () => {
    const { files, keys, intent, outcome, question, answer, sealed } = joined;
    const lines = files.chain!.trimEnd().split('\n');
    const own = new Map([
      [intent.id, 'record'],
      [outcome.id, 'outcome'],
      [question.id, 'question'],
      [answer.id, 'answer'],
    ]);
    for (const [i, line] of lines.entries()) {
      const step = own.get(sealed[i]!.id);
      for (const at of places(line, 12)) {
        const chain = lines.map((one, k) =>
          k === i ? new TextDecoder('latin1').decode(flipped(one, at)) : one,
        );
        const tampered = { ...files, chain: `${chain.join('\n')}\n` };
        let bad: string[];
        try {
          const { steps } = await trace(intent.id, artifactsOf(tampered), trustIn(keys));
          bad = steps.filter(({ basis }) => basis === 'absent' || basis === 'failed').map((one) => one.step);
        } catch (error) {
          // Its id was in the flipped bit, or the whole file is no chain any more.
          expect((error as BullaError).code, `record ${i} at ${at}`).toMatch(
            /^(?:TRACE_NO_RECORD|EVIDENCE_INVALID)$/,
          );
          continue;
        }
        expect(bad, `record ${i} at ${at}`).toContain('chain');
        // The seal does not cover when and by whom it was signed; the checkpoint's leaf does.
        const unsealed = [...line.matchAll(/"signed_at":"[^"]*"|"signed_by":"[^"]*"/g)];
        const isSealed = unsealed.every(({ 0: text, index }) => at < index || at >= index + text.length);
        if (step !== undefined && isSealed) expect(bad, `record ${i} at ${at}`).toContain(step);
      }
    }
  });
});

test('an auditor walks the same way on the command line, with files and public keys alone', async () => {
  const folder = temporaryFolder();
  const { files, keys, intent } = joined;
  const named = Object.entries(files).map(([name, text]) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  });
  const trusted = keys.flatMap((key) => ['--public-key', key]);
  const run = (...paths: string[]) => bulla(['trace', intent.id, ...paths, ...trusted]);
  const good = run(...named);
  expect([good.stderr, good.status]).toEqual(['', 0]);
  const rows = good.stdout.trimEnd().split('\n').slice(0, -2);
  expect(good.stdout).toContain('\nkeys  the keys on the command line\nnot proven: ');
  expect(rows.map((row) => row.split(/ {2,}/).slice(0, 2))).toEqual(
    ALL.map((row) => row.split(' ').slice(0, 2).toReversed()),
  );
  expect(rows[1]).toContain('It ended as success.');
  expect(rows[11]).toContain('account:alice answered: allow-once, over passkey.');
  expect(JSON.parse(run(...named, '--json').stdout).keys).toBe('the keys on the command line');
  const strangers = bulla(['trace', intent.id, ...named, '--public-key', keys[1]!]);
  expect(strangers.status).toBe(3);
  // What only an unverified record names is not verified.
  expect(strangers.stdout.match(/^verified.*$/gm)).toBe(null);
  const withoutLock = run(...named.filter((file) => !file.endsWith('/lock')));
  expect(withoutLock.status).toBe(3);
  writeFileSync(join(folder, 'rules'), files.rules!.replace('100', '101'));
  const other = run(...named);
  expect([other.status, other.stdout.match(/^failed.*$/gm)?.map((row) => row.split(/ {2,}/)[1])]).toEqual([
    1,
    ['rules'],
  ]);
  expect(bulla(['trace', 'nobody', ...named, ...trusted])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('[TRACE_NO_RECORD]'),
  });
});

const executablePath = process.env.BULLA_CHROMIUM ?? '/usr/bin/chromium';

test.runIf(existsSync(executablePath))('a browser comes to the same trace', async () => {
  const repo = join(dirname(fileURLToPath(import.meta.url)), '../../../..');
  const { outputFiles } = await build({
    stdin: {
      resolveDir: join(repo, 'packages/bulla'),
      contents: `
        import { publicKey, fromHex, toUtf8 } from '@bulla/core/crypto';
        import { recognise, trace } from '@bulla/core/verify';
        globalThis.traceOf = async ({ files, keys, start }) => {
          const artifacts = Object.entries(files).map(([name, text]) => recognise(toUtf8(text), { name }));
          const trust = { keys: keys.map((key) => publicKey('Ed25519', fromHex(key))), pqKeys: [], facts: [], revoked: [], vkeys: [] };
          return trace(start, artifacts, trust);
        };`,
    },
    bundle: true,
    format: 'iife',
    write: false,
    platform: 'browser',
    conditions: ['bulla-source', 'browser'],
    logLevel: 'silent',
  });
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage();
    await page.addScriptTag({ content: outputFiles[0]!.text });
    const { files, keys, intent } = joined;
    const inBrowser = await page.evaluate(
      (input) => (globalThis as unknown as { traceOf(input: unknown): Promise<unknown> }).traceOf(input),
      { files, keys, start: intent.id },
    );
    const here = await trace(intent.id, artifactsOf(files), trustIn(keys));
    expect((inBrowser as Trace).steps).toEqual(JSON.parse(JSON.stringify(here.steps)));
    expect(told(inBrowser as Trace)).toEqual(ALL);
  } finally {
    await browser.close();
  }
});
