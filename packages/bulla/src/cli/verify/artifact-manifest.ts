import { ManifestError, validateManifest } from '@bulla/core/manifest';
import { hasAny } from './artifact-root.ts';
import type { Artifact } from './artifacts.ts';

const NOT_PROVEN = [
  'who wrote it',
  'that the agent does what it declares and nothing else',
  'that anybody allowed any of it',
];

/** The capability manifest of an agent. */
export const manifest: Artifact = {
  kind: 'manifest',
  isSigned: false,
  recognises: (bytes) => hasAny(bytes, ['permission_scopes', 'capability_flags']),
  async verify(_, bytes) {
    const report = validateManifest(bytes);
    const { manifest: valid, problems, count, warnings } = report;
    if (valid === null) {
      const error = new ManifestError(report);
      if (error.code.startsWith('JSON_')) throw error;
      const details = { problems, count, warnings };
      return { result: 'bad', code: error.code, message: error.message, details, notProven: NOT_PROVEN };
    }
    const { tools, permission_scopes, hash } = valid;
    return {
      result: 'good',
      code: 'ok',
      message: `A valid manifest of ${tools.length} tool(s) and ${permission_scopes.length} scope(s), ${hash}.`,
      details: { hash, bytes: valid.bytes, tools: tools.length, scopes: permission_scopes.length, warnings },
      notProven: NOT_PROVEN,
    };
  },
};
