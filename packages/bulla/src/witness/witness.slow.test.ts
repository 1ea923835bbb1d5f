import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openNote, parseNote, parseVkey } from '@bulla/core/crypto';
import { parseCheckpointBody } from '@bulla/core/log';
import { expect, inject, onTestFinished, test } from 'vitest';
import { startCommand } from '../../test/processes.ts';
import { temporaryFolder } from '../../test/run.ts';
import { testLog } from '../../test/witness-log.ts';
import { parseSize } from './request.ts';
import { openState } from './state.ts';

const NAME = 'witness.example/w1';
/** Two histories of one log, which part after seven records. */
const views = [testLog({ view: 'a', forkAt: 7 }), testLog({ view: 'b', forkAt: 7 })];
const { origin, vkey: logKey } = views[0]!;
const hash = createHash('sha256').update(origin).digest('hex');

interface Serving {
  readonly process: ChildProcess;
  readonly url: string;
  readonly vkey: string;
  readonly done: Promise<number | null>;
}

/** Starts a real `witness serve`, and waits until it takes requests. */
async function start(state: string): Promise<Serving> {
  const args = [
    'serve',
    '--name',
    NAME,
    '--listen',
    '127.0.0.1:0',
    '--state',
    state,
    '--log',
    logKey,
    '--json',
  ];
  const process = startCommand(['witness', ...args], 'ignore');
  onTestFinished(() => void process.kill('SIGKILL'));
  while (process.output().length === 0 && process.exitCode === null) await sleep(10);
  const { url, vkeys } = JSON.parse(process.output()[0]!) as { url: string; vkeys: string[] };
  return { process, url, vkey: vkeys[0]!, done: process.done };
}

/** What a witness cosigned, as it answered. */
interface Cosigned {
  readonly view: number;
  readonly size: number;
  readonly time: number;
}

/** Shows both histories to the witnesses until they are gone or it is enough. */
async function hammer(
  serving: readonly Serving[],
  enough: () => boolean,
  cosigned: Cosigned[],
): Promise<void> {
  const pick = (n: number) => Math.floor(Math.random() * n);
  const newest = () => Math.max(0, ...cosigned.map(({ size }) => size));
  let known = 0;
  let failed = false;
  const caller = async () => {
    while (!failed && !enough()) {
      const before = newest();
      const [view, { url, vkey }] = [pick(2), serving[pick(serving.length)]!];
      const size = known + pick(4);
      const log = views[view]!;
      let answer: Response;
      let body: string;
      try {
        answer = await fetch(`${url}/add-checkpoint`, {
          method: 'POST',
          body: Buffer.from(await log.request(known, size)),
        });
        body = await answer.text();
      } catch {
        return; // it was killed
      }
      if (answer.status === 200) {
        const [line] = openNote((await log.note(size)) + body, [parseVkey(vkey)]).verified;
        cosigned.push({ view, size, time: line!.time! });
        known = Math.max(known, size);
      } else if (answer.status === 409) {
        // Of what had been answered before this was asked, nothing is forgotten.
        expect(parseSize(body)).toBeGreaterThanOrEqual(before);
        known = Math.max(known, parseSize(body)!);
      } else {
        expect(answer.status).toBe(422);
      }
    }
  };
  const guarded = () =>
    caller().catch((error) => {
      failed = true;
      throw error;
    });
  await Promise.all(Array.from({ length: 6 }, guarded));
}

/** All that was ever cosigned is one history, and its times never go back. */
function expectOneHistory(cosigned: readonly Cosigned[]): void {
  const sorted = cosigned.toSorted((a, b) => a.size - b.size || a.time - b.time);
  const last = sorted.at(-1)!;
  for (const [i, { view, size, time }] of sorted.entries()) {
    expect(views[view]!.root(size)).toEqual(views[last.view]!.root(size));
    expect(time).toBeGreaterThanOrEqual(sorted[i - 1]?.time ?? 0);
  }
}

test('three processes share one state and are shown two histories at once: one of them is cosigned', {
  timeout: 120_000 * inject('rounds'),
}, async () => {
  const state = join(temporaryFolder(), 'state.db');
  const serving = await Promise.all([start(state), start(state), start(state)]);
  expect(new Set(serving.map(({ vkey }) => vkey)).size).toBe(1);
  const cosigned: Cosigned[] = [];
  await hammer(serving, () => cosigned.length >= 100 * inject('rounds'), cosigned);
  for (const { process } of serving) process.kill('SIGTERM');
  expect(await Promise.all(serving.map(({ done }) => done))).toEqual([0, 0, 0]);
  expectOneHistory(cosigned);
  const kept = openState(state, { name: NAME });
  expect(kept.latest(origin)!.size).toBe(Math.max(...cosigned.map(({ size }) => size)));
  expect(kept.evidence().length).toBeGreaterThan(0);
  await kept.close();
});

test('kill -9 under load, again and again: what was answered is never forgotten or contradicted', {
  timeout: 120_000 * inject('rounds'),
}, async () => {
  const state = join(temporaryFolder(), 'state.db');
  const cosigned: Cosigned[] = [];
  let vkey: string | undefined;
  for (let round = 0; round < 5 * inject('rounds'); round++) {
    const serving = await start(state);
    vkey ??= serving.vkey;
    expect(serving.vkey).toBe(vkey);
    if (round > 0) {
      // What the witness serves after the restart covers all that it ever answered.
      const note = await (await fetch(`${serving.url}/${hash}/checkpoint`)).text();
      expect(openNote(note, [parseVkey(logKey), parseVkey(vkey)]).verified).toHaveLength(2);
      const { size, root } = parseCheckpointBody(parseNote(note).text);
      expect(size).toBeGreaterThanOrEqual(Math.max(...cosigned.map((one) => one.size)));
      expect(views.some((log) => Buffer.compare(log.root(size), root) === 0)).toBe(true);
    }
    const before = cosigned.length;
    const hammering = hammer([serving], () => false, cosigned);
    while (cosigned.length < before + 3) await sleep(1);
    await sleep(Math.random() * 100);
    serving.process.kill('SIGKILL');
    await Promise.all([serving.done, hammering]);
    // The file of the state alone, as a backup would take it, has all that was answered.
    const copy = join(temporaryFolder(), 'state.db');
    // A kill in the middle of a commit leaves a journal that is not voided; then the two belong together.
    if (
      readFileSync(`${state}-journal`)
        .subarray(0, 8)
        .every((byte) => byte === 0)
    ) {
      copyFileSync(state, copy);
      copyFileSync(join(dirname(state), 'witness.mark'), join(dirname(copy), 'witness.mark'));
      const kept = openState(copy, { name: NAME });
      expect(kept.latest(origin)!.size).toBeGreaterThanOrEqual(Math.max(...cosigned.map(({ size }) => size)));
      await kept.close();
    }
  }
  expectOneHistory(cosigned);
  expect(cosigned.length).toBeGreaterThan(15);
});
