import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { BullaError } from '@bulla/core/error';
import { quote } from './transport.ts';

/**
 * Where bwrap may lie. It is not looked for in `PATH`, which package managers extend by folders of projects: whoever
 * put one there would run outside.
 */
const PLACES = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'];

/** Namespaces of its own, no capability, nobody above it in a terminal, and an end with us. */
export const ISOLATION: readonly string[] = [
  ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--disable-userns', '--cap-drop', 'ALL', '--new-session', '--die-with-parent'],
  // Read-only, because root could change the kernel's settings through it, without any capability.
  ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
];

/** Programs of bwrap that were found to work here. */
const working = new Set<string>();

/**
 * The program that confines. It is tried once, on a program that does nothing. Throws `CONFINE_UNAVAILABLE` with how to
 * mend it.
 */
export function findBwrap(places: readonly string[] = PLACES): string {
  if (process.platform !== 'linux')
    throw unavailable('A server can be confined on Linux only. Start it without confinement, or on Linux.');
  const bwrap = places.find((path) => existsSync(path));
  if (bwrap === undefined)
    throw unavailable(
      'A server is confined by bwrap, which is not installed. Install the package bubblewrap of your distribution.',
    );
  if (working.has(bwrap)) return bwrap;
  const words = [
    '--ro-bind',
    '/',
    '/',
    ...ISOLATION,
    '--unshare-net',
    '--remount-ro',
    '/',
    '--',
    '/usr/bin/true',
  ];
  const { status, stderr, error } = spawnSync(bwrap, words, { env: {}, timeout: 30_000 });
  if (status !== 0) throw unavailable(mending(error?.message ?? stderr.toString().trim()));
  working.add(bwrap);
  return bwrap;
}

function mending(said: string): string {
  if (/unknown option/i.test(said))
    return `A server is confined by bwrap, and this one is too old (${quote(said)}). Install bubblewrap 0.8.0 or later.`;
  return (
    `A server cannot be confined here: bwrap says ${quote(said)}. It must be permitted to make user namespaces: see ` +
    'user.max_user_namespaces, on Debian kernel.unprivileged_userns_clone, on Ubuntu an AppArmor profile for bwrap, ' +
    'in a container its security options. A bwrap that is setuid root cannot be used.'
  );
}

function unavailable(message: string): BullaError {
  return new BullaError('CONFINE_UNAVAILABLE', message);
}
