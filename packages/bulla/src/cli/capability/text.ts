import {
  type CapabilityLink,
  diffCapabilityLinks,
  explainCapabilityLinkField,
  formatHashShort,
  type SnapshotDiff,
  type ToolChange,
} from '@bulla/core/capability';
import { parsePointer, stringify } from '@bulla/core/json';
import { type DiffPart, visible } from '@bulla/core/text';
import type { CapabilitySource } from '../../app/index.ts';
import { colors, coloured } from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';

/** The hashes of a link, by the names that people use. */
const HASHES = {
  staticHash: 'static hash',
  runtimeHash: 'runtime hash',
  invocationHash: 'invocation hash',
  instructionsHash: 'instructions hash',
} as const;

/** A row for each hash and for whatever else of two links differs, with what the difference means. */
export function fieldRows(first: CapabilityLink, second: CapabilityLink): string[] {
  const { changed } = diffCapabilityLinks(first, second);
  const changedFields = new Map(changed.map((row) => [row.field, row]));
  const rows = (Object.keys(HASHES) as (keyof typeof HASHES)[]).flatMap((field) => {
    const label = HASHES[field].padEnd(18);
    const row = changedFields.get(field);
    changedFields.delete(field);
    if (row === undefined) {
      const hash = first[field];
      return hash === undefined ? [] : [`${label} ${colors.green('same')}     ${formatHashShort(hash)}`];
    }
    const [one, other] = [row.first, row.second].map((hash) =>
      hash === undefined ? 'none' : formatHashShort(hash),
    );
    return [`${label} ${colors.red('differs')}  ${one} → ${other}  ${explainCapabilityLinkField(field)}`];
  });
  const rest = [...changedFields.values()].map(
    ({ field, first: one, second: other }) =>
      `${field.padEnd(18)} ${colors.red('differs')}  ${visible(one ?? 'none')} → ${visible(other ?? 'none')}  ${explainCapabilityLinkField(field)}`,
  );
  return [...rest, ...rows];
}

/** A difference for people: the sentence, the hashes, then each thing that differs. */
export function diffText(diff: SnapshotDiff, first: CapabilitySource, second: CapabilitySource): string {
  const lines = [diff.explanation, '', ...fieldRows(first.link, second.link)];
  const section = (title: string, rows: readonly string[]) => {
    if (rows.length > 0) lines.push('', colors.bold(title));
    for (const row of rows) lines.push(`  ${row}`);
  };
  section('Enabled tools', toolRows(diff));
  section('Policies', policyRows(diff));
  section('Definition', definitionRows(diff));
  section('Text for the model', diff.instructions === undefined ? [] : quoted(diff.instructions));
  return lines.join('\n');
}

function toolRows({ tools, changes }: SnapshotDiff): string[] {
  const row = (mark: string) => (tool: { toolKey: string; toolHash: string }) =>
    `${mark} ${visible(tool.toolKey)} ${colors.dim(formatHashShort(tool.toolHash))}`;
  const changed = tools.hashChanged.flatMap(({ toolKey, firstHash, secondHash }) => {
    const hashes = colors.dim(`${formatHashShort(firstHash)} → ${formatHashShort(secondHash)}`);
    const change = changes.find((one) => one.toolKey === toolKey);
    return [`${colors.yellow('~')} ${visible(toolKey)} ${hashes}`, ...changeRows(change ?? {}).map(indent)];
  });
  const removed = tools.onlyInFirst.map(row(colors.red('-')));
  return [...removed, ...tools.onlyInSecond.map(row(colors.green('+'))), ...changed];
}

function changeRows(change: ToolChange): string[] {
  const { description, instructions, schema, opaque, policiesAdded, policiesRemoved, runtimeBinding } =
    change;
  const rows = [
    ...(description === undefined ? [] : ['Its description changed.', ...quoted(description)]),
    ...(instructions === undefined ? [] : ['Its instructions changed.', ...quoted(instructions)]),
  ];
  if (opaque)
    rows.push('Its schema changed; what it accepts cannot be told, because one of the two is opaque.');
  if (schema !== undefined) {
    rows.push(`Its schema ${RELATIONS[schema.relation]}.`);
    for (const { message } of schema.changes) rows.push(indent(visible(message)));
    if (schema.refused !== undefined) rows.push(indent(`Refused now: ${visible(stringify(schema.refused))}`));
  }
  for (const { id, executeBinding } of policiesRemoved ?? [])
    rows.push(`No longer gated by ${visible(id)} (${executeBinding}).`);
  for (const { id, executeBinding } of policiesAdded ?? [])
    rows.push(`Gated by ${visible(id)} (${executeBinding}).`);
  if (runtimeBinding !== undefined) {
    const { first, second } = runtimeBinding;
    const [one, other] = [first, second].map((text) => visible(text ?? 'nothing'));
    rows.push(`It stood on ${one}, and stands on ${other}.`);
  }
  return rows;
}

const RELATIONS = {
  same: 'is written differently and accepts the same',
  'accepts-less': 'accepts less',
  'accepts-more': 'accepts more',
  both: 'accepts some more and some less',
  unknown: 'changed; whether it accepts less or more cannot be told',
} as const;

function policyRows({ policies }: SnapshotDiff): string[] {
  if (policies === undefined) return [];
  const word = (allowed: boolean) => (allowed ? 'allowed' : 'denied');
  const one =
    (said: string) =>
    ({ policyId, allowed }: { policyId: string; allowed: boolean }) =>
      `${visible(policyId)}: ${word(allowed)}, asked only in the ${said}`;
  return [
    ...policies.valueChanged.map(
      ({ policyId, first, second }) => `${visible(policyId)}: ${word(first)} → ${word(second)}`,
    ),
    ...policies.onlyInFirst.map(one('first')),
    ...policies.onlyInSecond.map(one('second')),
    ...policies.changed.map(
      ({ field, first, second }) => `${field}: ${visible(first ?? 'none')} → ${visible(second ?? 'none')}`,
    ),
  ];
}

function definitionRows({ definition, tools }: SnapshotDiff): string[] {
  if (definition === undefined) return [];
  const shown = new Set(tools.hashChanged.map(({ toolKey }) => toolKey));
  const rows: string[] = [];
  const add = (more: readonly string[]) => {
    for (const row of more) rows.push(row);
  };
  add([
    ...definition.onlyInFirst.map((place) => `${colors.red('-')} ${visible(place)}`),
    ...definition.onlyInSecond.map((place) => `${colors.green('+')} ${visible(place)}`),
  ]);
  for (const change of definition.changed) {
    rows.push(`${colors.yellow('~')} ${visible(change.place)}`);
    if (change.kind !== 'tool') {
      if (change.instructions !== undefined)
        add(['Its instructions changed.', ...quoted(change.instructions)].map(indent));
      if (change.kind === 'dynamicToolkit') {
        for (const id of change.policiesRemoved ?? [])
          rows.push(indent(`No longer gated by ${visible(id)}.`));
        for (const id of change.policiesAdded ?? []) rows.push(indent(`Gated by ${visible(id)}.`));
      }
    } else if (!shown.has(nameIn(change.place))) add(changeRows(change).map(indent));
  }
  if (definition.agentInstructions !== undefined)
    add(["The agent's own lines changed.", ...quoted(definition.agentInstructions)]);
  return rows;
}

function nameIn(place: string): string {
  return parsePointer(place)!.at(-1)!;
}

const indent = (row: string) => `  ${row}`;

/** What somebody else wrote: every character seen, every line marked, so that it cannot pass for ours. */
function quoted(parts: readonly DiffPart[]): string[] {
  const inColour = coloured(streams.stdout);
  const painted = parts.map(({ kind, text }) => {
    const seen = visible(text, { newlines: true, tabs: true, ordinary: true }).replaceAll('\r\n', '\n');
    if (kind === 'same') return seen;
    if (inColour) return (kind === 'added' ? colors.green : colors.red)(seen);
    return kind === 'added' ? `{+${seen}+}` : `[-${seen}-]`;
  });
  return painted
    .join('')
    .split('\n')
    .map((line) => `| ${line}`);
}
