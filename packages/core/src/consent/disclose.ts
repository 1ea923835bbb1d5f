import { canonicalize } from '../canon/index.ts';
import { sha256Hex } from '../crypto/index.ts';
import { visible } from '../text/index.ts';
import type { Bound, Declared, DeclaredScope, Tool } from './rows.ts';
import { highest, SENSITIVITIES, type Sensitivity } from './sensitivity.ts';

// What a person is told before anything is granted: what the agent can do, by how much it is asked.

/** A manifest as far as it is told. */
export interface Disclosable {
  readonly agent: string;
  readonly version: number;
  readonly hash: string;
  /** The digest of the bindings of its tools. */
  readonly bindings: string;
  readonly scopes: readonly DeclaredScope[];
  readonly tools: readonly Tool[];
  readonly flags: { readonly [flag: string]: boolean };
}

/** The words of one language. What has none is called by its name. */
export interface Words {
  readonly locale: string;
  /** What happens at each level. */
  readonly levels: Readonly<Record<Sensitivity, string>>;
  readonly flags: { readonly [flag: string]: string };
  readonly scopes?: { readonly [id: string]: string };
  readonly tools?: { readonly [name: string]: string };
}

export const ENGLISH: Words = {
  locale: 'en',
  levels: {
    high: 'You are asked every time.',
    medium:
      'You are asked the first time. You may then allow it for this session, for at most 24 hours after its last use.',
    low: 'It happens without asking.',
  },
  flags: {
    supports_streaming: 'answers piece by piece',
    supports_artifacts: 'sends and changes artifacts',
    supports_voice: 'hears and speaks',
    supports_group_chat: 'can join groups',
  },
};

export const CHINESE: Words = {
  locale: 'zh',
  levels: {
    high: '每次调用都会询问你。',
    medium: '首次使用时询问你。你可以允许本次会话内使用，最后一次使用后最多 24 小时。',
    low: '直接执行，不再询问。',
  },
  flags: {
    supports_streaming: '流式回复',
    supports_artifacts: '发送和更新 Artifact',
    supports_voice: '语音输入和输出',
    supports_group_chat: '可以加入群聊',
  },
};

export interface DisclosedTool {
  readonly name: string;
  readonly label: string;
  readonly sensitivity: Sensitivity;
  /** The tool of a server that it is; null for one that is called without a server. */
  readonly bound: Bound | null;
}

export interface DisclosedScope {
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
  const label = (table: { readonly [name: string]: string } | undefined, name: string) =>
    visible(table !== undefined && Object.hasOwn(table, name) ? table[name]! : name);
  const told = scopes.map(({ id, sensitivity }) => ({
    id,
    label: label(words.scopes, id),
    sensitivity,
    means: words.levels[sensitivity],
    tools: tools
      .filter((tool) => tool.permission_scope === id)
      .map((tool) => ({
        name: tool.name,
        label: label(words.tools, tool.name),
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
    flags: Object.entries(flags).map(([flag, on]) => ({ flag, on, label: label(words.flags, flag) })),
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
export function disclosureLines({ scopes, flags }: Disclosure): string[] {
  const lines: string[] = [];
  for (const [i, scope] of scopes.entries()) {
    if (scopes[i - 1]?.sensitivity !== scope.sensitivity) lines.push(`${scope.sensitivity}: ${scope.means}`);
    const id = visible(scope.id);
    lines.push(scope.label === id ? `  ${id}` : `  ${scope.label} (${id})`);
    for (const { name, label, sensitivity, bound } of scope.tools) {
      const level = sensitivity === scope.sensitivity ? '' : ` [${sensitivity}]`;
      const is = bound === null ? '' : ` = ${visible(bound.server)}/${visible(bound.tool)}`;
      lines.push(`    ${visible(name)}${is}${label === visible(name) ? '' : `: ${label}`}${level}`);
    }
  }
  for (const { label, on, flag } of flags) if (on) lines.push(`${label} (${visible(flag)})`);
  return lines;
}
