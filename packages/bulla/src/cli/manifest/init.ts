import { existsSync } from 'node:fs';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type JsonObject, stringify } from '@bulla/core/json';
import { readLock } from '@bulla/core/lock';
import { draftFromLock, type ManifestDraft } from '@bulla/core/manifest';
import { counted, visible } from '@bulla/core/text';
import { readInput, replaceFile } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { indented } from '../terminal/indented.ts';
import { EXIT, type Exit, printExact, type ReportOptions, say } from '../terminal/io.ts';
import { problemLines } from './validate.ts';

interface InitOptions extends ReportOptions {
  lock: string;
  server?: string;
  output?: string;
  bindings?: string;
  catalogue?: string;
  force?: boolean;
}

export function defineInit(command: Command): void {
  command
    .subcommand('init', 'Draft a manifest from a locked tool server, for a person to edit.')
    .option('-l, --lock <file>', 'the lockfile; it must hold the definitions', 'mcp-lock.json')
    .option(
      '--server <name>',
      'what you call the server, for scopes and bindings (default: what it calls itself)',
    )
    .option('-o, --output <file>', 'where to write it (default: standard output)')
    .option(
      '--bindings <file>',
      'where to write which tool of the server each is, for manifest push --bindings',
    )
    .option(
      '--catalogue <file>',
      'where to write what the server says of its tools, for --catalogue of consent and grants',
    )
    .option('-f, --force', 'replace the files if they are there')
    .option(
      '--json',
      'print one JSON document: the draft, the bindings, the texts, the notes and what is to be mended',
    )
    .option('--quiet', 'no notes')
    .helpText(`
Notes for the person who edits it go to standard error. Exits with 0 if the draft is valid as it is, 1 if something in
it must be mended first, 2 if the lock cannot be read or holds no definitions.

Example:
  $ bulla manifest init --lock mcp-lock.json -o manifest.json --bindings bindings.json --catalogue words.json`)
    .run(init);
}

async function init(options: InitOptions): Promise<Exit> {
  const { output, bindings, catalogue } = options;
  for (const file of [output, bindings, catalogue])
    if (file !== undefined && !options.force && existsSync(file))
      throw new BullaError('FILE_EXISTS', `${file} is there already; --force replaces it.`);
  const lock = readLock(readInput(options.lock, 'document'));
  const draft = draftFromLock(lock, options.server ?? (lock.serverName || 'server'));
  const text = `${indented(stringify(draft.document))}\n`;
  if (output !== undefined) replaceFile(output, toUtf8(text));
  if (bindings !== undefined) replaceFile(bindings, toUtf8(`${indented(draft.bindings.canonical)}\n`));
  if (catalogue !== undefined)
    replaceFile(catalogue, toUtf8(`${JSON.stringify(draft.catalogue, null, 2)}\n`));
  if (options.json) await printExact(`${documentOf(draft)}\n`);
  else if (output === undefined) await printExact(text);
  if (!options.json && !options.quiet) say(notesText(draft).trimEnd());
  return draft.report.manifest === null ? EXIT.bad : EXIT.good;
}

/** The draft is written by the lossless writer: its numbers are those of the lock. */
function documentOf({ document, bindings, catalogue, notes, report }: ManifestDraft): string {
  const told = {
    bindings: Object.fromEntries(bindings.tools),
    catalogue,
    notes,
    problems: report.problems,
    warnings: report.warnings,
  };
  const rest = JSON.stringify({ ok: report.manifest !== null, ...told });
  return `${rest.slice(0, -1)},"draft":${stringify(document)}}`;
}

function notesText({ document, bindings, notes, report }: ManifestDraft): string {
  const tools = (document.get('tools') as JsonObject[]).map((tool) => tool.get('name') as string);
  const lines = [`Drafted ${counted(tools.length, 'tool')}. Look at these before you use it:`];
  const renamed = [...bindings.tools].filter(([name, { tool }]) => name !== tool);
  if (renamed.length > 0) lines.push('  Names that are not what the server calls them:');
  for (const [name, { tool }] of renamed) lines.push(`    ${visible(tool)} → ${name}`);
  const others = notes.filter(({ code }) => code !== 'name-changed');
  for (const [message, own] of Map.groupBy(others, ({ message }) => message)) {
    lines.push(`  ${message}`);
    for (const line of wrapped(own.map(({ path }) => subjectOf(path, tools)))) lines.push(line);
  }
  if (report.manifest === null) lines.push('To be mended first:');
  const problems = report.problems.flatMap((problem) => problemLines(problem, null, 'problem'));
  return `${[...lines, ...problems].join('\n')}\n`;
}

/** The name of the tool that a path lies in, else the member of the manifest. */
function subjectOf(path: string, tools: readonly string[]): string {
  const index = /^\/tools\/(\d+)\//.exec(path)?.[1];
  return index === undefined ? path.slice(1) : tools[Number(index)]!;
}

/** Names in lines of at most some hundred characters. */
function wrapped(names: readonly string[]): string[] {
  const lines: string[] = [];
  for (const name of names) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + name.length < 100) lines[lines.length - 1] = `${last}, ${name}`;
    else lines.push(`    ${name}`);
  }
  return lines;
}
