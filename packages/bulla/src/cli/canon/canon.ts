import { createReadStream } from 'node:fs';
import { canonicalBytes, canonicalize, digestText } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import { parse } from '@bulla/core/json';
import { lines } from '../../os/index.ts';
import type { Command } from '../command.ts';
import {
  canonOptions,
  type DocumentOptions,
  parsingOptions,
  profileOption,
  readDocument,
} from '../terminal/input.ts';
import { errorDocument, printExact, printJson } from '../terminal/io.ts';
import { isGone, streams } from '../terminal/streams.ts';

interface CanonCommandOptions extends DocumentOptions {
  lines?: boolean;
}

export function define(command: Command): void {
  command
    .argument('[file]', 'the document; - is standard input', '-')
    .addOption(profileOption())
    .option('--lines', 'read one document a line, answer each with a line of JSON')
    .use(parsingOptions)
    .helpText(`
Without --lines the canonical bytes are written and nothing else, not even a newline.
With --lines each line is answered by {"ok":true,"canonical":…,"digest":…} or {"ok":false,"code":…,"message":…};
the exit code is then 0 when every line was answered.

Example:
  $ echo '{"b":1.0,"a":"é"}' | bulla canon --profile jcs
  {"a":"é","b":1}`)
    .run((file: string, options: CanonCommandOptions) =>
      (options.lines ? answerLines : writeOne)(file, options),
    );
}

async function writeOne(file: string, options: CanonCommandOptions) {
  const value = parse(readDocument(file, 'chain'), options);
  await printExact(canonicalBytes(value, options.profile, canonOptions(options)));
}

async function answerLines(file: string, options: CanonCommandOptions) {
  const source = file === '-' ? process.stdin : createReadStream(file);
  for await (const line of lines(source, options.maxBytes)) {
    await printJson(answer(line, options));
    // The input may have no end.
    if (isGone(streams.stdout)) break;
  }
}

function answer(line: Uint8Array, options: CanonCommandOptions): unknown {
  try {
    const canonical = canonicalize(parse(line, options), options.profile, canonOptions(options));
    return { ok: true, canonical, digest: digestText(canonical, options.profile) };
  } catch (error) {
    if (error instanceof BullaError) return errorDocument(error);
    throw error;
  }
}
