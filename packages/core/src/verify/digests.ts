import { sha256Hex } from '../crypto/index.ts';
import { execHash } from '../envelope/index.ts';
import { attempt, BullaError } from '../error.ts';
import type { JsonObject } from '../json/index.ts';
import { type Lock, lockDigest, readLock } from '../lock/index.ts';
import { declaredDigest, type Manifest } from '../manifest/index.ts';
import type { Artifact, Read } from './artifact.ts';

/** A digest under which records name an artifact or a part of it, spelled as they spell it. */
export interface Digest {
  readonly of:
    | 'lock'
    | 'locked tool'
    | 'manifest'
    | 'declared tool'
    | 'bindings'
    | 'rules'
    | 'execution policy'
    | 'exec_hash'
    | 'authorization'
    | 'static'
    | 'runtime';
  readonly value: string;
  /** The tool, where it is a digest of one. */
  readonly tool?: string;
}

/**
 * What an artifact is named by. Nothing is verified: whoever follows a digest to an artifact takes the verdict on that
 * too. What cannot be read has no digest.
 */
export function digestsOf(artifact: Artifact): Digest[] {
  switch (artifact.kind) {
    case 'lockfile':
      return lockDigests(artifact.lock);
    case 'bundle': {
      const { bundle } = artifact;
      const bytes = bundle instanceof BullaError ? undefined : bundle.files.get('mcp-lock.json');
      return bytes === undefined ? [] : lockDigests(attempt(() => readLock(bytes)));
    }
    case 'manifest':
      return manifestDigests(artifact.report.manifest);
    case 'bindings':
      return artifact.bindings instanceof BullaError
        ? []
        : [{ of: 'bindings', value: artifact.bindings.digest }];
    case 'rules':
      return [{ of: 'rules', value: `sha256:${sha256Hex(artifact.bytes)}` }];
    case 'execution policy':
      return artifact.policy instanceof BullaError
        ? []
        : [{ of: 'execution policy', value: artifact.policy.policy_hash }];
    case 'execution envelope': {
      const { envelope } = artifact;
      if (envelope instanceof BullaError) return [];
      return (['envelope-v1', 'envelope-v1-nul'] as const).flatMap((profile): Digest[] => {
        const hash = attempt(() => execHash(envelope, profile));
        return hash instanceof BullaError ? [] : [{ of: 'exec_hash', value: hash }];
      });
    }
    case 'authorization':
      return artifact.claims instanceof BullaError
        ? []
        : [{ of: 'authorization', value: `sha256:${sha256Hex(artifact.bytes)}` }];
    case 'capability envelope': {
      const { snapshot } = artifact;
      const link = snapshot.kind === 'link' ? snapshot.link : snapshot.envelope.runtime.link;
      return [
        { of: 'static', value: link.staticHash },
        { of: 'runtime', value: link.runtimeHash },
      ];
    }
    default:
      return [];
  }
}

function manifestDigests(manifest: Manifest | null): Digest[] {
  if (manifest === null) return [];
  const definitions = manifest.document.get('tools') as readonly JsonObject[];
  const tools = manifest.tools.map(
    ({ name: tool }, i): Digest => ({ of: 'declared tool', value: declaredDigest(definitions[i]!), tool }),
  );
  return [{ of: 'manifest', value: manifest.hash }, ...tools];
}

function lockDigests(lock: Read<Lock>): Digest[] {
  if (lock instanceof BullaError) return [];
  const tools = [...(lock.native?.tools ?? [])].map(
    ([tool, { digest: value }]): Digest => ({ of: 'locked tool', value, tool }),
  );
  return [{ of: 'lock', value: lockDigest(lock) }, ...tools];
}
