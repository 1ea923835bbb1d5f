import { canonicalize } from '../canon/index.ts';
import { sha256Hex } from '../crypto/index.ts';
import { visible } from '../text/index.ts';
import type { Bound, Declared, DeclaredScope, Tool } from './rows.ts';
import { highest, SENSITIVITIES, type Sensitivity } from './sensitivity.ts';
import {
  flagText,
  type NamedScope,
  type NamedTool,
  scopeText,
  toolText,
  type Words,
  wordsFor,
} from './words.ts';

// What a person is told before anything is granted: what the agent can do, by how much it is asked.

/** A manifest as far as it is told. */
export interface Disclosable {
  readonly agent: string;
  readonly version: number;
  readonly hash: string;
  /** The digest of the bindings of its tools. */
  readonly bindings: string;
  readonly scopes: readonly (DeclaredScope & NamedScope)[];
  readonly tools: readonly (Tool & NamedTool)[];
  readonly flags: { readonly [flag: string]: boolean };
}

interface DisclosedTool {
  readonly name: string;
  /** What it does; null where the manifest does not say. */
  readonly description: string | null;
  readonly sensitivity: Sensitivity;
  /** The tool of a server that it is; null for one that is called without a server. */
  readonly bound: Bound | null;
}

interface DisclosedScope {
  readonly id: string;
  readonly label: string;
  readonly sensitivity: Sensitivity;
  /** What the level means, in words. */
  readonly means: string;
  readonly tools: readonly DisclosedTool[];
}

/** What is shown: the most sensitive first. Texts of the agent have every hidden character made visible. */
export interface Disclosure {
  readonly v: 1;
  readonly agent: string;
  readonly version: number;
  readonly manifest: string;
  readonly bindings: string;
  readonly locale: string;
  readonly scopes: readonly DisclosedScope[];
  readonly flags: readonly { readonly flag: string; readonly on: boolean; readonly label: string }[];
}

/** Tells what an agent can do. Scopes of one level keep the manifest's order; a tool stands under its scope. */
export function disclose(manifest: Disclosable, words: Words): Disclosure {
  const { agent, version, hash, bindings, scopes, tools, flags } = manifest;
  const told = scopes.map(({ id, sensitivity, label_i18n_key }) => ({
    id,
    label: scopeText({ id, label_i18n_key }, words),
    sensitivity,
    means: words.levels[sensitivity],
    tools: tools
      .filter((tool) => tool.permission_scope === id)
      .map((tool) => ({
        name: tool.name,
        description: toolText(tool, words),
        sensitivity: levelOf(tool, sensitivity),
        bound: tool.bound,
      })),
  }));
  return {
    v: 1,
    agent,
    version,
    manifest: hash,
    bindings,
    locale: words.locale,
    scopes: SENSITIVITIES.toReversed().flatMap((level) =>
      told.filter((scope) => scope.sensitivity === level),
    ),
    flags: Object.entries(flags).map(([flag, on]) => ({ flag, on, label: flagText(flag, words) })),
  };
}

function levelOf(tool: Tool, declared: Sensitivity): Sensitivity {
  return highest(declared, tool.sensitivity);
}

/** The digest by which a grant names what was shown. Throws as `canonicalize` does for a text that is not Unicode. */
export function disclosureDigest(disclosure: Disclosure): string {
  return sha256Hex(`bulla:disclosure:v1\u0000${canonicalize(disclosure, 'jcs')}`);
}

/** Whether a disclosure is of this manifest and its bindings, and leaves out no scope, no tool and no level. */
export function namesEverything(disclosure: Disclosure, manifest: Declared): boolean {
  const { agent, hash, bindings } = manifest;
  if (disclosure.v !== 1 || disclosure.agent !== agent || disclosure.manifest !== hash) return false;
  if (disclosure.bindings !== bindings) return false;
  const told = new Set<string>();
  const line = (scope: string, { name, bound }: Pick<Tool, 'name' | 'bound'>, level: Sensitivity) =>
    JSON.stringify([scope, name, level, bound?.server, bound?.tool]);
  for (const scope of disclosure.scopes) {
    told.add(JSON.stringify([scope.id, scope.sensitivity]));
    for (const tool of scope.tools) told.add(line(scope.id, tool, tool.sensitivity));
  }
  const levels = new Map(manifest.scopes.map(({ id, sensitivity }) => [id, sensitivity]));
  return (
    manifest.scopes.every(({ id, sensitivity }) => told.has(JSON.stringify([id, sensitivity]))) &&
    manifest.tools.every((tool) => {
      const declared = levels.get(tool.permission_scope);
      return declared === undefined || told.has(line(tool.permission_scope, tool, levelOf(tool, declared)));
    })
  );
}

/** The same as lines of text, for a terminal. */
export function disclosureLines({ scopes, flags, locale }: Disclosure): string[] {
  const { terms } = wordsFor(locale);
  const lines: string[] = [];
  for (const [i, scope] of scopes.entries()) {
    if (scopes[i - 1]?.sensitivity !== scope.sensitivity)
      lines.push(`${terms[scope.sensitivity]}: ${scope.means}`);
    const id = visible(scope.id);
    lines.push(scope.label === id ? `  ${id}` : `  ${scope.label} (${id})`);
    for (const { name, description, sensitivity, bound } of scope.tools) {
      const level = sensitivity === scope.sensitivity ? '' : ` [${terms[sensitivity]}]`;
      const is = bound === null ? '' : ` = ${visible(bound.server)}/${visible(bound.tool)}`;
      lines.push(`    ${visible(name)}${is}${description === null ? '' : `: ${description}`}${level}`);
    }
  }
  for (const { label, on, flag } of flags) if (on) lines.push(`${label} (${visible(flag)})`);
  return lines;
}
