import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { BullaError } from '@bulla/core/error';
import { dataDirectory } from '../os/index.ts';
import { findBwrap, ISOLATION } from './confine-bwrap.ts';
import { badPath, followed, isInside, type Link, namedFolders } from './confine-folders.ts';
import { executable, programPaths, refuseRunner } from './confine-program.ts';
import { quote } from './transport.ts';

/** What a confined server may use beside the programs of the system and its own. */
export interface Confinement {
  /** Folders that it may read: absolute paths. */
  readonly read?: readonly string[] | undefined;
  /** Folders that it may read and write. */
  readonly write?: readonly string[] | undefined;
  /** The network of this machine, with its loopback. Default false. */
  readonly network?: boolean | undefined;
  /** Files and folders of its program, to be read. Unlike named folders they may lie in the data directory. */
  readonly program?: readonly string[] | undefined;
  /** What it must not see, beside the data directory: a store or a keyring that lies elsewhere. */
  readonly hidden?: readonly string[] | undefined;
  /** What it must not write: its lock. */
  readonly fixed?: readonly string[] | undefined;
}

interface Start {
  /** The environment of the server. */
  readonly env: Readonly<Record<string, string>>;
  /** Default: the folder of this process. */
  readonly cwd?: string | undefined;
}

/** What is started instead of the command. */
interface Confined {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What programs of the system need: themselves, their libraries, and how to find users and certificates. */
const SYSTEM = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'],
  ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d'],
  ...[
    '/etc/passwd',
    '/etc/group',
    '/etc/nsswitch.conf',
    '/etc/localtime',
    '/etc/os-release',
    '/etc/mime.types',
  ],
  // Not all of /etc/ssl and /etc/pki: private keys lie there too.
  ...['/etc/ssl/certs', '/etc/ssl/openssl.cnf', '/etc/ca-certificates/extracted'],
  ...[
    '/etc/pki/tls/certs',
    '/etc/pki/tls/cert.pem',
    '/etc/pki/tls/openssl.cnf',
    '/etc/pki/ca-trust/extracted',
  ],
];
const FOR_NETWORK = [
  ...['/etc/resolv.conf', '/etc/hosts', '/etc/host.conf', '/etc/gai.conf', '/etc/protocols', '/etc/services'],
];
/** Of each private folder, which lies in memory. */
const PRIVATE_BYTES = 512 * 1024 * 1024;
/** Variables that the loader of programs obeys. It must not do so for bwrap, which runs outside. */
const LOADER = /^(?:LD_|GLIBC_TUNABLES$|GCONV_PATH$)/;

interface Mount {
  readonly path: string;
  readonly kind: 'read' | 'write' | 'private';
}

/**
 * What starts a command confined: in namespaces of its own, with a file system that has the programs of the system, the
 * program of the command, the named folders, and private, empty folders as `/tmp`, `HOME` and `TMPDIR`. Throws
 * `CONFINE_UNAVAILABLE` where that is not possible, `CONFINE_PATH` for a folder that cannot be named, `CONFINE_COMMAND`
 * for a command that cannot work so, and `MCP_SPAWN_FAILED` for one that is not there.
 */
export function confined(
  command: string,
  args: readonly string[],
  confinement: Confinement,
  { env, cwd = process.cwd() }: Start,
): Confined {
  const bwrap = findBwrap();
  const { network = false, read = [], write = [], program = [] } = confinement;
  refuseRunner(command, network);
  const file = executable(command, env.PATH, cwd);
  const named = namedFolders(read, write);
  const written = write.map((path) => followed(path).real);
  refuseWritable(confinement.fixed ?? [], written);
  const hidden = [dataDirectory(process.env, process.platform, homedir()), ...(confinement.hidden ?? [])].map(
    (path) => followed(path).real,
  );
  const homes = [homedir(), env.HOME ?? '/'].map((path) => followed(path).real);
  const automatic = [
    ...[...SYSTEM, ...(network ? FOR_NETWORK : [])].filter((path) => existsSync(path)),
    ...programPaths(file, args, { path: env.PATH, cwd, homes, hidden, written }),
  ];

  const links = new Map<string, Link>();
  const resolved = (path: string): string => {
    const { real, links: passed } = followed(path);
    for (const link of passed) links.set(link.at, link);
    return real;
  };
  const readable = (path: string): Mount => ({ path: resolved(path), kind: 'read' });
  const given = program.map(readable);
  const binds = withoutCovered([
    ...named.map(({ path, kind }) => ({ path: resolved(path), kind })),
    ...given,
    ...automatic.map(readable),
  ]);
  refuseHidden(
    binds.filter(({ path }) => !given.some((own) => own.path === path)),
    hidden,
  );
  const empty = ['/tmp', env.HOME ?? '/', env.TMPDIR ?? '/']
    .filter((path) => /^\/[^/]/.test(path))
    .map((path): Mount => ({ path: resolved(path), kind: 'private' }))
    .filter(({ path }) => !binds.some((bind) => isInside(path, bind.path)));
  const folder = resolved(cwd);
  return {
    command: bwrap,
    args: [
      ...ISOLATION,
      ...(network ? [] : ['--unshare-net']),
      ...layout([...binds, ...empty], [...links.values()]),
      // A relative path means what it means outside, or nothing.
      ...(binds.some(({ path }) => isInside(folder, path)) ? [] : ['--dir', folder]),
      ...['--remount-ro', '/', '--chdir', folder],
      ...Object.entries(env).flatMap(([name, value]) => (LOADER.test(name) ? ['--setenv', name, value] : [])),
      ...['--', file, ...args],
    ],
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !LOADER.test(name))),
  };
}

/** Leaves out what is to be read and lies in another of these, and what is there twice. */
function withoutCovered(mounts: readonly Mount[]): Mount[] {
  return mounts.filter((mount, i) =>
    mounts.every((other, j) => {
      if (i === j || !isInside(mount.path, other.path)) return true;
      if (mount.kind !== other.kind) return mount.kind === 'write';
      return mount.path === other.path && i < j;
    }),
  );
}

/** The words for bwrap that make the file system: a path before what lies below it. */
function layout(mounts: readonly Mount[], links: readonly Link[]): string[] {
  const seen = mounts.filter(({ kind }) => kind !== 'private');
  const steps = new Map(mounts.map((mount) => [mount.path, wordsOf(mount)]));
  for (const { at, to } of links) {
    if (!seen.some(({ path }) => isInside(at, path))) steps.set(at, ['--symlink', to, at]);
  }
  return [...steps].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, words]) => words);
}

function wordsOf({ path, kind }: Mount): string[] {
  if (kind === 'private') return ['--perms', '0700', '--size', String(PRIVATE_BYTES), '--tmpfs', path];
  return [kind === 'write' ? '--bind' : '--ro-bind', path, path];
}

/** No folder that the server sees may hold the data directory, or lie in it. */
function refuseHidden(mounts: readonly Mount[], hidden: readonly string[]): void {
  for (const { path } of mounts) {
    if (hidden.some((secret) => isInside(secret, path)))
      throw badPath(path, 'holds data of Bulla, which no server may see');
    if (hidden.some((secret) => isInside(path, secret)))
      throw badPath(path, 'lies in the data of Bulla, which no server may see');
  }
}

function refuseWritable(fixed: readonly string[], written: readonly string[]): void {
  for (const path of fixed) {
    const { real } = followed(path);
    if (!written.some((folder) => isInside(real, folder))) continue;
    throw new BullaError(
      'CONFINE_PATH',
      `${quote(path)} lies in a folder that the server may write, which could change it. Move it elsewhere.`,
    );
  }
}
