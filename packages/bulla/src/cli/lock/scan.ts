import { BullaError } from '@bulla/core/error';
import { type JsonObject, stringify } from '@bulla/core/json';
import { LIST_KINDS, LISTS, type ListKind, riskOf } from '@bulla/core/lock';
import { counted, visible } from '@bulla/core/text';
import { findingsOf, type ScanFinding, scanServer, targetFor } from '../../app/index.ts';
import { describeTarget } from '../../locks/index.ts';
import type { Surface, Target } from '../../mcp/index.ts';
import type { Command } from '../command.ts';
import { escaped, indented } from '../terminal/indented.ts';
import { colors, EXIT, type Exit, exitOf, print, printExact, type ReportOptions } from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';
import { type ConfineOptions, confinementOf, confineOptions } from './confine.ts';
import { failureDocument, scanDocument, textOf } from './scan-document.ts';
import { accessOf, SERVER_HELP, type ServerOptions, scanning, serverOptions } from './server.ts';

interface ScanOptions extends ServerOptions, ConfineOptions, ReportOptions {
  pretty?: boolean;
  text?: boolean;
}

export function define(command: Command): void {
  command
    .argument('[server...]', 'the server, after --')
    .use(serverOptions, confineOptions)
    .option('-p, --pretty', 'print the JSON document in lines')
    .option('--json', 'print one JSON document, as into a pipe')
    .option('--text', 'print what people read, as on a terminal')
    .option('--quiet', 'print nothing; the exit code tells')
    .helpText(`${SERVER_HELP}
Exits with 0 when everything was read to its end, with 3 when it was not; then the document has an error.

Examples:
  $ bulla scan -- npx -y @modelcontextprotocol/server-everything
  $ bulla scan -p -- https://mcp.example.com/mcp`)
    .run(scanOne);
}

async function scanOne(words: string[], options: ScanOptions): Promise<Exit> {
  const target = targetFor({ server: words, env: options.env }, null);
  const asText = options.text ?? (streams.stdout.isTTY && !options.json && !options.pretty);
  const write = (document: JsonObject) => {
    const text = escaped(stringify(document, Number.POSITIVE_INFINITY));
    return options.quiet ? undefined : printExact(`${options.pretty ? indented(text) : text}\n`);
  };
  try {
    const { surface } = await scanServer(
      target,
      { ...accessOf(options), confine: confinementOf(options) },
      scanning(asText === true && !options.quiet),
    );
    const findings = findingsOf(surface);
    if (!asText) await write(scanDocument(target, surface, findings, new Date()));
    else if (!options.quiet) await print(`${summary(target, surface, findings)}\n`);
    return EXIT.good;
  } catch (error) {
    if (asText || !(error instanceof BullaError) || exitOf(error) === EXIT.usage) throw error;
    await write(failureDocument(target, error, new Date()));
    return exitOf(error);
  }
}

const WORDS: Readonly<Record<ListKind, string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'resource template',
};

/** How many a server has of each, in words: `2 tools, 1 prompt, …`. */
export function countWords(surface: Surface): string[] {
  return LIST_KINDS.map((kind) => counted(surface[kind].length, WORDS[kind]));
}
const RISK = { LOW: colors.green, MEDIUM: colors.yellow, HIGH: colors.red };
const NAME_WIDTH = 28;

function summary(target: Target, surface: Surface, findings: readonly ScanFinding[]): string {
  const { serverInfo, protocolVersion, instructions } = surface;
  const own = [textOf(serverInfo, 'name'), textOf(serverInfo, 'version')].filter((part) => part !== '');
  const lists = LIST_KINDS.filter((kind) => surface[kind].length > 0).flatMap((kind) => [
    '',
    colors.bold(`${WORDS[kind]}s`),
    ...surface[kind].map((definition) => line(kind, definition)),
  ]);
  return [
    `${colors.bold(own.map((part) => visible(part)).join(' ') || '(no name)')}  ${colors.dim(visible(describeTarget(target)))}`,
    `${countWords(surface).join(', ')}; protocol ${visible(protocolVersion)}`,
    ...(instructions === null ? [] : [`${colors.dim('instructions')}  ${firstLine(instructions)}`]),
    ...lists,
    ...(findings.length === 0
      ? []
      : [
          '',
          colors.bold(colors.yellow(counted(findings.length, 'finding'))),
          ...findings.map((finding) => `  ${findingText(finding)}`),
        ]),
  ].join('\n');
}

function line(kind: ListKind, definition: JsonObject): string {
  const name = visible(textOf(definition, LISTS[kind])).padEnd(NAME_WIDTH);
  const description = firstLine(textOf(definition, 'description'));
  if (kind !== 'tools') return `  ${name} ${colors.dim(description)}`;
  const risk = riskOf(definition).level;
  return `  ${name} ${RISK[risk](risk.padEnd(6))} ${colors.dim(description)}`;
}

/** The first line of a text, cut to fit; that it goes on is shown. */
function firstLine(text: string): string {
  const width = Math.max(40, (streams.stdout.columns ?? 110) - NAME_WIDTH - 12);
  const shown = visible(text.trim().split('\n')[0]!, { ordinary: true });
  const isWhole = shown.length <= width && !text.trim().includes('\n');
  return isWhole ? shown : `${shown.slice(0, width - 1).toWellFormed()}…`;
}

/** A finding on one line, safe in a terminal. */
export function findingText({ code, path, message, hidden }: ScanFinding): string {
  const spelled = hidden === undefined ? '' : ` It spells ${JSON.stringify(visible(hidden))}.`;
  const place = path === '' ? '' : ` ${colors.dim(`(at ${visible(path)})`)}`;
  return `${message}${spelled}${place} ${colors.dim(`[${code}]`)}`;
}
