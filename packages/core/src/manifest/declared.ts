import { digest } from '../canon/index.ts';
import type { JsonObject } from '../json/index.ts';

/**
 * The digest of a declared tool: `sha256:` and SHA-256 of its RFC 8785 form, of the whole object as the manifest has
 * it. A lock's digest of the same tool is another one, over what the server shows.
 */
export function declaredDigest(definition: JsonObject): string {
  return `sha256:${digest(definition, 'jcs')}`;
}
