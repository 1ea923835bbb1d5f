import { JsonObject, parse } from '../src/json/index.ts';
import type { Content, Surface, WriteLockOptions } from '../src/lock/index.ts';

/** What a test says of a surface, each definition as JSON text so that no digit is lost. */
export interface SurfaceText {
  readonly serverInfo?: string;
  readonly instructions?: string | null;
  readonly capabilities?: string;
  readonly tools?: readonly string[];
  readonly prompts?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceTemplates?: readonly string[];
  readonly contents?: readonly Content[];
}

export function object(text: string): JsonObject {
  const value = parse(text);
  if (!(value instanceof JsonObject)) throw new Error(`not an object: ${text}`);
  return value;
}

export function surface(text: SurfaceText = {}): Surface {
  const list = (definitions: readonly string[] = []) => definitions.map(object);
  return {
    protocolVersion: '2025-11-25',
    era: 'initialize',
    serverInfo: object(text.serverInfo ?? '{"name":"sample","version":"1.0.0"}'),
    instructions: text.instructions ?? null,
    capabilities: object(text.capabilities ?? '{"tools":{}}'),
    tools: list(text.tools),
    prompts: list(text.prompts),
    resources: list(text.resources),
    resourceTemplates: list(text.resourceTemplates),
    contents: text.contents ?? [],
  };
}

/** The options of every test that does not care about them. */
export const options: WriteLockOptions = {
  generator: 'bulla test',
  updatedAt: new Date('2026-01-02T03:04:05.678Z'),
  identity: { transport: 'stdio', command: 'node', args: ['server.js', 'a b'], env: ['HOME', 'TOKEN'] },
};

/** A surface with one of everything. */
export const whole: Surface = surface({
  serverInfo: '{"name":"sample","version":"1.0.0","icons":[{"src":"https://s.example/i.png"}]}',
  instructions: 'Be careful.',
  capabilities: '{"tools":{"listChanged":true}}',
  tools: [
    '{"name":"write_file","description":"Writes <a> file & more","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"integer","maximum":511}},"required":["path"]},"outputSchema":{"type":"object"},"annotations":{"destructiveHint":true},"_meta":{"ui":{"resourceUri":"ui://file/view"}}}',
    '{"name":"add","title":"Add","inputSchema":{"type":"object","properties":{"a":{"type":"number","multipleOf":1.0}}}}',
    '{"name":"big","inputSchema":{"type":"object","properties":{"n":{"maximum":18446744073709551615}}}}',
  ],
  prompts: [
    '{"name":"review","title":"Review","description":"Review it \\r\\nwell","arguments":[{"name":"style"},{"name":"code","description":"The code","required":true}]}',
  ],
  resources: [
    '{"uri":"ui://file/view","name":"View","mimeType":"text/html"}',
    '{"uri":"file:///a","name":"A","size":12,"annotations":{"audience":["user"],"lastModified":"2026-01-01T00:00:00Z"}}',
  ],
  resourceTemplates: ['{"uriTemplate":"file:///{path}","name":"Files","mimeType":"text/plain"}'],
  contents: [{ uri: 'ui://file/view', sha256: 'ab'.repeat(32), mimeType: 'text/html' }],
});

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The code of the error that `run` throws, with its path where it has one; `ok` when it throws none. */
export function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    const { code, path } = error as { code?: string; path?: string };
    if (code === undefined) throw error;
    return path === undefined ? code : `${code} ${path}`;
  }
  return 'ok';
}
