import {
  type CapabilityLink,
  computeInvocationContextHash,
  computeRuntimeHash,
  type EnvelopeFailure,
  type HashOptions,
  readSnapshot,
  verifyEnvelope,
} from '@bulla/core/capability';
import { rootOf } from './artifact-root.ts';
import type { Artifact, Verdict } from './artifacts.ts';

const NOT_PROVEN = [
  'who wrote it',
  'that handlers and policies do what their names say',
  'that the run really had these tools',
];

/** A capability envelope or a capability link. */
export const capability: Artifact = {
  kind: 'capability envelope',
  isSigned: false,
  recognises(bytes) {
    const root = rootOf(bytes);
    if (root === null || root === 'broken') return false;
    const has = (...keys: string[]) => keys.every((key) => root.has(key));
    return has('schemaVersion', 'runtime') || has('staticHash', 'runtimeHash', 'toolRefs');
  },
  async verify(_, bytes) {
    return verifyCapability(bytes);
  },
};

export interface VerifyOptions {
  /** How a link was hashed that does not say so. */
  readonly assumed?: HashOptions | undefined;
  /** The context of the invocation, where the file has none. */
  readonly context?: unknown;
  readonly allow?: readonly string[] | undefined;
}

/** Every hash, computed again from the file. Throws what `readSnapshot` throws for what cannot be read. */
export function verifyCapability(bytes: Uint8Array, options: VerifyOptions = {}): Verdict {
  const snapshot = readSnapshot(bytes, options.assumed);
  if (snapshot.kind === 'link') return verifyLink(snapshot.link, options);
  const { failures, recomputed, unchecked, opaque, envelope } = verifyEnvelope(bytes, {
    invocationContext: options.context,
    allowlist: options.allow,
  });
  return verdict(envelope.runtime.link, { failures, recomputed, unchecked, opaque });
}

/** A link alone: its tools tell of its runtime hash, a context of its invocation hash, and nothing of the rest. */
function verifyLink(link: CapabilityLink, { context, allow }: VerifyOptions): Verdict {
  const { profile, invocationHash } = link;
  const failures: EnvelopeFailure[] = [];
  const recomputed: string[] = [];
  const check = (code: EnvelopeFailure['code'], path: string, stored: string, computed: string) => {
    recomputed.push(path);
    if (stored !== computed) failures.push({ code, path, message: 'The hash is not that of the content.' });
  };
  check('runtime_hash', '/runtimeHash', link.runtimeHash, computeRuntimeHash(link.toolRefs, { profile }));
  if (invocationHash !== undefined && context !== undefined) {
    const computed = computeInvocationContextHash(context, { profile, allowlist: allow });
    check('invocation_hash', '/invocationHash', invocationHash, computed);
  }
  const hashes = ['/staticHash', '/runtimeHash', '/invocationHash', '/instructionsHash'];
  const unchecked = hashes.filter(
    (path) => link[path.slice(1) as keyof CapabilityLink] !== undefined && !recomputed.includes(path),
  );
  const tools = link.toolRefs.map((_, place) => `/toolRefs/${place}/toolHash`);
  return verdict(link, { failures, recomputed, unchecked: [...unchecked, ...tools], opaque: [] });
}

interface Found {
  readonly failures: readonly EnvelopeFailure[];
  readonly recomputed: readonly string[];
  readonly unchecked: readonly string[];
  readonly opaque: readonly string[];
}

function verdict(link: CapabilityLink, found: Found): Verdict {
  const { failures, recomputed, unchecked, opaque } = found;
  const { agentId, profile, staticHash, runtimeHash } = link;
  const details = { agent_id: agentId, profile, static: staticHash, runtime: runtimeHash, ...found };
  const notProven = opaque.length === 0 ? NOT_PROVEN : [...NOT_PROVEN, `what ${opaque.join(', ')} accept`];
  const [first] = failures;
  if (first !== undefined) {
    const more = failures.length > 1 ? ` There are ${failures.length - 1} more failures.` : '';
    const message = `At ${first.path}: ${first.message}${more}`;
    return { result: 'bad', code: 'CAPABILITY_ENVELOPE_INVALID', message, details, notProven };
  }
  if (unchecked.length > 0) {
    const message = `What could be recomputed is right; nothing here tells of ${unchecked.join(', ')}.`;
    return { result: 'undecided', code: 'CAPABILITY_INCOMPLETE', message, details, notProven };
  }
  const message = `All ${recomputed.length} hashes of ${JSON.stringify(agentId)} recompute, under ${profile}.`;
  return { result: 'good', code: 'ok', message, details, notProven };
}
