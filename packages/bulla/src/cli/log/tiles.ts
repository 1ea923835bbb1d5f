import { counted } from '@bulla/core/text';
import { publishTiles } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, sealOptions } from '../store.ts';
import { type ReportOptions, report, reportOptions } from '../terminal/io.ts';
import { type Progress, progressBar } from '../terminal/progress.ts';

export function define(command: Command): void {
  command
    .subcommand(
      'export',
      'Write the log of a chain into a folder that any static host can serve (C2SP tlog-tiles).',
    )
    .use(sealOptions)
    .argument('<dir>', 'the folder; what it has already is not written again')
    .use(reportOptions)
    .helpText(
      '\nThe folder holds hashes, not records: nobody learns from it what an agent did, and everybody can hold a chain against it.',
    )
    .run(exportAll);
}

async function exportAll(dir: string, options: StoreOptions & ReportOptions): Promise<void> {
  await using at = await openFor(options, 'extend');
  let bar: Progress | undefined;
  const { origin, size, files } = await publishTiles(at.chain, dir, (total) => {
    bar = progressBar({ total }, options);
    return bar.update;
  });
  bar?.done();
  await report(
    options,
    { dir, origin, size, files },
    () => `${counted(files, 'file')} for ${counted(size, 'record')} of ${origin} in ${dir}`,
  );
}
