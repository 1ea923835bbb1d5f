/** The manifest that the specification gives as its sample, built from its facts. */
export function sampleManifest() {
  return {
    schema_version: '1.0',
    agent_version: '1.0.0',
    tools: [
      {
        name: 'fetch_web_page',
        description_i18n_key: 'agent.tools.fetch_web.desc',
        input_schema: {
          type: 'object',
          properties: {
            url: { type: 'string', format: 'uri' },
            method: { enum: ['GET', 'POST'], default: 'GET' },
          },
          required: ['url'],
          additionalProperties: false,
        },
        permission_scope: 'network:http',
        timeout_ms: 10000,
      },
    ],
    permission_scopes: [
      { id: 'network:http', label_i18n_key: 'agent.scopes.network_http.label', sensitivity: 'medium' },
    ],
    capability_flags: {
      supports_streaming: true,
      supports_artifacts: true,
      supports_voice: false,
      supports_group_chat: true,
    },
  };
}

/** A manifest that tests may bend in any way. */
// biome-ignore lint/suspicious/noExplicitAny: the tests write what no type permits.
export type Loose = any;

/** The text of the sample after a change to it. */
export function manifestText(change: (manifest: Loose) => void = () => {}): string {
  const manifest = sampleManifest();
  change(manifest);
  return JSON.stringify(manifest);
}

/** A tool of the sample's scope, with an input schema of these members. */
export function toolOf(name: string, schema: Record<string, unknown> = {}): Loose {
  return {
    name,
    description_i18n_key: `agent.tools.${name}.desc`,
    input_schema: { type: 'object', ...schema, additionalProperties: false },
    permission_scope: 'network:http',
  };
}
