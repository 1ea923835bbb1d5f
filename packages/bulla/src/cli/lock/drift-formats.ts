import { writeFileSync } from 'node:fs';
import {
  type Drift,
  driftJson,
  driftJunit,
  driftMarkdown,
  driftSarif,
  driftText,
  type PolicyResult,
  type Severity,
} from '@bulla/core/lock';
import { InvalidArgumentError, Option } from 'commander';
import { accessFile } from '../../os/index.ts';
import { VERSION } from '../../version.ts';
import type { Command } from '../command.ts';
import { print, printExact, tones } from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';

/** How a difference is shown. */
const FORMATS = ['text', 'json', 'sarif', 'junit', 'markdown'] as const;
type Format = (typeof FORMATS)[number];

/** A file that the difference is written to as well. */
interface ReportFile {
  readonly format: Format;
  readonly file: string;
}

export interface FormatOptions {
  format?: Format;
  report: ReportFile[];
  json?: boolean;
  quiet?: boolean;
}

export function formatOptions(command: Command): Command {
  return command
    .addOption(new Option('--format <format>', 'how to print it (default: text)').choices(FORMATS))
    .option('--report <format=file>', 'write it to a file in this format too', reportFile, [])
    .option('--json', 'the same as --format json')
    .option('--quiet', 'print nothing but errors; the exit code tells')
    .hook('preAction', (self) => {
      // An error is then a document too.
      if (self.opts<FormatOptions>().format === 'json') self.setOptionValue('json', true);
    });
}

function reportFile(text: string, previous: ReportFile[]): ReportFile[] {
  const [, name, file] = /^([a-z]+)=(.+)$/s.exec(text) ?? [];
  const format = FORMATS.find((known) => known === name);
  if (format === undefined || file === undefined)
    throw new InvalidArgumentError(`It is written format=file, with one of ${FORMATS.join(', ')}.`);
  return [...previous, { format, file }];
}

/** Writes the files that `--report` names. Throws `FILE_UNWRITABLE`. */
export function writeReports({ report }: FormatOptions, drift: Drift, shown: Shown): void {
  for (const { format, file } of report) {
    const text = rendered(drift, format, shown, false);
    accessFile('FILE_UNWRITABLE', file, 'written', () => writeFileSync(file, text, { mode: 0o644 }));
  }
}

export function formatOf({ format, json }: FormatOptions): Format {
  return format ?? (json ? 'json' : 'text');
}

/** What a drift is shown with. */
interface Shown {
  readonly lockfile: string;
  readonly source: Uint8Array;
  /** Without a threshold, any difference fails, and text says no verdict. */
  readonly failOn?: Severity;
  readonly policy?: PolicyResult | undefined;
}

/** Prints a drift: for people through the print boundary, the other formats as the documents that they are. */
export function printDrift(drift: Drift, format: Format, shown: Shown): Promise<void> {
  const text = rendered(drift, format, shown);
  return format === 'text' ? print(text) : printExact(text);
}

/** A drift as it is printed, with the newline at its end. */
function rendered(
  drift: Drift,
  format: Format,
  { lockfile, source, failOn, policy }: Shown,
  isPainted = true,
): string {
  const options = { lockfile, failOn: failOn ?? 'info', policy };
  if (format === 'json') return driftJson(drift, options);
  if (format === 'sarif') return driftSarif(drift, { lockfile, source, policy, version: VERSION });
  if (format === 'junit') return driftJunit(drift, options);
  if (format === 'markdown') return driftMarkdown(drift, options);
  return driftText(drift, { policy, ...(isPainted && tones(streams.stdout)), ...(failOn && { failOn }) });
}
