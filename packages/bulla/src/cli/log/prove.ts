import { existsSync, writeFileSync } from 'node:fs';
import { BullaError } from '@bulla/core/error';
import { counted } from '@bulla/core/text';
import { provePublished, proveStored, type RecordProof } from '../../app/index.ts';
import { openPublished } from '../../log/index.ts';
import { accessFile, readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, sealOptions } from '../store.ts';
import { printExact, type ReportOptions, say } from '../terminal/io.ts';

interface ProveOptions extends StoreOptions, ReportOptions {
  out?: string;
  tiles?: string;
  force?: boolean;
}

export function define(command: Command): void {
  command
    .description('Write a proof that a capsule is in its chain, which verifies offline and alone.')
    .use(sealOptions)
    .argument('<capsule>', 'its file (- is standard input), id, hash, sequence number or capsule:// URI')
    .option('--out <file>', 'where to write (default: the id and .tlog-proof; - for standard output)')
    .option('--force', 'write over a file that exists')
    .option('--tiles <dir|url>', 'prove from the published log instead of the store; the capsule is a file')
    .option('--quiet', 'print nothing; the exit code tells')
    .helpText(
      "\nVerify it with 'bulla verify capsule.json proof.tlog-proof --public-key KEY'. A checkpoint that witnesses cosigned is preferred; where none covers the capsule, one is made.",
    )
    .run(prove);
}

async function prove(capsule: string, options: ProveOptions): Promise<void> {
  if (options.tiles !== undefined)
    return write(await provePublished(openPublished(options.tiles), readInput(capsule, 'document')), options);
  const meant = capsule === '-' || existsSync(capsule) ? readInput(capsule, 'document') : capsule;
  await using reading = await openFor(options, 'read');
  const proof = await proveStored(reading, meant, async () => {
    await using writing = await openFor(options, 'extend');
    return await writing.chain.checkpoint();
  });
  return write(proof, options);
}

async function write({ id, index, size, text }: RecordProof, options: ProveOptions): Promise<void> {
  const out = options.out ?? `${id}.tlog-proof`;
  if (out === '-') {
    await printExact(text);
    return;
  }
  if (existsSync(out) && !options.force)
    throw new BullaError('FILE_EXISTS', `${out} exists; --force writes over it.`);
  accessFile('FILE_UNWRITABLE', out, 'written', () => writeFileSync(out, text, { mode: 0o644 }));
  if (!options.quiet)
    say(`bulla: wrote ${out}: record ${index} of a checkpoint of ${counted(size, 'record')}`);
}
