import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from '../packages/bulla/src/cli/commands.ts';
import { median, type Row, round3 } from './measure.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const cli = join(root, 'packages/bulla/dist/bulla.js');
const ROUNDS = 15;
const against = 'node -e 0';

/** Commands that do little else than start. */
const RUNS = [
  ...['--version', '--help', 'canon a.json', 'hash a.json', 'profiles', 'verify chain.jsonl', 'chain head'],
  ...['chain verify chain.jsonl', 'chain verify', 'envelope hash envelope.json', 'consent pending'],
];

/** How long commands take from start to end: those above, and the help of every command. */
export function startup(): Row[] {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  // A home of its own, so that it finds no compiled code but its own.
  const env = { ...process.env, HOME: folder, XDG_CACHE_HOME: '', BULLA_HOME: join(folder, 'data') };
  const node = (...args: readonly string[]): { ms: number; stdout: Buffer } => {
    const start = performance.now();
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, env });
    const ms = performance.now() - start;
    if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
    return { ms, stdout };
  };
  try {
    writeFileSync(join(folder, 'a.json'), '{"b":1.0,"a":"é"}');
    writeFileSync(join(folder, 'content.json'), '{"outcome":{"status":"success"}}');
    node(cli, 'keys', 'init');
    node(cli, 'capsule', 'seal', 'content.json');
    writeFileSync(join(folder, 'chain.jsonl'), node(cli, 'capsule', 'export').stdout);
    node(cli, 'envelope', 'new', ...ENVELOPE, '-o', 'envelope.json');
    const helps = Object.values(COMMANDS)
      .flat()
      .map(([name]) => `${name} --help`);
    return [...RUNS, ...helps].map((name) => {
      const words = name.split(' ');
      // The first one leaves compiled code for the others.
      node(cli, ...words);
      const rounds = Array.from({ length: ROUNDS }, () => {
        const limit = node('-e', '0').ms;
        const { ms } = node(cli, ...words);
        return { ms, ratio: ms / limit };
      });
      return {
        ...{ bench: 'startup', case: name, value: round3(median(rounds.map(({ ms }) => ms))), unit: 'ms' },
        ...{ ratio: round3(median(rounds.map(({ ratio }) => ratio))), against },
      };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const ENVELOPE = [
  ...['--action', 'TRANSFER', '--to', 'acct-7', '--amount', '1250', '--asset', 'EUR', '--decimals', '2'],
  ...['--rail', 'BANK', '--network', 'sepa', '--caller', 'agent-1', '--tenant-id', 'acme'],
  ...['--policy', join(root, 'examples/payment/policy.json')],
];
