import { BullaError } from '@bulla/core/error';
import { type ManifestProblem, type ManifestReport, validateManifest } from '@bulla/core/manifest';
import { counted } from '@bulla/core/text';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import {
  colors,
  complain,
  EXIT,
  type Exit,
  errorDocument,
  print,
  printJson,
  type ReportOptions,
  reportOptions,
} from '../terminal/io.ts';

export function defineValidate(command: Command): void {
  command
    .subcommand('validate', 'Tell whether manifests are valid, with all that is to be mended and how.')
    .argument('<file...>', 'the manifests; - is standard input')
    .use(reportOptions)
    .helpText(`
Exits with 0 if all are valid, 1 if one is not, 2 for what cannot be read or is not JSON.

Examples:
  $ bulla manifest validate manifest.json
  $ bulla manifest validate --json agents/*/manifest.json`)
    .run(validate);
}

async function validate(files: string[], options: ReportOptions): Promise<Exit> {
  const reports: Record<string, unknown>[] = [];
  const exits = new Set<Exit>();
  for (const file of files) {
    try {
      const bytes = readInput(file, 'document');
      const report = validateManifest(bytes);
      exits.add(exitOf(report));
      reports.push(documentOf(file, report));
      if (!options.json && !options.quiet) await print(textOf(file, bytes, report));
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      exits.add(EXIT.usage);
      reports.push({ file, ...errorDocument(error) });
      complain(error, file);
    }
  }
  if (options.json) await printJson({ ok: exits.size === 1 && exits.has(EXIT.good), files: reports });
  return [EXIT.bad, EXIT.usage].find((exit) => exits.has(exit)) ?? EXIT.good;
}

/** A text that is not JSON is no manifest at all. */
function exitOf({ manifest, problems }: ManifestReport): Exit {
  if (manifest !== null) return EXIT.good;
  return problems[0]!.code.startsWith('JSON_') ? EXIT.usage : EXIT.bad;
}

function documentOf(file: string, { manifest, problems, count, warnings, bytes }: ManifestReport) {
  return { file, ok: manifest !== null, hash: manifest?.hash ?? null, bytes, count, problems, warnings };
}

function textOf(
  file: string,
  source: Uint8Array,
  { manifest, problems, count, warnings }: ManifestReport,
): string[] {
  const head =
    manifest === null
      ? [`${colors.red('BAD')}   ${file}: ${counted(count, 'problem')}`]
      : [
          `${colors.green('good')}  ${file}: ${counted(manifest.tools.length, 'tool')}, ${counted(manifest.permission_scopes.length, 'scope')}, ${manifest.bytes} bytes`,
          `      ${manifest.hash}`,
        ];
  return [
    ...head,
    ...problems.flatMap((problem) => problemLines(problem, source, colors.red('problem'))),
    ...(count > problems.length ? [`  and ${count - problems.length} more`] : []),
    ...warnings.flatMap((warning) => problemLines(warning, source, colors.yellow('warning'))),
  ];
}

/** A problem as people read it: where, what, and how to mend it. Its words are safe to show, but its path is not. */
export function problemLines(
  { code, path, message, hint, offset }: ManifestProblem,
  source: Uint8Array | null,
  mark: string,
): string[] {
  const place = source === null || offset === undefined ? '' : `${lineAndColumn(source, offset)} `;
  const where = path === '' ? '' : ` ${colors.dim(path)}`;
  return [
    `  ${place}${mark}${where}`,
    `    ${message} ${colors.dim(`[${code}]`)}`,
    `    ${colors.dim('→')} ${hint}`,
  ];
}

function lineAndColumn(source: Uint8Array, offset: number): string {
  const before = Buffer.from(source.buffer, source.byteOffset, Math.min(offset, source.length)).toString(
    'utf8',
  );
  const lines = before.split('\n');
  return `${lines.length}:${Array.from(lines.at(-1)!).length + 1}`;
}
