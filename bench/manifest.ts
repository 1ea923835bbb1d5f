import { diffManifests, type Manifest, validateManifest } from '@bulla/core/manifest';
import { compare, type Row } from './measure.ts';

const WORDS = 'page file note task issue mail event image user order'.split(' ');
const VERBS = 'read list find open send move copy join sort mark'.split(' ');
const SCOPES = ['network:http', 'filesystem:read', 'files:write', 'mail:send', 'shell:run'];

/** A tool such as servers have them: a few arguments with descriptions, limits, lists and nested objects. */
function tool(i: number): Record<string, unknown> {
  const word = WORDS[i % 10]!;
  const name = `${VERBS[Math.floor(i / 10) % 10]}_${word}_${Math.floor(i / 100)}`;
  return {
    name,
    description_i18n_key: `agent.tools.${name}.desc`,
    input_schema: {
      type: 'object',
      properties: {
        path: {
          type: 'string',
          description: `The path of the ${word}, from the root of the project`,
          minLength: 1,
        },
        limit: { type: 'integer', minimum: 1, maximum: 100 + i, default: 20 },
        mode: { enum: ['fast', 'exact', `mode_${i}`] },
        tags: { type: 'array', items: { type: 'string', pattern: '^[a-z][a-z0-9-]*$' }, maxItems: 16 },
        options: {
          type: 'object',
          properties: { depth: { type: 'integer', minimum: 0 }, follow: { type: 'boolean' } },
          additionalProperties: false,
        },
      },
      required: ['path'],
      additionalProperties: false,
    },
    permission_scope: SCOPES[i % SCOPES.length],
    timeout_ms: 5000 + i,
  };
}

/** A manifest of about 100 KB. */
export function largeManifest(): Record<string, unknown> {
  const tools = Array.from({ length: 165 }, (_, i) => tool(i));
  return {
    schema_version: '1.0',
    agent_version: '1.4.0',
    tools,
    permission_scopes: SCOPES.map((id) => ({
      id,
      label_i18n_key: `agent.scopes.${id.replace(':', '_')}.label`,
      sensitivity: id === 'shell:run' ? 'high' : 'medium',
    })),
    capability_flags: {
      supports_streaming: true,
      supports_artifacts: true,
      supports_voice: false,
      supports_group_chat: true,
    },
  };
}

/** The next version of it: a tool in twenty changed in one of the ways that tools change, one came and one went. */
export function nextManifest(): Record<string, unknown> {
  const next = largeManifest() as { agent_version: string; tools: ReturnType<typeof tool>[] };
  next.agent_version = '1.5.0';
  next.tools.forEach((item, i) => {
    if (i % 20 !== 0) return;
    const schema = item.input_schema as {
      required: string[];
      properties: Record<string, Record<string, unknown>>;
    };
    if (i % 80 === 0) schema.required.push('mode');
    else if (i % 80 === 20) schema.properties.limit!.maximum = 50;
    else if (i % 80 === 40) schema.properties.path!.description = 'The path of what is wanted, from the root';
    else item.timeout_ms = 30_000;
  });
  next.tools.splice(7, 1);
  next.tools.push(tool(200));
  return next;
}

export async function manifest(): Promise<Row[]> {
  const [before, after] = [largeManifest(), nextManifest()].map((value) => JSON.stringify(value, null, 1));
  const read = (text: string): Manifest => {
    const { manifest, problems } = validateManifest(text);
    if (manifest === null) throw new Error(problems[0]?.message);
    return manifest;
  };
  const [old, now] = [read(before!), read(after!)];
  const bytes = `${Math.round(old.bytes / 1000)} and ${Math.round(now.bytes / 1000)} KB`;
  // A server has compiled all of this long before; a round of measuring is too short for it.
  for (let i = 0; i < 150; i++) diffManifests(read(before!), read(after!));
  const both = () => [JSON.parse(before!), JSON.parse(after!)];
  return [
    ...compare(
      'manifest',
      `validate, hash and diff two manifests (${bytes})`,
      () => diffManifests(read(before!), read(after!)),
      {
        'JSON.parse of both': both,
      },
    ),
    ...compare('manifest', 'validate and hash the two', () => [read(before!), read(after!)], {
      'JSON.parse of both': both,
    }),
    ...compare('manifest', 'diff the two', () => diffManifests(old, now), { 'JSON.parse of both': both }),
  ];
}
