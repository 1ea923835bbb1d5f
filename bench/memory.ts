import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toHex } from '@bulla/core/crypto';
import { key, sealedChain } from './capsule.ts';
import { type Row, round3 } from './measure.ts';

/** The most memory that a process takes while it verifies chains of ten thousand and of a million records. */
export function memory(): Row[] {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  try {
    const [small, large] = [10_000, 1_000_000].map((count) => {
      const file = join(folder, `${count}.jsonl`);
      const out = openSync(file, 'w');
      let text = '';
      for (const line of sealedChain(count)) {
        text += `${line}\n`;
        if (text.length > 1 << 22) {
          writeSync(out, text);
          text = '';
        }
      }
      writeSync(out, text);
      closeSync(out);
      return peak(file, count);
    }) as [number, number];
    const ratio = round3(large / small);
    return [
      {
        bench: 'memory',
        case: 'verifying 1,000,000 capsules',
        value: Math.round(large),
        unit: 'MB RSS',
        ratio,
        against: '10,000 capsules',
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function peak(file: string, count: number): number {
  const script = fileURLToPath(new URL('./memory-worker.ts', import.meta.url));
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=bulla-source', script, file, toHex(key.bytes)],
    { encoding: 'utf8' },
  );
  const report = JSON.parse(stdout || '{}') as { ok?: boolean; count?: number; peak?: number };
  if (!report.ok || report.count !== count) throw new Error(`the chain does not verify: ${stderr}`);
  return report.peak!;
}
