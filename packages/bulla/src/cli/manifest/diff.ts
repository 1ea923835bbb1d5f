import {
  diffJson,
  diffManifests,
  diffMarkdown,
  diffText,
  type Manifest,
  ManifestError,
  readManifest,
} from '@bulla/core/manifest';
import { Option } from 'commander';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { EXIT, type Exit, print, printExact, say, tones } from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';
import { parseStored, reading, type StoredOptions, storedOptions, storedVersion } from './show.ts';
import { problemLines } from './validate.ts';

const FORMATS = ['text', 'json', 'markdown'] as const;

interface DiffOptions extends StoredOptions {
  format?: (typeof FORMATS)[number];
  json?: boolean;
  quiet?: boolean;
}

export function defineDiff(command: Command): void {
  command
    .subcommand('diff', 'Tell what a new manifest changes, and whether people must review it.')
    .argument('<old>', 'the manifest as it was: a file, - for standard input, or AGENT@VERSION')
    .argument('<new>', 'the manifest as it is to be: the same')
    .use(storedOptions)
    .addOption(new Option('--format <format>', 'how to print it (default: text)').choices(FORMATS))
    .option('--json', 'the same as --format json')
    .option('--quiet', 'print nothing but errors; the exit code tells')
    .hook('preAction', (self) => {
      // An error is then a document too.
      if (self.opts<DiffOptions>().format === 'json') self.setOptionValue('json', true);
    })
    .helpText(`
AGENT@VERSION is a version in the store: AGENT@3, or AGENT@latest. A file whose name has that form is written ./AGENT@3.

Exits with 0 when nothing is breaking, 1 when something is, 2 when one of the two cannot be read or is not valid.

Examples:
  $ bulla manifest diff old.json new.json
  $ bulla manifest diff desk@6 desk@7
  $ bulla manifest diff desk@latest manifest.json
  $ git show main:manifest.json | bulla manifest diff - manifest.json --format markdown`)
    .run(diff);
}

async function diff(before: string, after: string, options: DiffOptions): Promise<Exit> {
  const [old, next] = await bothOf(before, after, options);
  const found = diffManifests(old, next);
  const format = options.format ?? (options.json ? 'json' : 'text');
  if (!options.quiet) {
    if (format === 'json') await printExact(diffJson(found));
    else if (format === 'markdown') await printExact(diffMarkdown(found));
    else await print(diffText(found, tones(streams.stdout)));
  }
  return found.breaking.length > 0 ? EXIT.bad : EXIT.good;
}

async function bothOf(before: string, after: string, options: DiffOptions): Promise<[Manifest, Manifest]> {
  const [old, next] = [parseStored(before), parseStored(after)];
  if (old === null && next === null) return [read(before), read(after)];
  return reading(options, async (store) => {
    const side = async (text: string, stored: ReturnType<typeof parseStored>) =>
      stored === null ? read(text) : (await storedVersion(store, stored.agent, stored.version)).manifest;
    return [await side(before, old), await side(after, next)];
  });
}

/** Reads one side; what is wrong with it is told in full before it is refused. */
function read(file: string): Manifest {
  const bytes = readInput(file, 'document');
  try {
    return readManifest(bytes);
  } catch (error) {
    if (error instanceof ManifestError) {
      const lines = error.problems.flatMap((problem) => problemLines(problem, bytes, 'problem'));
      say([`${file} is no valid manifest:`, ...lines]);
    }
    throw error;
  }
}
