import type { ManifestChange, ManifestDiff } from './diff-types.ts';

/** A diff as one JSON document, `{"breaking":[{"code","path","message"}],"non_breaking":[…]}`, and a newline. */
export function diffJson({ breaking, non_breaking }: ManifestDiff): string {
  const told = ({ code, path, message }: ManifestChange) => ({ code, path, message });
  return `${JSON.stringify({ breaking: breaking.map(told), non_breaking: non_breaking.map(told) })}\n`;
}
