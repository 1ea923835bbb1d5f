import type { ManifestChange, ManifestDiff } from './diff-types.ts';

/** A diff as one JSON document, `{"breaking":[{"code","path","message"}],"non_breaking":[…]}`, and a newline. */
export function diffJson({ breaking, non_breaking }: ManifestDiff): string {
  const document = { breaking: breaking.map(changeJson), non_breaking: non_breaking.map(changeJson) };
  return `${JSON.stringify(document)}\n`;
}

/** One change as it stands in a JSON document. */
export function changeJson({ code, path, message }: ManifestChange): {
  readonly code: string;
  readonly path: string;
  readonly message: string;
} {
  return { code, path, message };
}
