import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import { ManifestError, validateManifest } from '@bulla/core/manifest';
import type { Artifact } from './artifacts.ts';

const NOT_PROVEN = [
  'who wrote it',
  'that the agent does what it declares and nothing else',
  'that anybody allowed any of it',
];

/** The capability manifest of an agent. */
export const manifest: Artifact = {
  kind: 'manifest',
  recognises(bytes) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const isOurs = text.includes('"permission_scopes"') || text.includes('"capability_flags"');
    if (!isOurs || !/^\s*\{/.test(text.subarray(0, 64).toString('latin1'))) return false;
    try {
      const root = parse(bytes, { allow: ['duplicate-keys', 'lone-surrogates'] });
      return root instanceof JsonObject && (root.has('permission_scopes') || root.has('capability_flags'));
    } catch (error) {
      // A broken manifest is one; several documents in a row are something else.
      return error instanceof BullaError && error.code !== 'JSON_TRAILING_DATA';
    }
  },
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
