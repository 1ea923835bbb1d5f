/** What every other folder may use of the operating system and the network. */
export { lines } from '@bulla/core/json';
export { isPublicHost } from './address.ts';
export { type Disk, eraseFile, realDisk, writeNewFile } from './disk.ts';
export { createFetcher, type Fetcher, type Network, type Reply, readBody } from './download.ts';
export { accessFile, fileError, isThere, openFound, readFound, readIfThere, readUpTo } from './file.ts';
export { signalGroup, unwatchGroup, watchGroup } from './group.ts';
export { createDirectory, dataDirectory, type Environment, makeDirectories } from './home.ts';
export { findInput, LIMITS, naming, readInput } from './input.ts';
export { asLine, unbroken, writeLine } from './line.ts';

export {
  holderName,
  isHolderGone,
  type LockOptions,
  thisProcess,
  tryLock,
  withLock,
} from './lock-file.ts';
export { refuseOldNode } from './native.ts';
export { createPrivateFile, findLoose, type Loose, tightenCommand } from './private.ts';
export { replaceFile } from './replace.ts';
export { resolveSecret, type SecretRef } from './secret.ts';
export { snapshot } from './snapshot.ts';
export { takeStandardInput } from './stdin.ts';
export { createExclusive, createQueue, type Exclusive, untilSettled } from './turns.ts';
export { type Digests, digestsOf, watchFiles } from './watch.ts';
