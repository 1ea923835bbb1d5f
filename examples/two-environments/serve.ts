// The same agent as an MCP server: node serve.ts TIER
import { serveToolkit } from 'bulla/adapters/mcp';
import { agent } from './agent.ts';

const tier = process.argv[2] === 'pro' ? 'pro' : 'free';
await serveToolkit(agent, { env: { tier } }, { name: 'support', version: '1.0.0' });
