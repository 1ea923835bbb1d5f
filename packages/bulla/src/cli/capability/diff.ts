import {
  compareSnapshots,
  diffCapabilityLinks,
  explainCapabilityLinkField,
  explainCapabilityLinkRelationship,
  type SnapshotDiff,
} from '@bulla/core/capability';
import { JsonNumber, JsonObject } from '@bulla/core/json';
import type { Command } from '../command.ts';
import { EXIT, type Exit, print, printExact, printJson } from '../terminal/io.ts';
import { SOURCE_HELP, type SourceOptions, sourceOptions, sourcesOf, tellOpaque } from './source.ts';
import { diffText, fieldRows } from './text.ts';

export function defineDiff(command: Command): void {
  command
    .subcommand('diff', 'Show what differs between two agents, or one agent in two environments.')
    .argument('[sources...]', 'two of: modules, envelopes, links')
    .use(sourceOptions)
    .helpText(`${SOURCE_HELP}
Exits with 0 when they are the same, 1 when they differ, 2 when one of them cannot be read or does not recompute.

Examples:
  $ bulla capability diff yesterday.envelope.json today.envelope.json
  $ bulla capability diff ./agent.ts ./agent.ts -e free.json -e pro.json`)
    .run(diff);

  command
    .subcommand('explain', 'Say in words how two runs stand to each other, and which hash says so.')
    .argument('[sources...]', 'two of: modules, envelopes, links')
    .use(sourceOptions)
    .helpText(`${SOURCE_HELP}
Exits with 0 when they are the same, 1 when they differ, 2 when one of them cannot be read or does not recompute.`)
    .run(explain);
}

async function diff(words: string[], options: SourceOptions): Promise<Exit> {
  const sources = await sourcesOf(words, options, 2);
  const [first, second] = [sources[0]!, sources[1]!];
  const compared = compareSnapshots(
    first.input,
    second.input,
    options.profile && { profile: options.profile },
  );
  if (compared.exitCode === 2) throw compared.error;
  const { diff: found } = compared;
  if (options.json)
    await printExact(`${jsonText({ ok: found.same, first: first.name, second: second.name, ...found })}\n`);
  else if (!options.quiet) await print(`${diffText(found, first, second)}\n`);
  tellOpaque(sources, options);
  return found.same ? EXIT.good : EXIT.bad;
}

async function explain(words: string[], options: SourceOptions): Promise<Exit> {
  const sources = await sourcesOf(words, options, 2);
  const [first, second] = [sources[0]!, sources[1]!];
  const { changed, unchanged } = diffCapabilityLinks(first.link, second.link);
  const explanation = explainCapabilityLinkRelationship(first.link, second.link);
  const told = changed.map((row) => ({ ...row, meaning: explainCapabilityLinkField(row.field) }));
  if (options.json) {
    const document = { first: first.name, second: second.name, explanation, changed: told, unchanged };
    await printJson({ ok: changed.length === 0, ...document });
  } else if (!options.quiet) {
    await print(`${[explanation, '', ...fieldRows(first.link, second.link)].join('\n')}\n`);
  }
  tellOpaque(sources, options);
  return changed.length === 0 ? EXIT.good : EXIT.bad;
}

/** One document; numbers of schemas keep the digits that they came with. */
function jsonText(document: SnapshotDiff & { readonly ok: boolean; first: string; second: string }): string {
  return JSON.stringify(document, (_, value: unknown) => {
    if (value instanceof JsonNumber) return (JSON as unknown as RawJson).rawJSON(value.lexeme);
    if (!(value instanceof JsonObject)) return value;
    const members: Record<string, unknown> = Object.create(null);
    for (const [key, member] of value) members[key] = member;
    return members;
  });
}

/** Known to the engine, and not yet to the compiler. */
interface RawJson {
  rawJSON(text: string): unknown;
}
