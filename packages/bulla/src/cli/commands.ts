import type { Command } from './command.ts';

/** The name of a command, its line in the help text, the module that adds its options and its action, and an alias. */
type Entry = readonly [
  name: string,
  summary: string,
  load: () => Promise<{ define(command: Command): void }>,
  alias?: string,
];

/** Every command under its title, in the order of the help text. Only the one that is called is loaded. */
export const COMMANDS: Readonly<Record<string, readonly Entry[]>> = {
  Pin: [
    ['scan', 'show all that a tool server offers', () => import('./lock/scan.ts')],
    ['lock', 'pin all that a tool server offers in a lockfile', () => import('./lock/lock.ts')],
    ['check', 'tell whether a server still is as it was locked', () => import('./lock/check.ts')],
    ['diff', 'show what changed since a lock, or between two', () => import('./lock/diff.ts')],
    ['policy', 'ask rules about what a server offers', () => import('./policy/policy.ts')],
    [
      'discover',
      'find the tool servers that are configured on this machine, and lock them',
      () => import('./discover/discover.ts'),
    ],
    ['run', 'run the very package that a lock pins, and nothing else', () => import('./run/run.ts')],
    [
      'artifact',
      'verify what a lock pins against the registry, and who built it',
      () => import('./run/artifact.ts'),
    ],
    ['keygen', 'make a pair of keys to sign lockfiles with', () => import('./lock/keygen.ts')],
    ['sign', 'sign a lockfile', () => import('./lock/sign.ts')],
    ['bundle', 'pack a signed lock to hand on, and verify such a bundle', () => import('./lock/bundle.ts')],
  ],
  'Declare and permit': [
    [
      'manifest',
      'validate, hash, compare, draft, push and bind the manifests of agents',
      () => import('./manifest/manifest.ts'),
    ],
    [
      'grants',
      'show what agents can do, grant it, list what is granted, take it back',
      () => import('./consent/grants.ts'),
    ],
    ['consent', 'answer what agents ask for', () => import('./consent/consent.ts')],
    [
      'capability',
      'hash, compare and verify what an agent can do',
      () => import('./capability/capability.ts'),
    ],
  ],
  Bind: [
    [
      'envelope',
      'bind one action to exact parameters, have it approved, execute it once',
      () => import('./envelope/envelope.ts'),
    ],
  ],
  'Stand between': [
    [
      'guard',
      'stand between a host and its tool server: pass what is locked, record every call',
      () => import('./guard/guard.ts'),
      'proxy',
    ],
    ['kill', 'stop an agent, or everything, until it is lifted', () => import('./kill/kill.ts')],
  ],
  'Seal and prove': [
    [
      'capsule',
      'seal, verify, show, export, import and resolve capsules',
      () => import('./capsule/capsule.ts'),
    ],
    ['chain', 'verify a chain, tell its head and its statistics', () => import('./chain/chain.ts')],
    ['checkpoint', 'make, list and show checkpoints of a chain', () => import('./log/checkpoint.ts')],
    ['prove', 'write a proof that a capsule is in its chain', () => import('./log/prove.ts')],
    [
      'consistency',
      'prove that a log only grew between two checkpoints',
      () => import('./log/consistency.ts'),
    ],
    [
      'witness',
      'run a witness, add one to the policy, tell what they cosigned',
      () => import('./log/witness.ts'),
    ],
    ['tiles', 'publish the log of a chain as static files', () => import('./log/tiles.ts')],
    ['verify', 'verify any artifact that Bulla knows', () => import('./verify/verify.ts')],
    [
      'trace',
      'walk from the capsule of a call to everything that it rests on',
      () => import('./verify/trace.ts'),
    ],
    ['keys', 'make, rotate, list, show and convert keys', () => import('./keys/keys.ts')],
  ],
  'Exact bytes': [
    ['canon', 'write the canonical bytes of a JSON document', () => import('./canon/canon.ts')],
    ['hash', 'print the digest of a JSON document', () => import('./canon/hash.ts')],
    ['profiles', 'list the canonical forms that are known', () => import('./canon/profiles.ts')],
    ['lint', 'tell where a document is hashed differently by others', () => import('./canon/lint.ts')],
  ],
  'First steps': [['demo', 'show, in a minute, what is here', () => import('./demo/demo.ts')]],
};
