import { ManifestError } from '../manifest/index.ts';
import { type Artifact, type Finding, findings } from './artifact.ts';

const { good, bad } = findings([
  'who wrote it',
  'that the agent does what it declares and nothing else',
  'that anybody allowed any of it',
]);

/** The capability manifest of an agent. */
export function checkManifest({ report }: Artifact<'manifest'>): Finding {
  const { manifest, problems, count, warnings } = report;
  if (manifest === null) {
    const { code, message } = new ManifestError(report);
    return bad(code, message, { problems, count, warnings });
  }
  const { tools, permission_scopes, hash, bytes } = manifest;
  return good(
    `A valid manifest of ${tools.length} tool(s) and ${permission_scopes.length} scope(s), ${hash}.`,
    { hash, bytes, tools: tools.length, scopes: permission_scopes.length, warnings },
  );
}
