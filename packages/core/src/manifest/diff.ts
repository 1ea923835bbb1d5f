import { type JsonNumber, type JsonObject, type JsonValue, pointer, sameValue } from '../json/index.ts';
import type { SchemaComparison } from '../schema/index.ts';
import { CHANGE_CODES, type ChangeCode } from './diff-codes.ts';
import { schemaChange } from './diff-schema.ts';
import { listed, quoted } from './problems.ts';
import { type Moves, scopeMoves, toolMoves } from './renames.ts';
import {
  compareSensitivity,
  FLAGS,
  type Manifest,
  type Scope,
  type Sensitivity,
  type Tool,
} from './types.ts';

/** What a change is about. */
export type SubjectKind = 'tool' | 'scope' | 'flag' | 'manifest';

/** One difference between two manifests. */
export interface ManifestChange {
  readonly code: ChangeCode;
  /** JSON Pointer into the new manifest; into the old one for what is gone. */
  readonly path: string;
  /** A sentence. What it quotes of the manifests is visible and cannot end a line. */
  readonly message: string;
  readonly kind: SubjectKind;
  /** The name of the tool, the id of the scope, or the flag; empty for the manifest. */
  readonly name: string;
  /** What the member was and is, if it is a text, a number or a word. */
  readonly before?: string;
  readonly after?: string;
  /** Of a new tool: what it takes. */
  readonly input?: JsonObject;
  /** Of an `input_schema`: what the change means to a caller. */
  readonly schema?: SchemaComparison;
}

/** What a new manifest changes, by whether people must review it. */
export interface ManifestDiff {
  readonly breaking: readonly ManifestChange[];
  readonly non_breaking: readonly ManifestChange[];
}

/**
 * What a new manifest changes. Every change that its hash tells of is told here, at least once; manifests with the
 * same hash have no changes. The table `CHANGE_CODES` decides what is breaking.
 */
export function diffManifests(before: Manifest, after: Manifest): ManifestDiff {
  const changes = new Changes();
  if (before.hash !== after.hash) {
    const scopes = scopeMoves(before, after);
    const nowCalled = new Map(scopes.renamed.map(([from, to]) => [from.id, to.id]));
    const scopeNow = (id: string) => nowCalled.get(id) ?? id;
    diffTools(before, after, scopeNow, changes);
    diffScopes(before, after, scopes, changes);
    diffFlags(before, after, changes);
    diffWhole(before, after, changes);
  }
  return changes.split();
}

/** Collects changes about one thing after another. */
class Changes {
  readonly #all: ManifestChange[] = [];
  #subject: { kind: SubjectKind; name: string; at: readonly (string | number)[] } = {
    kind: 'manifest',
    name: '',
    at: [],
  };

  about(kind: SubjectKind, name: string, at: readonly (string | number)[]): void {
    this.#subject = { kind, name, at };
  }

  add(
    code: ChangeCode,
    below: readonly string[],
    message: string,
    more: Pick<ManifestChange, 'before' | 'after' | 'schema' | 'input'> = {},
  ): void {
    const { kind, name, at } = this.#subject;
    this.#all.push({ code, path: pointer([...at, ...below]), message, kind, name, ...more });
  }

  split(): ManifestDiff {
    const isBreaking = ({ code }: ManifestChange) => CHANGE_CODES[code].breaking;
    return {
      breaking: this.#all.filter(isBreaking),
      non_breaking: this.#all.filter((change) => !isBreaking(change)),
    };
  }
}

/** Of each name its place in a list. */
function places(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name, i) => [name, i]));
}

function diffTools(
  before: Manifest,
  after: Manifest,
  scopeNow: (id: string) => string,
  changes: Changes,
): void {
  const moves = toolMoves(before, after, scopeNow);
  const [was, is] = [
    places(before.tools.map(({ name }) => name)),
    places(after.tools.map(({ name }) => name)),
  ];
  const from = new Map(moves.renamed.map(([old, now]) => [now.name, old]));
  const added = new Set(moves.added);
  for (const tool of after.tools) {
    changes.about('tool', tool.name, ['tools', is.get(tool.name)!]);
    const former = from.get(tool.name);
    const old = former ?? before.tools[was.get(tool.name) ?? -1];
    if (former !== undefined) {
      const message = `The tool ${quoted(former.name)} is now called ${quoted(tool.name)}.`;
      changes.add('tool-renamed', ['name'], message, { before: former.name, after: tool.name });
    }
    if (old !== undefined)
      diffTool(
        { manifest: before, tool: old, i: was.get(old.name)! },
        { manifest: after, tool, i: is.get(tool.name)! },
        scopeNow,
        changes,
      );
    else if (added.has(tool))
      changes.add('tool-added', [], addedWords(tool, before, after), { input: tool.input_schema });
  }
  for (const { name } of moves.removed) {
    changes.about('tool', name, ['tools', was.get(name)!]);
    changes.add('tool-removed', [], `The tool ${quoted(name)} is gone.`);
  }
  changes.about('manifest', '', ['tools']);
  const kept = after.tools.map(({ name }) => from.get(name)?.name ?? name).filter((name) => was.has(name));
  if (isReordered(kept, was)) changes.add('tools-reordered', [], 'The tools stand in another order.');
}

function isReordered(kept: readonly string[], was: ReadonlyMap<string, number>): boolean {
  return kept.some((name, i) => i > 0 && was.get(kept[i - 1]!)! > was.get(name)!);
}

/** A new tool under a scope that is not new may run without a further question. */
function addedWords({ name, permission_scope: scope }: Tool, before: Manifest, after: Manifest): string {
  const { sensitivity } = scopeOf(after, scope);
  const known = before.permission_scopes.some(({ id }) => id === scope);
  const covered = known ? ', which people may have allowed already' : ', which is new too';
  return `The tool ${quoted(name)} is new. It needs ${quoted(scope)} (${sensitivity})${covered}.`;
}

function scopeOf(manifest: Manifest, id: string): Scope {
  return manifest.permission_scopes.find((scope) => scope.id === id)!;
}

/** A tool, in its manifest and at its place there. */
interface Side {
  readonly manifest: Manifest;
  readonly tool: Tool;
  readonly i: number;
}

function diffTool(before: Side, after: Side, scopeNow: (id: string) => string, changes: Changes): void {
  const [old, now] = [before.tool, after.tool];
  if (!sameValue(old.input_schema, now.input_schema, sameDouble)) {
    const { message, schema } = schemaChange(now.name, old.input_schema, now.input_schema);
    changes.add('input-schema-changed', ['input_schema'], message, { schema });
  }
  if (scopeNow(old.permission_scope) !== now.permission_scope) diffToolScope(before, after, changes);
  if (old.description_i18n_key !== now.description_i18n_key) {
    const message = `The tool ${quoted(now.name)} is described by another text.`;
    const texts = { before: old.description_i18n_key, after: now.description_i18n_key };
    changes.add('tool-description-changed', ['description_i18n_key'], message, texts);
  }
  diffTimeout(before, after, changes);
  diffRequired(before, after, changes);
}

/** A manifest holds no number that is not a double, so that two are one in the canonical form when their doubles are. */
function sameDouble(a: JsonNumber, b: JsonNumber): boolean {
  return a.toNumber() === b.toNumber();
}

function diffToolScope(before: Side, after: Side, changes: Changes): void {
  const was = scopeOf(before.manifest, before.tool.permission_scope);
  const is = scopeOf(after.manifest, after.tool.permission_scope);
  const step = compareSensitivity(is.sensitivity, was.sensitivity);
  const code = step > 0 ? 'tool-scope-raised' : step < 0 ? 'tool-scope-lowered' : 'tool-scope-moved';
  const how = step > 0 ? 'a graver scope' : step < 0 ? 'a milder scope' : 'another scope of the same level';
  const message = `The tool ${quoted(after.tool.name)} moved to ${how}: from ${scopeWords(was)} to ${scopeWords(is)}.`;
  changes.add(code, ['permission_scope'], message, { before: was.id, after: is.id });
}

function scopeWords({ id, sensitivity }: Scope): string {
  return `${quoted(id)} (${sensitivity})`;
}

/** Whether the manifest writes the member, or leaves it to its default. */
function writes({ manifest, i }: Side, key: string): boolean {
  return ((manifest.document.get('tools') as JsonValue[])[i] as JsonObject).has(key);
}

function diffTimeout(before: Side, after: Side, changes: Changes): void {
  const [was, is] = [before.tool.timeout_ms, after.tool.timeout_ms];
  if (was !== is) {
    const effect = is < was ? 'calls that take longer fail from now on' : 'calls may take longer';
    const message = `A call of ${quoted(after.tool.name)} may take ${is} ms, where it was ${was} ms: ${effect}.`;
    changes.add('timeout-changed', ['timeout_ms'], message, { before: String(was), after: String(is) });
  } else if (writes(before, 'timeout_ms') !== writes(after, 'timeout_ms')) {
    const how = writes(after, 'timeout_ms') ? 'now written' : 'no longer written';
    const message = `The default of ${is} ms is ${how} for ${quoted(after.tool.name)}; it was meant before.`;
    changes.add('timeout-changed', ['timeout_ms'], message);
  }
}

function diffRequired(before: Side, after: Side, changes: Changes): void {
  const [was, is, name] = [before.tool.required, after.tool.required, quoted(after.tool.name)];
  const at = ['required'];
  if (is && !was) changes.add('tool-required', at, `The agent now says that it cannot do without ${name}.`);
  else if (was && !is) changes.add('tool-not-required', at, `The agent can now do without ${name}.`);
  else if (writes(before, 'required') !== writes(after, 'required')) {
    const how = writes(after, 'required') ? 'now written' : 'no longer written';
    changes.add('required-written', at, `\`required\` is ${how} for ${name}; false was meant before.`);
  }
}

function diffScopes(before: Manifest, after: Manifest, moves: Moves<Scope>, changes: Changes): void {
  const was = places(before.permission_scopes.map(({ id }) => id));
  const from = new Map(moves.renamed.map(([old, now]) => [now.id, old]));
  for (const [i, scope] of after.permission_scopes.entries()) {
    changes.about('scope', scope.id, ['permission_scopes', i]);
    const former = from.get(scope.id);
    const old = former ?? before.permission_scopes[was.get(scope.id) ?? -1];
    if (former !== undefined) {
      const message = `The scope ${quoted(former.id)} is now ${quoted(scope.id)}.${toolWords(after, scope.id)}`;
      changes.add('scope-renamed', ['id'], message, { before: former.id, after: scope.id });
    }
    if (old !== undefined) diffScope(old, scope, after, changes);
    else
      changes.add('scope-added', [], `The scope ${scopeWords(scope)} is new.${toolWords(after, scope.id)}`);
  }
  for (const { id } of moves.removed) {
    changes.about('scope', id, ['permission_scopes', was.get(id)!]);
    changes.add('scope-removed', [], `The scope ${quoted(id)} is gone.${toolWords(before, id, 'was')}`);
  }
  changes.about('manifest', '', ['permission_scopes']);
  const kept = after.permission_scopes.map(({ id }) => from.get(id)?.id ?? id).filter((id) => was.has(id));
  if (isReordered(kept, was)) changes.add('scopes-reordered', [], 'The scopes stand in another order.');
}

const MAX_TOOLS = 5;

/** ` It is needed by "a" and "b".`: the tools that a change of the scope bears upon. */
function toolWords({ tools }: Manifest, scope: string, verb = 'is'): string {
  const own = tools
    .filter(({ permission_scope }) => permission_scope === scope)
    .map(({ name }) => quoted(name));
  if (own.length === 0) return '';
  const shown =
    own.length <= MAX_TOOLS ? own : [...own.slice(0, MAX_TOOLS - 1), `${own.length - MAX_TOOLS + 1} more`];
  return ` It ${verb} needed by ${listed(shown)}.`;
}

const ASKED: Readonly<Record<Sensitivity, string>> = {
  low: 'nobody is asked',
  medium: 'a person is asked first, and then not for 24 hours in the same session',
  high: 'a person is asked at every call',
};

function diffScope(old: Scope, now: Scope, after: Manifest, changes: Changes): void {
  const step = compareSensitivity(now.sensitivity, old.sensitivity);
  if (step !== 0) {
    const code = step > 0 ? 'sensitivity-raised' : 'sensitivity-lowered';
    const how = `was ${old.sensitivity} and is now ${now.sensitivity}: ${ASKED[now.sensitivity]}`;
    const message = `The sensitivity of ${quoted(now.id)} ${how}.${toolWords(after, now.id)}`;
    changes.add(code, ['sensitivity'], message, { before: old.sensitivity, after: now.sensitivity });
  }
  if (old.label_i18n_key !== now.label_i18n_key) {
    const message = `The scope ${quoted(now.id)} is called by another text.`;
    const texts = { before: old.label_i18n_key, after: now.label_i18n_key };
    changes.add('scope-label-changed', ['label_i18n_key'], message, texts);
  }
  const [was, is] = [old.description_i18n_key, now.description_i18n_key];
  if (was === is) return;
  const how =
    was === undefined
      ? 'now has a description'
      : is === undefined
        ? 'has no description any more'
        : 'is described by another text';
  changes.add('scope-description-changed', ['description_i18n_key'], `The scope ${quoted(now.id)} ${how}.`, {
    ...(was === undefined ? {} : { before: was }),
    ...(is === undefined ? {} : { after: is }),
  });
}

function diffFlags(before: Manifest, after: Manifest, changes: Changes): void {
  for (const flag of FLAGS) {
    const [was, is] = [before.capability_flags[flag], after.capability_flags[flag]];
    if (was === is) continue;
    changes.about('flag', flag, ['capability_flags', flag]);
    const told = { before: String(was), after: String(is) };
    if (is) changes.add('flag-announced', [], `\`${flag}\` is new: it was false and is now true.`, told);
    else changes.add('flag-withdrawn', [], `\`${flag}\` is withdrawn: it was true and is now false.`, told);
  }
}

function diffWhole(before: Manifest, after: Manifest, changes: Changes): void {
  changes.about('manifest', '', []);
  const [was, is] = [before.agent_version, after.agent_version];
  if (was !== is) {
    const message = `The agent calls itself version ${quoted(is)}, where it was ${quoted(was)}.`;
    changes.add('agent-version-changed', ['agent_version'], message, { before: was, after: is });
  }
}
