import { digest } from '@bulla/core/canon';
import { parse } from '@bulla/core/json';
import type { Command } from '../command.ts';
import {
  canonOptions,
  type DocumentOptions,
  parsingOptions,
  profileOption,
  readDocument,
} from '../terminal/input.ts';
import { type ReportOptions, report, reportOptions } from '../terminal/io.ts';

export function define(command: Command): void {
  command
    .argument('[file]', 'the document; - is standard input', '-')
    .addOption(profileOption())
    .use(reportOptions, parsingOptions)
    .helpText(`
Example:
  $ echo '{}' | bulla hash
  44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a`)
    .run(async (file: string, options: DocumentOptions & ReportOptions) => {
      const value = parse(readDocument(file, 'chain'), options);
      const found = digest(value, options.profile, canonOptions(options));
      await report(options, { ok: true, profile: options.profile, digest: found }, () => found);
    });
}
