import { JsonObject } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import { callInput, evaluate, type Policy, prepareInput } from '@bulla/core/policy';
import { Denial } from '../denial.ts';
import type { Gate } from './gate.ts';

/**
 * Evaluates the operator's rules for each call of a tool, with its locked definition. With a lock that holds no
 * definitions, every call of a tool is denied.
 */
export function policyGate(policy: Policy, lock: Lock): Gate {
  return {
    name: 'policy',
    rule({ frame, subject, call, evidence }) {
      if (frame.method !== 'tools/call') return { pass: {} };
      const definition = lock.native?.tools.get(subject.name!)?.definition;
      if (!(definition instanceof JsonObject) || !(subject.args instanceof JsonObject)) {
        const message = 'The policy cannot decide about this tool: the lock does not hold its definition.';
        return { deny: new Denial('policy', 'POLICY_INPUT', message) };
      }
      const { digest, outcome, rules } = evaluate(
        policy,
        prepareInput(
          'call',
          callInput(definition, subject.args, {
            server: call.tool!.server!,
            agent: call.agentId,
            ...(evidence.tool?.locked !== undefined && { digest: evidence.tool.locked }),
          }),
        ),
      );
      const failed = rules.filter(({ passed }) => !passed);
      const step = { step: 'policy', rule: policy.name, decision: outcome === 'pass' ? 'allow' : 'deny' };
      const part = {
        evidence: { policy: { id: policy.name, hash: digest } },
        authority: [{ type: 'policy', reference: `policy:${digest}`, step }],
      } as const;
      if (outcome === 'pass') return { pass: part };
      const why = failed.map(({ name, message }) => `${name}: ${message}`).join(' ');
      const code = failed.find(({ severity }) => severity === 'error')?.code ?? 'POLICY_DENIED';
      return { deny: new Denial('policy', code, `A rule forbids this call. ${why}`), part };
    },
  };
}
