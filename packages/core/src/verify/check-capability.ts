import {
  type CapabilityLink,
  computeInvocationContextHash,
  computeRuntimeHash,
  type EnvelopeFailure,
  type Snapshot,
  verifyReadEnvelope,
} from '../capability/index.ts';
import { type Finding, findings } from './artifact.ts';

const NOT_PROVEN = [
  'who wrote it',
  'that handlers and policies do what their names say',
  'that the run really had these tools',
];

export interface CapabilityOptions {
  /** The context of the invocation, where the artifact has none. */
  readonly context?: unknown;
  readonly allow?: readonly string[] | undefined;
}

/** A capability envelope or a capability link: every hash, computed again. */
export function checkCapability(snapshot: Snapshot, options: CapabilityOptions = {}): Finding {
  if (snapshot.kind === 'link') return checkLink(snapshot.link, options);
  const { failures, recomputed, unchecked, opaque, envelope } = verifyReadEnvelope(snapshot.envelope, {
    invocationContext: options.context,
    allowlist: options.allow,
  });
  return finding(envelope.runtime.link, { failures, recomputed, unchecked, opaque });
}

/** A link alone: its tools tell of its runtime hash, a context of its invocation hash, and nothing of the rest. */
function checkLink(link: CapabilityLink, { context, allow }: CapabilityOptions): Finding {
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
  return finding(link, { failures, recomputed, unchecked: [...unchecked, ...tools], opaque: [] });
}

interface Found {
  readonly failures: readonly EnvelopeFailure[];
  readonly recomputed: readonly string[];
  readonly unchecked: readonly string[];
  readonly opaque: readonly string[];
}

function finding(link: CapabilityLink, found: Found): Finding {
  const { failures, recomputed, unchecked, opaque } = found;
  const { agentId, profile, staticHash, runtimeHash } = link;
  const details = { agent_id: agentId, profile, static: staticHash, runtime: runtimeHash, ...found };
  const { good, bad, undecided } = findings(
    opaque.length === 0 ? NOT_PROVEN : [...NOT_PROVEN, `what ${opaque.join(', ')} accept`],
  );
  const [first] = failures;
  if (first !== undefined) {
    const more = failures.length > 1 ? ` There are ${failures.length - 1} more failures.` : '';
    return bad('CAPABILITY_ENVELOPE_INVALID', `At ${first.path}: ${first.message}${more}`, details);
  }
  if (unchecked.length > 0) {
    const message = `What could be recomputed is right; nothing here tells of ${unchecked.join(', ')}.`;
    return undecided('CAPABILITY_INCOMPLETE', message, details);
  }
  return good(
    `All ${recomputed.length} hashes of ${JSON.stringify(agentId)} recompute, under ${profile}.`,
    details,
  );
}
