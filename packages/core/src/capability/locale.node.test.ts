import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const LOCALES = ['C', 'en_US.UTF-8', 'cs_CZ.UTF-8', 'da_DK.UTF-8', 'th_TH.UTF-8', 'mt_MT.UTF-8'];

/** Hashes things whose order, as `localeCompare` has it, depends on the locale of the host. */
const PROGRAM = `
import { createRegisteredAgent, evaluateRegisteredAgentAffordances, hashPlainObject, policy, tool, toolkit }
  from ${JSON.stringify(fileURLToPath(new URL('./index.ts', import.meta.url)))};
import * as z from 'zod';
const names = ['channel', 'host', 'a', 'A', 'user_id', 'userAgent', 'users', 'a1', '_z', 'ab', 'zz', 'aa'];
const object = Object.fromEntries(names.map((name, i) => [name, i]));
const inputSchema = z.object({ channel: z.string(), host: z.string() });
const tools = names.map((name) => tool({
  name, inputSchema, instructions: names, policies: names.map((id) => policy(id, () => true)), handler: () => 0 }));
const rootComposable = toolkit(tools, { name: 'root' });
const out = { order: [...names].sort((a, b) => a.localeCompare(b)).join(' ') };
for (const profile of ['khora', 'khora-icu']) {
  const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable, hashing: { profile } });
  const { runtimeHash } = await evaluateRegisteredAgentAffordances(agent, { env: {} });
  const schema = hashPlainObject(inputSchema.toJSONSchema(), { profile });
  out[profile] = [hashPlainObject(object, { profile }), schema, agent.staticHash, runtimeHash].join(' ');
}
console.log(JSON.stringify(out));
`;

async function run(locale: string): Promise<Record<string, string>> {
  const args = ['--conditions=bulla-source', '--input-type=module', '--eval', PROGRAM];
  const env = { ...process.env, LC_ALL: locale, LANG: locale };
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, cwd });
  return JSON.parse(stdout);
}

test("the host's locale changes no hash, although it changes how the host sorts", async () => {
  const results = await Promise.all(LOCALES.map(run));
  expect(new Set(results.map(({ order }) => order)).size).toBeGreaterThanOrEqual(4);
  expect(new Set(results.map(({ khora }) => khora)).size).toBe(1);
  const [released, ...rest] = results.map((result) => result['khora-icu']!);
  expect(rest.every((hashes) => hashes === released)).toBe(true);
  expect(results[0]!.khora).not.toBe(released);
  // The schema of object{channel,host}, as the released package hashes it under C and en_US; not so under cs_CZ.
  expect(released!.split(' ')[1]!.slice(0, 12)).toBe('734710b25798');
});
