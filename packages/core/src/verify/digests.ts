import { sha256Hex } from '../crypto/index.ts';
import { execHash } from '../envelope/index.ts';
import { BullaError } from '../error.ts';
import { JsonObject } from '../json/index.ts';
import { type Lock, lockDigest, readLock } from '../lock/index.ts';
import { declaredDigest, type Manifest } from '../manifest/index.ts';
import { type Artifact, type Read, read } from './artifact.ts';

/** A digest or id under which records name an artifact or a part of it, spelled as they spell it. */
export interface Digest {
  readonly of:
    | 'lock'
    | 'locked tool'
    | 'manifest'
    | 'declared tool'
    | 'bindings'
    | 'rules'
    | 'execution policy'
    | 'declared tool'
    | 'bindings'
    | 'rules'
    | 'execution policy'
    | 'exec_hash'
    | 'authorization'
    | 'static'
    | 'runtime'
    | 'invocation'
    | 'fingerprint'
    | 'capsule id'
    | 'capsule hash';
  readonly value: string;
  /** The tool, where it is a digest of one. */
  readonly tool?: string;
}

/**
 * What an artifact is named by. Nothing is verified: whoever follows a digest to an artifact takes the verdict on that
 * too. Of a chain the records are not read; what cannot be read has no digest.
 */
export function digestsOf(artifact: Artifact): Digest[] {
  switch (artifact.kind) {
    case 'lockfile':
      return lockDigests(artifact.lock);
    case 'bundle': {
      const { bundle } = artifact;
      const bytes = bundle instanceof BullaError ? undefined : bundle.files.get('mcp-lock.json');
      return bytes === undefined ? [] : lockDigests(read(() => readLock(bytes)));
    }
    case 'manifest':
      return manifestDigests(artifact.report.manifest);
    case 'bindings':
      return artifact.bindings instanceof BullaError ? [] : named('bindings', artifact.bindings.digest);
    case 'rules':
      return named('rules', `sha256:${sha256Hex(artifact.bytes)}`);
    case 'execution policy':
      return artifact.policy instanceof BullaError
        ? []
        : named('execution policy', artifact.policy.policy_hash);
    case 'execution envelope': {
      const { envelope } = artifact;
      if (envelope instanceof BullaError) return [];
      return (['envelope-v1', 'envelope-v1-nul'] as const).flatMap((profile) => {
        const hash = read(() => execHash(envelope, profile));
        return typeof hash === 'string' ? named('exec_hash', hash) : [];
      });
    }
    case 'authorization': {
      const { bytes, claims } = artifact;
      if (claims instanceof BullaError) return [];
      return [
        ...named('authorization', `sha256:${sha256Hex(bytes)}`),
        ...named('exec_hash', claims.exec_hash),
      ];
    }
    case 'capability envelope': {
      const { snapshot } = artifact;
      const link = snapshot.kind === 'link' ? snapshot.link : snapshot.envelope.runtime.link;
      return [
        ...named('static', link.staticHash),
        ...named('runtime', link.runtimeHash),
        ...named('invocation', link.invocationHash),
        ...link.toolRefs.map(
          ({ toolKey, toolHash }): Digest => ({
            ...{ of: 'fingerprint', value: toolHash, tool: toolKey },
          }),
        ),
      ];
    }
    case 'capsules': {
      const { capsule } = artifact;
      if (!(capsule instanceof JsonObject)) return [];
      return [...named('capsule id', capsule.get('id')), ...named('capsule hash', capsule.get('hash'))];
    }
    default:
      return [];
  }
}

function named(of: Digest['of'], value: unknown): Digest[] {
  return typeof value === 'string' ? [{ of, value }] : [];
}

function manifestDigests(manifest: Manifest | null): Digest[] {
  if (manifest === null) return [];
  const definitions = manifest.document.get('tools') as readonly JsonObject[];
  return [
    ...named('manifest', manifest.hash),
    ...manifest.tools.map(
      ({ name }, i): Digest => ({ of: 'declared tool', value: declaredDigest(definitions[i]!), tool: name }),
    ),
  ];
}

function lockDigests(lock: Read<Lock>): Digest[] {
  if (lock instanceof BullaError) return [];
  const tools = [...(lock.native?.tools ?? [])].map(
    ([tool, { digest }]): Digest => ({
      ...{ of: 'locked tool', value: digest, tool },
    }),
  );
  return [...named('lock', lockDigest(lock)), ...tools];
}
