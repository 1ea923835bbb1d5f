import { BullaError } from '@bulla/core/error';
import { pointer, quoted } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import {
  type Bindings,
  type Manifest,
  ManifestError,
  readBindings,
  readManifest,
} from '@bulla/core/manifest';
import { createManifests, type Pushed } from '../manifest/index.ts';
import { naming, readInput } from '../os/index.ts';
import type { Store } from '../store/index.ts';
import { pushManifest } from './manifest.ts';

// What an agent declares, in files that the operator keeps, and how it comes into the store that the guard uses.

/** A manifest that was read from a file, and which tools of servers its tools are. */
export interface Declaration {
  readonly manifest: Manifest;
  /** Null where no file says it: then the store does. */
  readonly bindings: Bindings | null;
  /** The files as they were read. */
  readonly texts: { readonly manifest: Uint8Array; readonly bindings: Uint8Array | undefined };
}

/** Throws, naming the file, with the code and the path of the first problem, and as `readInput` and `readBindings`. */
export function readDeclaration(file: string, bindingsFile: string | undefined): Declaration {
  const text = readInput(file, 'document');
  const manifest = manifestIn(file, text);
  if (bindingsFile === undefined)
    return { manifest, bindings: null, texts: { manifest: text, bindings: undefined } };
  const bound = readInput(bindingsFile, 'document');
  const names = manifest.tools.map(({ name }) => name);
  const bindings = naming(bindingsFile, () => readBindings(bound, names));
  return { manifest, bindings, texts: { manifest: text, bindings: bound } };
}

function manifestIn(file: string, text: Uint8Array): Manifest {
  try {
    return readManifest(text);
  } catch (cause) {
    if (!(cause instanceof ManifestError)) throw cause;
    const { code, message, path, offset } = cause;
    throw new BullaError(code, `${file}: ${message}`, {
      ...(path !== undefined && { path }),
      ...(offset !== undefined && { offset }),
      cause,
    });
  }
}

/** Servers by their names in records, with the lock where it is at hand. */
export type BoundServers = ReadonlyMap<string, Lock | null>;

/**
 * Throws `CONFIG_UNSOUND` for a tool that is bound to a server, or to a tool of it, that is not there: nothing that the
 * agent calls could ever be that tool. `at` is the member that names the bindings; without one the path is that in the
 * file.
 */
export function checkBindings(bindings: Bindings, servers: BoundServers, at: readonly string[] | null): void {
  for (const [name, { server, tool }] of bindings.tools) {
    const lock = servers.get(server);
    const problem =
      lock === undefined
        ? `there is no server ${quoted(server)} here`
        : lock !== null && !lock.tools.has(tool)
          ? `the lock of the server ${quoted(server)} has no tool ${quoted(tool)}, or it is left out here`
          : null;
    if (problem === null) continue;
    const message = `The tool ${quoted(name)} of the manifest is bound to ${quoted(`${server}/${tool}`)}, but ${problem}.`;
    throw new BullaError('CONFIG_UNSOUND', message, { path: pointer(at ?? [name]) });
  }
}

/** Whose declaration it is, who says so, and where that is recorded. */
interface Adoption {
  readonly agent: string;
  readonly by: string;
  readonly chain: string;
}

/** What is in force, and what was pushed for that; null where it was in force already. */
export interface Adopted {
  readonly pushed: Pushed | null;
  readonly bindings: Bindings;
  /** Questions and calls that ended with it. */
  readonly ended: readonly string[];
}

/**
 * Makes a declaration the one in force, unless it is already. Several processes that start with the same files make one
 * version of it. Rejects as `pushManifest`.
 */
export async function adoptDeclaration(
  store: Store,
  { manifest, bindings, texts }: Declaration,
  { agent, by, chain }: Adoption,
): Promise<Adopted> {
  const current = await createManifests(store).current(agent);
  const isSame =
    current?.hash === manifest.hash && (bindings === null || current.bindings.digest === bindings.digest);
  if (isSame) return { pushed: null, bindings: current.bindings, ended: [] };
  const { pushed, ended } = await pushManifest(store, {
    ...{ agent, by, chain, manifest: texts.manifest, bindings: texts.bindings },
    idempotencyKey: `guard:${current?.version ?? 0}:${manifest.hash}:${bindings?.digest ?? ''}`,
  });
  return { pushed, bindings: pushed.bindings, ended: ended.map(({ id }) => id) };
}
