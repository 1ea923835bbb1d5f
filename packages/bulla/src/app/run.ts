import { lockDigest } from '@bulla/core/lock';
import {
  commandOf,
  type Installed,
  type NpmArtifact,
  npmArtifact,
  type Program,
  pinnedEnvironment,
  programOf,
} from '../pin/index.ts';
import { type LockTrust, openLock } from './locked.ts';
import type { Observer } from './observer.ts';
import {
  artifactFacts,
  type Fetching,
  installPinned,
  lockedCommand,
  meantCommand,
  openSupply,
} from './pinned.ts';
import { type ProvenanceChoice, provenanceOf } from './provenance.ts';

interface RunInput extends LockTrust, Fetching, Observer {
  readonly lockfile: string;
  /** Other arguments, or a whole command for the same package. Default: the command of the lock. */
  readonly words?: readonly string[] | undefined;
  /** The program of the package, where it has several. */
  readonly bin?: string | undefined;
  /** A provenance that must verify first. */
  readonly provenance?: ProvenanceChoice | undefined;
}

/** The program that a lock pins, installed and verified, until it is disposed of. */
export interface PinnedProgram extends Disposable {
  readonly artifact: NpmArtifact;
  readonly installed: Installed;
  readonly program: Program;
  readonly args: readonly string[];
  /** What to start, and with which environment. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Fetches, hashes and unpacks the very package that a lock pins. Rejects as `openLock`, `meantCommand`, `provenanceOf`
 * and `install` do.
 */
export async function pinnedProgram(input: RunInput): Promise<PinnedProgram> {
  using supply = openSupply(input);
  const { lock } = openLock(input.lockfile, input);
  input.onFacts?.({ lock: lockDigest(lock) });
  const artifact = npmArtifact(lock.artifact);
  input.onFacts?.({ artifact: artifactFacts(artifact) });
  const locked = lockedCommand(lock);
  const { bin, args } = meantCommand(input.words ?? [], artifact, locked);
  if (input.provenance !== undefined) await provenanceOf(artifact, input.provenance);
  const installed = await installPinned(artifact, supply, input);
  try {
    const program = programOf(installed, input.bin ?? bin);
    return {
      ...{ artifact, installed, program, args },
      command: commandOf(installed, program, args),
      environment: pinnedEnvironment(process.env, locked.env),
      [Symbol.dispose]: installed.release,
    };
  } catch (error) {
    installed.release();
    throw error;
  }
}
