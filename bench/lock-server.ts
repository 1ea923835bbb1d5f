// A server written with the SDK that has as many tools as its argument says: `node lock-server.ts COUNT`.
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const count = Number(process.argv[2]);

/** A tool of ordinary size: about 700 bytes on the wire. */
function schemaOf(i: number) {
  return fromJsonSchema<{ id: string }>({
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Which record.', pattern: '^[a-z0-9-]+$' },
      depth: {
        type: 'integer',
        minimum: 0,
        maximum: 64,
        default: 2,
        description: 'How many levels to give.',
      },
      fields: { type: 'array', items: { type: 'string', enum: ['name', 'size', 'owner', `field_${i}`] } },
    },
    required: ['id'],
    additionalProperties: false,
  });
}

serveStdio(() => {
  const server = new McpServer({ name: 'many', version: '1.0.0' });
  for (let i = 0; i < count; i++) {
    const description = `Reads and changes the record number ${i} of the store, and gives back what it was before. Use it only when the record is known to be there; otherwise call the tool that makes records.`;
    server.registerTool(
      `tool_${i}`,
      {
        title: `Tool number ${i}`,
        description,
        inputSchema: schemaOf(i),
        annotations: { readOnlyHint: i % 2 === 0 },
      },
      () => ({ content: [] }),
    );
  }
  return server;
});
