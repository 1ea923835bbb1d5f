import { isAbsolute, resolve } from 'node:path';
import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import { parseUrl, type Target } from '../mcp/index.ts';
import type { Location } from './clients.ts';
import type { Entry } from './entry.ts';
import { type Guard, type OwnProgram, readGuard } from './guard.ts';

/** What is started or called for a server, as `bulla lock` names it. */
export interface Launch {
  /** Null where it cannot be told; then `why` says so. */
  readonly target: Target | null;
  readonly why: BullaError | null;
  /** The guard that stands before it, with the lock that it names. */
  readonly guard: Guard | null;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Where an entry is used, and by what. */
interface Around {
  readonly location: Location;
  /** The project that the entry is for; null for all. */
  readonly project: string | null;
  /** Whether the client fills in variables as editors do. */
  readonly isEditor: boolean;
  readonly own: OwnProgram;
}

/**
 * What a client starts for this entry. A guard is looked through: its server is meant. What does not name one program
 * exactly has no target, and `why` is `DISCOVER_LAUNCH` for a variable that only the client can fill in or that decides
 * which program is run, and for a folder to start in, `DISCOVER_GUARD` for a guard that does not hold the server to its
 * lock, `DISCOVER_BY_CLIENT` for a server that the client starts in a way of its own, `MCP_TARGET` and `MCP_TARGET_ENV`
 * for what cannot be locked at all.
 */
export function launchOf(entry: Entry, around: Around): Launch {
  const none = (code: Code, message: string, guard: Guard | null = null) => ({
    target: null,
    why: new BullaError(code, message),
    guard,
  });
  if (entry.transport === 'client')
    return none('DISCOVER_BY_CLIENT', 'The client starts it in a way of its own; it cannot be locked.');
  const { location, project, isEditor, own } = around;
  const filled = (text: string) => fill(text, location, isEditor);
  const isHttp = entry.transport === 'http';
  const exact = (isHttp ? [entry.url!] : [entry.command, ...entry.args]).map(filled);
  const cwd = isHttp || entry.cwd === null ? null : filled(entry.cwd);
  if (exact.some((word) => VARIABLE.test(word)) || (cwd !== null && VARIABLE.test(cwd)))
    return none(
      'DISCOVER_LAUNCH',
      'Its command or address holds a variable that the client fills in, so that it names no exact server.',
    );
  if (isHttp) {
    try {
      return { target: { kind: 'http', url: parseUrl(exact[0]!).href }, why: null, guard: null };
    } catch {
      return none('MCP_TARGET', 'Its address is none, or holds a user name, a password or a fragment.');
    }
  }
  const names = [...entry.env.keys()];
  const bad = names.find((name) => !NAME.test(name));
  if (bad !== undefined)
    return none('MCP_TARGET_ENV', `${JSON.stringify(bad)} is not the name of an environment variable.`);
  const found = readGuard(exact, own);
  const guard = found?.guard ?? null;
  const [command, ...args] = found === null ? exact : found.server;
  if (found !== null && found.obstacle !== null) return none('DISCOVER_GUARD', found.obstacle, guard);
  const isSought = [exact[0]!, command ?? ''].some((program) => !/[\\/]/.test(program));
  const loader = names.find(
    (name) =>
      LOADERS.test(name) ||
      (isSought && name.toUpperCase() === 'PATH') ||
      (guard !== null && OF_GUARD.test(name) && !(name === 'BULLA_HOME' && entry.env.get(name) === own.home)),
  );
  if (loader !== undefined)
    return none(
      'DISCOVER_LAUNCH',
      `It sets ${loader}, which decides what is run and trusted, and no lock holds its value.`,
      guard,
    );
  if (cwd !== null && (project === null || resolve(project, cwd) !== resolve(project)))
    return none(
      'DISCOVER_LAUNCH',
      'It names a folder to start in, which no lock holds; name its files by absolute paths instead.',
      guard,
    );
  if (guard !== null && project === null && !isAbsolute(guard.lock))
    return none(
      'DISCOVER_GUARD',
      'Its guard names its lock by a relative path, and in which folder the client starts it is not known.',
      guard,
    );
  if (command === undefined) return { target: null, why: null, guard };
  const env = [...new Set(found === null ? names : found.env)].sort();
  return { target: { kind: 'stdio', command, args, env }, why: null, guard };
}

/** Variables that have a runtime or a package manager load other code. */
const LOADERS =
  /^(?:NODE_(?:OPTIONS|PATH)|LD_.*|DYLD_.*|BASH_ENV|PYTHON(?:PATH|HOME|STARTUP)|RUBY(?:OPT|LIB)|PERL5(?:OPT|LIB)|_?(?:JDK_)?JAVA(?:_TOOL)?_OPTIONS|NPM_CONFIG_.*|(?:PIP|UV)_.*)$/i;

/** Variables that lead the guard itself to other keys, records or authorities. */
const OF_GUARD = /^(?:BULLA_.*|NODE_.*|SSL_CERT_.*|OPENSSL_.*|XDG_DATA_HOME|HOME|USERPROFILE|LOCALAPPDATA)$/i;

/** What is left for the client to fill in: `${…}`, and `{env:…}` and `{file:…}` of OpenCode. */
const VARIABLE = /\$\{|\{(?:env|file):/;

function fill(text: string, { home, project }: Location, isEditor: boolean): string {
  if (!isEditor) return text;
  return text.replace(/\$\{(userHome|workspaceFolder)\}/g, (_, name) =>
    name === 'userHome' ? home : project,
  );
}
