import { describe, expect, test } from 'vitest';
import { AUDIENCE, alice, by, claimsFor, envelope, keys, NOW, policy, refusal } from '../../test/envelope.ts';
import { commit } from '../canon/index.ts';
import {
  authorize,
  bindToolCall,
  checkEnvelope,
  createEnvelope,
  reservationsOf,
  toolCallEnvelope,
} from './index.ts';

const call = {
  lockDigest: `sha256:${'a1'.repeat(32)}`,
  toolDigest: `sha256:${'b2'.repeat(32)}`,
  toolName: 'fs/write_file',
  argsCommitment: commit('args', { path: '/tmp/x' }, new Uint8Array(32).fill(5)),
};
const fields = {
  ...call,
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
      rail: { type: 'MCP', network: call.lockDigest, chain_id: null, contract: call.toolDigest },
      actor: { caller: 'agent-7', role: null },
      target: {
        to: call.argsCommitment,
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

  test.each<[string, Partial<typeof fields>, string, string]>([
    ['lock', { lockDigest: 'a1' }, '/rail/network', 'This must be sha256: and 64 hex digits.'],
    [
      'tool',
      { toolDigest: call.toolDigest.toUpperCase() },
      '/rail/contract',
      'This must be sha256: and 64 hex digits.',
    ],
    [
      'commitment',
      { argsCommitment: `${call.argsCommitment}\n` },
      '/target/to',
      'A commitment is 64 hex digits.',
    ],
  ])('EE_TOOL_CALL: a digest that is none (%s)', (_, change, path, message) => {
    expect(refusal(() => toolCallEnvelope({ ...fields, ...change } as typeof fields))).toEqual([
      'EE_TOOL_CALL',
      path,
      message,
    ]);
  });

  test('a name that no envelope can hold is refused', () => {
    const toolName = 'x'.repeat(129);
    expect(refusal(() => toolCallEnvelope({ ...fields, toolName } as never))).toEqual([
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
    [{ lockDigest: call.toolDigest }, '/rail/network', 'Another lock was approved.'],
    [{ toolDigest: call.lockDigest }, '/rail/contract', 'Another definition of the tool was approved.'],
    [{ toolName: 'fs/delete_file' }, '/target/asset', 'Another tool was approved.'],
    [{ argsCommitment: '0'.repeat(64) }, '/target/to', 'Other arguments were approved.'],
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
  });
});
