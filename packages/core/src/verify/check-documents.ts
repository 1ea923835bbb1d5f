import { fromUtf8 } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { ManifestError } from '../manifest/index.ts';
import { type Artifact, type Finding, findings } from './artifact.ts';

const { good, bad } = findings(['who wrote it', 'that anybody applied it']);
const ofManifest = findings([
  'who wrote it',
  'that the agent does what it declares and nothing else',
  'that anybody allowed any of it',
]);

export function checkManifest({ report }: Artifact<'manifest'>): Finding {
  const { manifest, problems, count, warnings } = report;
  if (manifest === null) {
    const { code, message } = new ManifestError(report);
    return ofManifest.bad(code, message, { problems, count, warnings });
  }
  const { tools, permission_scopes, hash, bytes } = manifest;
  return ofManifest.good(
    `A valid manifest of ${tools.length} tool(s) and ${permission_scopes.length} scope(s), ${hash}.`,
    { hash, bytes, tools: tools.length, scopes: permission_scopes.length, warnings },
  );
}

export function checkBindings({ bindings }: Artifact<'bindings'>): Finding {
  if (bindings instanceof BullaError) return refused(bindings);
  const { tools, digest } = bindings;
  return good(`Bindings of ${tools.size} tool(s), ${digest}.`, { digest, tools: tools.size });
}

/** A policy of rules. The engine that reads them is large, and loaded only where it is needed. */
export async function checkRules({ bytes }: Artifact<'rules'>): Promise<Finding> {
  const { parsePolicy } = await import('../policy/index.ts');
  const policy = attempt(() => parsePolicy(fromUtf8(bytes)));
  if (policy instanceof BullaError) return refused(policy);
  const { name, digest, rules } = policy;
  return good(`A policy of ${rules.length} rule(s), ${digest}.`, { name, digest, rules: rules.length });
}

export function checkExecutionPolicy({ policy }: Artifact<'execution policy'>): Finding {
  if (policy instanceof BullaError) return refused(policy);
  const { policy_id, policy_version, policy_hash } = policy;
  return good(`The policy ${policy_id}, version ${policy_version}, ${policy_hash}.`, {
    ...{ policy_id, policy_version, policy_hash },
  });
}

function refused({ code, message, path }: BullaError): Finding {
  return bad(code, message, path === undefined ? {} : { path });
}
