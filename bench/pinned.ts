import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median, type Row, round3 } from './measure.ts';

const here = dirname(fileURLToPath(import.meta.url));
const cli = join(here, '../packages/bulla/dist/bulla.js');
const NPX = ['npx', '-y', '@modelcontextprotocol/server-everything@2026.8.31'];
const HELLO = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  },
};
const ROUNDS = 9;
const against = 'npx with a warm cache';

/** How long a pinned server takes from its start to its first answer, against npx. Needs npm's registry once. */
export async function pinned(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  const env = { BULLA_ALLOW_PRIVATE_REGISTRY: '1', ...process.env, BULLA_HOME: join(folder, 'home') };
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
    return stdout;
  };
  const compare = () =>
    Number(run('--conditions=bulla-source', join(here, 'pinned-worker.ts'), 'mcp-lock.json', env.BULLA_HOME));
  const answer = (words: readonly string[]) => firstAnswer(words, folder, env);
  try {
    run(cli, 'keys', 'init');
    run(cli, 'lock', '--quiet', '--pin', '--', ...NPX);
    await answer(NPX);
    const rounds: Record<'npx' | 'run' | 'guard' | 'compare', number>[] = [];
    for (let i = 0; i < ROUNDS; i++)
      rounds.push({
        npx: await answer(NPX),
        run: await answer([process.execPath, cli, 'run', '--quiet']),
        guard: await answer([process.execPath, cli, 'guard', '--pinned', '--quiet']),
        compare: compare(),
      });
    const row = (name: string, key: 'run' | 'guard' | 'compare'): Row => ({
      ...{
        bench: 'pinned',
        case: name,
        value: round3(median(rounds.map((round) => round[key]))),
        unit: 'ms',
      },
      ...{ ratio: round3(median(rounds.map((round) => round[key] / round.npx))), against },
    });
    return [
      row('run server-everything, start to first answer', 'run'),
      row('guard --pinned, the same', 'guard'),
      row('of which: compare the kept tree with its tarballs', 'compare'),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function firstAnswer(words: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<number> {
  const start = performance.now();
  const child = spawn(words[0]!, words.slice(1), { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  return new Promise((done, fail) => {
    let ms: number | undefined;
    child.on('error', fail);
    child.stdout.once('data', () => {
      ms = performance.now() - start;
      child.stdout.resume();
      child.stdin.end();
    });
    child.on('close', (code) =>
      ms === undefined ? fail(new Error(`${words.join(' ')} ended with ${code}`)) : done(ms),
    );
    child.stdin.write(`${JSON.stringify(HELLO)}\n`);
  });
}
