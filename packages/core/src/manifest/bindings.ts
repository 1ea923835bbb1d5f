import { canonicalize, digest } from '../canon/index.ts';
import type { Code } from '../codes.ts';
import { sha256Hex } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { JsonObject, parse, pointer } from '../json/index.ts';

/** A tool of a server, by what the operator calls the server and the server calls the tool. */
export interface ServerTool {
  readonly server: string;
  readonly tool: string;
}

/** Which tools of servers the tools of a manifest are. One that is not here is called without a server. */
export interface Bindings {
  /** By the name of the declared tool. */
  readonly tools: ReadonlyMap<string, ServerTool>;
  /** The canonical form (RFC 8785), and its SHA-256 in hex. */
  readonly canonical: string;
  readonly digest: string;
}

const MAX_NAME = 4096;

/**
 * Makes bindings. Throws `MANIFEST_BINDING` with the path for a name that is none, `MANIFEST_BINDING_UNKNOWN` for a tool
 * that is not among the declared ones, and `MANIFEST_BINDING_TWICE` for two tools that would be one tool of a server.
 */
export function createBindings(
  entries: Iterable<readonly [tool: string, bound: ServerTool]>,
  declared: Iterable<string>,
): Bindings {
  const known = new Set(declared);
  const tools = new Map<string, ServerTool>();
  const taken = new Map<string, string>();
  for (const [name, { server, tool }] of entries) {
    if (!known.has(name))
      throw refused(
        'MANIFEST_BINDING_UNKNOWN',
        name,
        `The manifest declares no tool ${JSON.stringify(name)}.`,
      );
    for (const [member, text] of Object.entries({ server, tool }))
      if (!isBindable(text)) throw wrong([name, member]);
    const key = JSON.stringify([server, tool]);
    const other = taken.get(key);
    if (other !== undefined)
      throw refused(
        'MANIFEST_BINDING_TWICE',
        name,
        `${name} and ${other} cannot both be the tool ${JSON.stringify(tool)} of the server ${JSON.stringify(server)}.`,
      );
    taken.set(key, name);
    tools.set(name, { server, tool });
  }
  const canonical = canonicalize(Object.fromEntries(tools), 'jcs');
  return { tools, canonical, digest: sha256Hex(canonical) };
}

/**
 * Reads bindings, such as `{"read_file": {"server": "files", "tool": "read_text_file"}}`. Throws as `createBindings` and
 * `parse` do.
 */
export function readBindings(text: string | Uint8Array, declared: Iterable<string>): Bindings {
  const document = parse(text);
  if (!(document instanceof JsonObject)) throw wrong([]);
  const entries = [...document].map(([name, bound]) => {
    if (!(bound instanceof JsonObject)) throw wrong([name]);
    for (const [member] of bound) if (member !== 'server' && member !== 'tool') throw wrong([name, member]);
    return [name, { server: bound.get('server') as string, tool: bound.get('tool') as string }] as const;
  });
  return createBindings(entries, declared);
}

/** Whether a server or a tool of this name can be bound to. */
export function isBindable(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text !== '' &&
    text.length <= MAX_NAME &&
    text.isWellFormed() &&
    !text.includes('\0')
  );
}

function refused(code: Code, name: string, sentence: string): BullaError {
  return new BullaError(code, sentence, { path: pointer([name]) });
}

function wrong(path: readonly string[]): BullaError {
  return new BullaError(
    'MANIFEST_BINDING',
    `A binding names a server and a tool, each with 1 to ${MAX_NAME} characters, and nothing else.`,
    { path: pointer(path) },
  );
}

/**
 * The digest of a declared tool: `sha256:` and SHA-256 of its RFC 8785 form, of the whole object as the manifest has
 * it. A lock's digest of the same tool is another one, over what the server shows.
 */
export function declaredDigest(definition: JsonObject): string {
  return `sha256:${digest(definition, 'jcs')}`;
}
