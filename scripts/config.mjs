/**
 * Writes the published JSON Schema of `bulla.json`, and the table of its members in docs/config.md, from the table of
 * the loader: `npm run config`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { CONFIG } from '../packages/bulla/src/app/config/table.ts';

const SCHEMA = new URL('../packages/bulla/schema/bulla.schema.json', import.meta.url);
const DOCUMENT = new URL('../docs/config.md', import.meta.url);

/** The example of the documentation, which is that of the schema too. */
export function exampleOf(document) {
  return JSON.parse(/^```json\n([\s\S]*?)^```$/m.exec(document)[1]);
}

/** The published schema. */
export function schemaDocument(document) {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'bulla.json',
    description: 'What `bulla guard --config bulla.json` guards, for whom, and where it is recorded.',
    ...CONFIG.schema,
    examples: [exampleOf(document)],
  };
}

const BEGIN = '<!-- Members: written by `npm run config`. -->\n';
const END = '<!-- End of members. -->\n';

/** The documentation with the table of members. */
export function configDocument(document) {
  const [before, rest] = document.split(BEGIN);
  return `${before}${BEGIN}\n${memberTable()}\n${END}${rest.split(END)[1]}`;
}

function memberTable() {
  const rows = membersOf(CONFIG.schema, '').map(([name, type, description]) =>
    row(`\`${name}\``, type, description.replaceAll('|', '\\|')),
  );
  return `${[row('member', 'value', 'what it says'), '|---|---|---|', ...rows].join('\n')}\n`;
}

const row = (...cells) => `| ${cells.join(' | ')} |`;

/** Every member, in the order of the table, with the way to it; `*` is a name that the writer chooses. */
export function membersOf(schema, path, isAlternative = false) {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    // What chooses one of several forms is required there, and nowhere else.
    const needed = !isAlternative && schema.required?.includes(name);
    const choice = schema.oneOf?.some(({ required }) => required.includes(name));
    const others = schema.oneOf?.flatMap(({ required }) => required).filter((other) => other !== name);
    const [owner] = schema.dependentRequired?.[name] ?? [];
    const when = needed
      ? 'Required. '
      : choice
        ? `Either this or \`${others.join('`, `')}\`. `
        : owner === undefined
          ? ''
          : `With \`${owner}\`. `;
    const at = `${path}${name}`;
    return [[at, typeOf(inner), `${when}${inner.description}`], ...membersOf(inner, `${at}.`)];
  });
  const named = schema.additionalProperties;
  const inside = typeof named === 'object' ? membersOf(named, `${path}*.`) : [];
  const items = schema.items === undefined ? [] : membersOf(schema.items, path);
  return [...own, ...inside, ...items, ...(schema.anyOf ?? []).flatMap((one) => membersOf(one, path, true))];
}

function typeOf(schema) {
  if (schema.title) return schema.title;
  if (schema.enum) return schema.enum.map((word) => `\`${word}\``).join(', ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items)}`;
  return schema.type;
}

/** The files that are written, with their texts. */
export function configFiles() {
  const document = readFileSync(DOCUMENT, 'utf8');
  return [
    [SCHEMA, `${JSON.stringify(schemaDocument(document), null, 2)}\n`],
    [DOCUMENT, configDocument(document)],
  ];
}

if (import.meta.main) for (const [file, text] of configFiles()) writeFileSync(file, text);
