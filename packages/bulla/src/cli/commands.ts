import type { Command } from 'commander';
import type { Exit } from './terminal/io.ts';

/** A command module: it adds its options and its action, which gives the exit code. */
export interface CommandModule {
  define(command: Command, run: Run): void;
}
/** Wraps an action, so that its exit code and its errors reach the process. */
export type Run = <A extends unknown[]>(
  action: (...args: A) => Promise<Exit>,
) => (...args: A) => Promise<void>;

interface Entry {
  readonly name: string;
  readonly alias?: string;
  readonly summary: string;
  load(): Promise<CommandModule>;
}

/** Every command, in the order of the help text. Only the one that is called is loaded. */
export const COMMANDS: readonly { readonly title: string; readonly entries: readonly Entry[] }[] = [
  {
    title: 'Pin',
    entries: [
      { name: 'scan', summary: 'show all that a tool server offers', load: () => import('./lock/scan.ts') },
      {
        name: 'lock',
        summary: 'pin all that a tool server offers in a lockfile',
        load: () => import('./lock/lock.ts'),
      },
      {
        name: 'check',
        summary: 'tell whether a server still is as it was locked',
        load: () => import('./lock/check.ts'),
      },
      {
        name: 'diff',
        summary: 'show what changed since a lock, or between two',
        load: () => import('./lock/diff.ts'),
      },
      {
        name: 'policy',
        summary: 'ask rules about what a server offers',
        load: () => import('./policy/policy.ts'),
      },
      {
        name: 'discover',
        summary: 'find the tool servers that are configured on this machine, and lock them',
        load: () => import('./discover/discover.ts'),
      },
      {
        name: 'run',
        summary: 'run the very package that a lock pins, and nothing else',
        load: () => import('./run/run.ts'),
      },
      {
        name: 'artifact',
        summary: 'verify what a lock pins against the registry, and who built it',
        load: () => import('./run/artifact.ts'),
      },
      {
        name: 'keygen',
        summary: 'make a pair of keys to sign lockfiles with',
        load: () => import('./lock/keygen.ts'),
      },
      { name: 'sign', summary: 'sign a lockfile', load: () => import('./lock/sign.ts') },
      {
        name: 'bundle',
        summary: 'pack a signed lock to hand on, and verify such a bundle',
        load: () => import('./lock/bundle.ts'),
      },
    ],
  },
  {
    title: 'Declare and permit',
    entries: [
      {
        name: 'manifest',
        summary: 'validate, hash, compare, draft, push and bind the manifests of agents',
        load: () => import('./manifest/manifest.ts'),
      },
      {
        name: 'grants',
        summary: 'show what agents can do, grant it, list what is granted, take it back',
        load: () => import('./consent/grants.ts'),
      },
      {
        name: 'consent',
        summary: 'answer what agents ask for',
        load: () => import('./consent/consent.ts'),
      },
      {
        name: 'capability',
        summary: 'hash, compare and verify what an agent can do',
        load: () => import('./capability/capability.ts'),
      },
    ],
  },
  {
    title: 'Bind',
    entries: [
      {
        name: 'envelope',
        summary: 'bind one action to exact parameters, have it approved, execute it once',
        load: () => import('./envelope/envelope.ts'),
      },
    ],
  },
  {
    title: 'Stand between',
    entries: [
      {
        name: 'guard',
        alias: 'proxy',
        summary: 'stand between a host and its tool server: pass what is locked, record every call',
        load: () => import('./guard/guard.ts'),
      },
      {
        name: 'kill',
        summary: 'stop an agent, or everything, until it is lifted',
        load: () => import('./kill/kill.ts'),
      },
    ],
  },
  {
    title: 'Seal and prove',
    entries: [
      {
        name: 'capsule',
        summary: 'seal, verify, show, export, import and resolve capsules',
        load: () => import('./capsule/capsule.ts'),
      },
      {
        name: 'chain',
        summary: 'verify a chain, tell its head and its statistics',
        load: () => import('./chain/chain.ts'),
      },
      {
        name: 'checkpoint',
        summary: 'make, list and show checkpoints of a chain',
        load: () => import('./log/checkpoint.ts'),
      },
      {
        name: 'prove',
        summary: 'write a proof that a capsule is in its chain',
        load: () => import('./log/prove.ts'),
      },
      {
        name: 'consistency',
        summary: 'prove that a log only grew between two checkpoints',
        load: () => import('./log/consistency.ts'),
      },
      {
        name: 'witness',
        summary: 'run a witness, add one to the policy, tell what they cosigned',
        load: () => import('./log/witness.ts'),
      },
      {
        name: 'tiles',
        summary: 'publish the log of a chain as static files',
        load: () => import('./log/tiles.ts'),
      },
      {
        name: 'verify',
        summary: 'verify any artifact that Bulla knows',
        load: () => import('./verify/verify.ts'),
      },
      {
        name: 'trace',
        summary: 'walk from the capsule of a call to everything that it rests on',
        load: () => import('./verify/trace.ts'),
      },
      {
        name: 'keys',
        summary: 'make, rotate, list, show and convert keys',
        load: () => import('./keys/keys.ts'),
      },
    ],
  },
  {
    title: 'Exact bytes',
    entries: [
      {
        name: 'canon',
        summary: 'write the canonical bytes of a JSON document',
        load: () => import('./canon/canon.ts'),
      },
      { name: 'hash', summary: 'print the digest of a JSON document', load: () => import('./canon/hash.ts') },
      {
        name: 'profiles',
        summary: 'list the canonical forms that are known',
        load: () => import('./canon/profiles.ts'),
      },
      {
        name: 'lint',
        summary: 'tell where a document is hashed differently by others',
        load: () => import('./canon/lint.ts'),
      },
    ],
  },
  {
    title: 'First steps',
    entries: [
      { name: 'demo', summary: 'show, in a minute, what is here', load: () => import('./demo/demo.ts') },
    ],
  },
];
