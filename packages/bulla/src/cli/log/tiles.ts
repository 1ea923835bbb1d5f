import { counted } from '@bulla/core/text';
import type { Command } from 'commander';
import { publishTiles } from '../../app/index.ts';
import type { Run } from '../commands.ts';
import { openFor, type PlaceOptions, placeOptions } from '../place.ts';
import { EXIT, type Exit, type ReportOptions, report } from '../terminal/io.ts';
import { type Progress, progressBar } from '../terminal/progress.ts';

export function define(command: Command, run: Run): void {
  placeOptions(
    command
      .command('export')
      .description(
        'Write the log of a chain into a folder that any static host can serve (C2SP tlog-tiles).',
      ),
  )
    .argument('<dir>', 'the folder; what it has already is not written again')
    .option('--keys <folder>', 'the keyring, for a checkpoint of the newest records')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .addHelpText(
      'after',
      '\nThe folder holds hashes, not records: nobody learns from it what an agent did, and everybody can hold a chain against it.',
    )
    .action(run(exportAll));
}

async function exportAll(dir: string, options: PlaceOptions & ReportOptions): Promise<Exit> {
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
  return EXIT.good;
}
