import type { DeclaredScope, NamedScope, NamedTool, Tool } from '@bulla/core/consent';
import type { JsonObject } from '@bulla/core/json';
import { type Bindings, declaredDigest, type Manifest, type Sensitivity } from '@bulla/core/manifest';

/** What a manifest declares under its bindings, with the keys by which people are told of it. */
export function namedOf(
  { document, tools, permission_scopes }: Manifest,
  bindings: Bindings,
): {
  readonly bindings: string;
  readonly scopes: readonly (DeclaredScope & NamedScope)[];
  readonly tools: readonly (Tool & NamedTool)[];
} {
  const definitions = document.get('tools') as readonly JsonObject[];
  const levels = new Map<string, Sensitivity>(
    permission_scopes.map(({ id, sensitivity }) => [id, sensitivity]),
  );
  return {
    bindings: bindings.digest,
    scopes: permission_scopes.map(({ id, sensitivity, label_i18n_key }) => ({
      id,
      sensitivity,
      label_i18n_key,
    })),
    tools: tools.map(({ name, permission_scope, timeout_ms, description_i18n_key }, i) => ({
      name,
      permission_scope,
      sensitivity: levels.get(permission_scope)!,
      digest: declaredDigest(definitions[i]!),
      timeout_ms,
      bound: bindings.tools.get(name) ?? null,
      description_i18n_key,
    })),
  };
}

/** The same as consent keeps it: without those keys. */
export function declaredOf(manifest: Manifest, of: Bindings) {
  const { bindings, scopes, tools } = namedOf(manifest, of);
  return {
    bindings,
    scopes: scopes.map(({ label_i18n_key: _, ...scope }) => scope),
    tools: tools.map(({ description_i18n_key: _, ...tool }) => tool),
  };
}
