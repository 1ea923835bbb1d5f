import { resolve } from 'node:path';
import { pathsOf } from '../../app/index.ts';
import type { Confinement } from '../../mcp/index.ts';
import type { Command } from '../command.ts';

/** What a confined server may use. */
export interface ConfineOptions {
  confine?: boolean;
  confineRead?: string[];
  confineWrite?: string[];
  confineNetwork?: boolean;
}

/** The options of the commands that start a server. */
export function confineOptions(command: Command): Command {
  return command
    .option('--confine', 'start the server in a sandbox: no files but programs, no network (Linux, bwrap)')
    .option('--confine-read <folder...>', 'confine it, and let it read these folders')
    .option('--confine-write <folder...>', 'confine it, and let it read and write these folders')
    .option('--confine-network', 'confine it, but leave it the network');
}

/** The same options in words, for a command that confines the server alike. */
export function confineWords(options: ConfineOptions): string[] {
  const { confine, confineRead = [], confineWrite = [], confineNetwork } = options;
  return [
    ...(confine ? ['--confine'] : []),
    ...(confineRead.length > 0 ? ['--confine-read', ...confineRead] : []),
    ...(confineWrite.length > 0 ? ['--confine-write', ...confineWrite] : []),
    ...(confineNetwork ? ['--confine-network'] : []),
  ];
}

/**
 * How the server is confined, if it is. It sees neither the data directory nor the store and the keyring that the
 * command uses, and cannot write what is named as fixed.
 */
export function confinementOf(
  options: ConfineOptions & { readonly store?: string | undefined; readonly keys?: string | undefined },
  fixed: readonly string[] = [],
): Confinement | undefined {
  const { confineRead: read, confineWrite: write, confineNetwork: network } = options;
  if (confineWords(options).length === 0) return undefined;
  const { store, keys } = pathsOf(undefined, options);
  const files = /^postgres(?:ql)?:/i.test(store) ? [] : [store, `${store}.checkpoints`];
  const hidden = [...files, keys].map((path) => resolve(path));
  return { read, write, network, hidden, fixed: fixed.map((path) => resolve(path)) };
}
