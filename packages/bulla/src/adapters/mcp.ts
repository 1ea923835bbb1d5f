/**
 * MCP, in both directions: a toolkit of the tools of a locked server, and a server of the tools of a toolkit
 * (`@modelcontextprotocol/server` 2.4, which the host brings).
 */
export type { OpenOptions, Session } from '../mcp/index.ts';
export { type LockedToolkitOptions, lockAugments, openLocked, toolkitFromLock } from './mcp-locked.ts';
export { type Served, type ServeOptions, serverOf, serveToolkit } from './mcp-server.ts';
