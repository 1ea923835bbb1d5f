import type { DeclaredScope, NamedScope, NamedTool, Tool } from '@bulla/core/consent';
import type { JsonObject } from '@bulla/core/json';
import { type Bindings, declaredDigest, type Manifest, type Sensitivity } from '@bulla/core/manifest';

/** The same with the keys by which people are told of it. */
export function namedOf(
  manifest: Manifest,
  bindings: Bindings,
): {
  readonly bindings: string;
  readonly scopes: readonly (DeclaredScope & NamedScope)[];
  readonly tools: readonly (Tool & NamedTool)[];
} {
  const { scopes, tools, ...declared } = declaredOf(manifest, bindings);
  return {
    ...declared,
    scopes: scopes.map((scope, i) => ({
      ...scope,
      label_i18n_key: manifest.permission_scopes[i]!.label_i18n_key,
    })),
    tools: tools.map((tool, i) => ({
      ...tool,
      description_i18n_key: manifest.tools[i]!.description_i18n_key,
    })),
  };
}

/** What a manifest declares under its bindings, as consent needs it. */
export function declaredOf(
  { document, tools, permission_scopes }: Manifest,
  bindings: Bindings,
): {
  readonly bindings: string;
  readonly scopes: readonly DeclaredScope[];
  readonly tools: readonly Tool[];
} {
  const definitions = document.get('tools') as readonly JsonObject[];
  const levels = new Map<string, Sensitivity>(
    permission_scopes.map(({ id, sensitivity }) => [id, sensitivity]),
  );
  return {
    bindings: bindings.digest,
    scopes: permission_scopes.map(({ id, sensitivity }) => ({ id, sensitivity })),
    tools: tools.map(({ name, permission_scope, timeout_ms }, i) => ({
      name,
      permission_scope,
      sensitivity: levels.get(permission_scope)!,
      digest: declaredDigest(definitions[i]!),
      timeout_ms,
      bound: bindings.tools.get(name) ?? null,
    })),
  };
}
