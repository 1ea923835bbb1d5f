import { describe, expect, test } from 'vitest';
import { AUDIENCE, alice, by, claimsFor, envelope, keys, NOW, policy, refusal } from '../../test/envelope.ts';
import { commit } from '../canon/index.ts';
import { parse } from '../json/index.ts';
import {
  authorize,
  bindToolCall,
  checkEnvelope,
  createEnvelope,
  reservationsOf,
  toolCallEnvelope,
  toolOf,
} from './index.ts';
import type { ToolCallFields } from './tool-call.ts';

const ARGS = { path: '/tmp/x' };
const SALT = new Uint8Array(32).fill(5);
const tool = {
  lock: `sha256:${'a1'.repeat(32)}`,
  server: 'fs',
  name: 'write_file',
  locked: `sha256:${'b2'.repeat(32)}`,
};
const call = { ...tool, args: ARGS as unknown, salt: SALT };
const fields = {
  ...tool,
  args: commit('args', ARGS, SALT),
  intent_id: 'i',
  execution_id: 'e',
  tenant_id: 'acme',
  actor: { caller: 'agent-7', role: null },
  ttl: NOW + 60,
  nonce: 1,
  replay_scope: 'tenant',
  policy,
  metadata: { created_at: NOW },
} as const;
const made = toolCallEnvelope(fields);

describe('a tool call', () => {
  test('is an envelope of digests', () => {
    const { metadata: _, ...binding } = made;
    expect(binding).toEqual({
      version: 1,
      intent_id: 'i',
      execution_id: 'e',
      tenant_id: 'acme',
      action_type: 'TOOL_CALL',
      rail: { type: 'MCP', network: tool.lock, chain_id: null, contract: tool.locked },
      actor: { caller: 'agent-7', role: null },
      target: {
        to: `jcs:${fields.args.commitment}`,
        asset: 'fs/write_file',
        asset_class: null,
        amount: '0',
        decimals: 0,
      },
      constraints: { ttl: NOW + 60, nonce: 1, replay_scope: 'tenant' },
      policy_binding: {
        policy_id: policy.policy_id,
        policy_version: policy.policy_version,
        policy_hash: policy.policy_hash,
      },
    });
  });

  test('passes the checklist under a policy that permits tool calls', async () => {
    const verdict = checkEnvelope({
      envelope: made,
      authorization: await authorize(claimsFor(made), by(alice)),
      keys,
      audience: AUDIENCE,
      tenantId: 'acme',
      now: NOW,
      replay: 'fresh',
      policy,
    });
    const { policy: held, envelope: read } = verdict.permit!;
    expect([verdict.code, reservationsOf(held, read, NOW).map(({ rule }) => rule)]).toEqual([
      null,
      ['calls'],
    ]);
  });

  test('commits to arguments that no double can hold by their digits', () => {
    const args = parse('{"id":9007199254740993}');
    const exact = toolCallEnvelope({ ...fields, args: commit('args', args, SALT) });
    expect(exact.target.to).toMatch(/^exact:[0-9a-f]{64}$/);
    expect(refusal(() => bindToolCall(exact, { ...call, args }))).toBe('nothing');
    const rounded = parse('{"id":9007199254740992}');
    expect(refusal(() => bindToolCall(exact, { ...call, args: rounded }))[1]).toBe('/target/to');
  });

  test('is read back from its envelope', () => {
    const { args } = fields;
    expect(toolOf(made)).toEqual({ ...tool, args });
    expect(toolOf(toolCallEnvelope({ ...fields, name: 'a/b' }))).toEqual({ ...tool, name: 'a/b', args });
    const elsewhere = createEnvelope({ ...made, target: { ...made.target, to: 'somewhere' } });
    expect(toolOf(elsewhere)).toEqual({ ...tool, args: null });
    expect(toolOf(envelope)).toBe(null);
    expect(toolOf(createEnvelope({ ...made, target: { ...made.target, asset: 'write_file' } }))).toBe(null);
  });

  test.each<[string, Partial<ToolCallFields>, string, string]>([
    ['lock', { lock: 'a1' }, '/rail/network', 'This must be sha256: and 64 hex digits.'],
    [
      'tool',
      { locked: tool.locked.toUpperCase() },
      '/rail/contract',
      'This must be sha256: and 64 hex digits.',
    ],
    [
      'commitment',
      { args: { ...fields.args, commitment: `${fields.args.commitment}\n` } },
      '/target/to',
      'A commitment is 64 hex digits, with its form.',
    ],
    [
      'form',
      { args: { ...fields.args, of: 'cps' as 'jcs' } },
      '/target/to',
      'A commitment is 64 hex digits, with its form.',
    ],
    ['server', { server: 'a/b' }, '/target/asset', 'The name of a server is not empty and has no slash.'],
    ['no server', { server: '' }, '/target/asset', 'The name of a server is not empty and has no slash.'],
  ])('EE_TOOL_CALL: a digest that is none (%s)', (_, change, path, message) => {
    expect(refusal(() => toolCallEnvelope({ ...fields, ...change }))).toEqual([
      'EE_TOOL_CALL',
      path,
      message,
    ]);
  });

  test('a name that no envelope can hold is refused', () => {
    const name = 'x'.repeat(126);
    expect(refusal(() => toolCallEnvelope({ ...fields, name }))).toEqual([
      'EE_SCHEMA_INVALID',
      '/target/asset',
      'This must be a string of 1 to 128 characters.',
    ]);
  });
});

describe('binding the call', () => {
  test('passes for exactly this call', () => {
    expect(refusal(() => bindToolCall(made, call))).toBe('nothing');
  });

  test.each<[Partial<typeof call>, string, string]>([
    [{ lock: tool.locked }, '/rail/network', 'Another lock was approved.'],
    [{ locked: tool.lock }, '/rail/contract', 'Another definition of the tool was approved.'],
    [{ server: 'other' }, '/target/asset', 'Another tool was approved.'],
    [{ name: 'delete_file' }, '/target/asset', 'Another tool was approved.'],
    [{ args: { path: '/tmp/y' } }, '/target/to', 'Other arguments were approved.'],
    [{ salt: new Uint8Array(32) }, '/target/to', 'Other arguments were approved.'],
  ])('EE_TOOL_CALL: %j', (change, path, message) => {
    expect(refusal(() => bindToolCall(made, { ...call, ...change }))).toEqual([
      'EE_TOOL_CALL',
      path,
      message,
    ]);
  });

  test('EE_TOOL_CALL: an envelope of something else', () => {
    expect(refusal(() => bindToolCall(envelope, call))).toEqual([
      'EE_TOOL_CALL',
      '/action_type',
      'The envelope does not approve a tool call.',
    ]);
    const paid = createEnvelope({ ...made, target: { ...made.target, amount: '1' } });
    expect(refusal(() => bindToolCall(paid, call))).toEqual([
      'EE_TOOL_CALL',
      '/target/amount',
      'The amount of a tool call is "0".',
    ]);
    const bare = createEnvelope({ ...made, target: { ...made.target, to: fields.args.commitment } });
    expect(refusal(() => bindToolCall(bare, call))).toEqual([
      'EE_TOOL_CALL',
      '/target/to',
      'The envelope has no commitment to arguments.',
    ]);
  });
});
