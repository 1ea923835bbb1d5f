import { BullaError } from '../error.ts';
import { JsonObject, type JsonValue, pointer, stringify } from '../json/index.ts';
import { type Lock, riskKeywords, riskLevel } from '../lock/index.ts';
import { normalized } from '../text/index.ts';
import { type Bindings, createBindings, isBindable, type ServerTool } from './bindings.ts';
import { draftSchema, type SchemaNote } from './draft-schema.ts';
import { quoted } from './problems.ts';
import { FLAGS, type Sensitivity } from './types.ts';
import { type ManifestReport, validateManifest } from './validate.ts';

/** Something that a person should know or decide before a draft becomes a manifest. */
interface DraftNote {
  readonly code: SchemaNote['code'] | 'name-changed' | 'schema-missing' | 'scope-proposed' | 'to-fill-in';
  /** JSON Pointer into the draft. */
  readonly path: string;
  /** A sentence. What it quotes of the server is visible and cannot end a line. */
  readonly message: string;
}

export interface ManifestDraft {
  readonly document: JsonObject;
  /** Which tool of the server each of the draft's is. */
  readonly bindings: Bindings;
  /** The texts of its keys, for a person to edit: what the server says of its tools, and a label for each scope. */
  readonly catalogue: Readonly<Record<string, string>>;
  readonly notes: readonly DraftNote[];
  /** What is still to be mended. */
  readonly report: ManifestReport;
}

/** The actions under which tools are gathered, and why. Nothing is proposed `low`: who is not asked, a person decides. */
const ACTIONS: Readonly<Record<string, { sensitivity: Sensitivity; because: string }>> = {
  destroy: { sensitivity: 'high', because: 'the server says that it can destroy' },
  reach: { sensitivity: 'high', because: 'the server says that it reaches into the open world' },
  run: { sensitivity: 'high', because: 'its words tell of danger' },
  read: { sensitivity: 'medium', because: 'the server says that it only reads, which lowers nothing' },
  use: { sensitivity: 'medium', because: 'nothing is known of it' },
};

/**
 * Drafts a manifest from what a lock holds of a server, for a person to edit: names in snake_case, schemas closed
 * where that is lawful, a scope for each kind of tool. What the server says of a tool (annotations) can raise a
 * sensitivity and lowers none. `server` is what the operator calls it; scopes are named after it. Throws
 * `LOCK_NO_DEFINITIONS` for a lock that holds no definitions, and as `createBindings` does.
 */
export function draftFromLock(lock: Lock, server: string): ManifestDraft {
  if (lock.native === null)
    throw new BullaError(
      'LOCK_NO_DEFINITIONS',
      'The lock holds hashes of the tools and not the tools themselves.',
    );
  const notes: DraftNote[] = [];
  const note = (code: DraftNote['code'], at: (string | number)[], message: string) =>
    notes.push({ code, path: pointer(at), message });
  const domain = snakeCase(server) || 'server';
  const texts: [string, string][] = [];
  const bound: [string, ServerTool][] = [];
  const taken = new Map<string, number>();
  const used = new Set<string>();
  const tools = [...lock.native.tools].map(([key, { definition }], i): JsonValue => {
    const source = definition as JsonObject;
    const name = unused(snakeCase(key) || `tool_${i + 1}`, taken);
    if (isBindable(key)) bound.push([name, { server, tool: key }]);
    else note('to-fill-in', ['tools', i, 'name'], 'What the server calls it cannot be bound to.');
    if (name !== key) note('name-changed', ['tools', i, 'name'], `The server calls it ${quoted(key)}.`);
    const action = actionOf(key, source);
    const scope = `${domain}:${action}`;
    used.add(action);
    const { sensitivity, because } = ACTIONS[action]!;
    const words = action === 'run' ? ` (${riskKeywords(key, description(source)).join(', ')})` : '';
    note(
      'scope-proposed',
      ['tools', i, 'permission_scope'],
      `${quoted(scope)} (${sensitivity}): ${because}${words}.`,
    );
    const input = source.get('inputSchema');
    if (!(input instanceof JsonObject))
      note('schema-missing', ['tools', i, 'input_schema'], 'The server does not say what it takes.');
    const drafted = draftSchema(input);
    for (const { code, message } of drafted.notes) note(code, ['tools', i, 'input_schema'], message);
    const textKey = `agent.tools.${name}.desc`;
    if (description(source) !== '') texts.push([textKey, description(source)]);
    return JsonObject.from([
      ['name', name],
      ['description_i18n_key', textKey],
      ['input_schema', drafted.schema],
      ['permission_scope', scope],
    ]);
  });
  const scopes = Object.keys(ACTIONS).filter((action) => used.has(action));
  for (const action of scopes) texts.push([labelKey(domain, action), `${server}: ${action}`]);
  const document = JsonObject.from([
    ['schema_version', '1.0'],
    ['agent_version', '0.1.0'],
    ['tools', tools],
    ['permission_scopes', scopes.map((action) => scopeDraft(domain, action))],
    ['capability_flags', JsonObject.from(FLAGS.map((flag) => [flag, false]))],
  ]);
  note('to-fill-in', ['agent_version'], 'Write the version of your agent.');
  note(
    'to-fill-in',
    ['capability_flags'],
    'Say what your agent supports: a lock of a tool server does not tell.',
  );
  const bindings = createBindings(
    bound,
    bound.map(([name]) => name),
  );
  const catalogue = Object.fromEntries(texts);
  return { document, bindings, catalogue, notes, report: validateManifest(stringify(document)) };
}

function scopeDraft(domain: string, action: string): JsonObject {
  return JsonObject.from([
    ['id', `${domain}:${action}`],
    ['label_i18n_key', labelKey(domain, action)],
    ['sensitivity', ACTIONS[action]!.sensitivity],
  ]);
}

function labelKey(domain: string, action: string): string {
  return `agent.scopes.${domain}_${action}.label`;
}

function description(tool: JsonObject): string {
  const text = tool.get('description');
  return typeof text === 'string' ? text : '';
}

/** The gravest kind that anything tells of. */
function actionOf(name: string, tool: JsonObject): string {
  const annotations = tool.get('annotations');
  const says = (hint: string) => annotations instanceof JsonObject && annotations.get(hint) === true;
  if (says('destructiveHint')) return 'destroy';
  if (says('openWorldHint')) return 'reach';
  if (riskLevel(name, description(tool)) === 'HIGH') return 'run';
  return says('readOnlyHint') ? 'read' : 'use';
}

/** `readFile`, `read-file` and `Read File` as `read_file`; empty where no ASCII letter is left. */
export function snakeCase(name: string): string {
  return normalized(name, 'NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[_0-9]+|_+$/g, '');
}

/** The name, with a number behind it where it is taken; `taken` has the last number of each. */
function unused(name: string, taken: Map<string, number>): string {
  let free = name;
  let last = taken.get(name) ?? 1;
  while (taken.has(free)) free = `${name}_${++last}`;
  taken.set(name, last);
  taken.set(free, taken.get(free) ?? 1);
  return free;
}
