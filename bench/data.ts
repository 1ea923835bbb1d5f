/** A nested audit record of about 1.5 KB. */
export function auditRecord(i: number) {
  return {
    id: `0f8b1c1e-7a53-4f7e-9d27-${String(i).padStart(12, '0')}`,
    type: 'tool',
    domain: 'gateway',
    parent_id: null,
    sequence: i,
    previous_hash: '9b1c5d1e0d7f4a0f8b0c3e5a6f7d8c9b0a1e2d3c4b5a69788796a5b4c3d2e1f0',
    trigger: {
      type: 'agent',
      source: 'desktop-host 2.4',
      timestamp: '2026-03-14T09:26:53.589793+00:00',
      request: 'tools/call files/write_file',
      correlation_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      user_id: null,
    },
    context: {
      agent_id: 'release-bot',
      session_id: 'b7a0c1',
      environment: {
        bulla: {
          v: 1,
          server: 'files',
          lock: 'c0535e4be2b79ffd93291305436bf889314e4a3faec05ecffcbb7df31ad9e51a',
          tool: {
            name: 'write_file',
            digest: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
          },
        },
      },
    },
    reasoning: {
      analysis:
        'The change log must name the release 1.4.0 before the tag is made, and the entry must list both fixes by their numbers.',
      options: [
        { id: 'a', description: 'write the entry', feasibility: 0.9, selected: true, risks: [] as string[] },
        { id: 'b', description: 'leave it', feasibility: 0.25, selected: false, risks: ['stale'] },
      ],
      confidence: 0.93,
      model: null,
    },
    authority: {
      type: 'policy',
      approver: null,
      policy_reference: 'grant:7f21',
      chain: [{ step: 'consent', decision: 'allow', at: 1773480413 }],
    },
    execution: {
      duration_ms: 41,
      resources_used: { bytes: 1832, cpu: 0.0125 },
      tool_calls: [{ tool: 'write_file', success: true, duration_ms: 38, error: null }],
    },
    outcome: {
      status: 'success',
      summary: 'Wrote the entry for 1.4.0 to CHANGELOG.md and left the rest of the file as it was.',
      metrics: { latency_ms: 38.25, lines: 12 },
      side_effects: ['file:CHANGELOG.md'],
    },
  };
}

/** A capsule in which every field is filled, of about 2.7 KB. */
export function fullCapsule(i: number) {
  const option = (id: string, selected: boolean) => ({
    id,
    description: `Roll the service forward to build ${id} and watch the error budget for ten minutes`,
    pros: ['no downtime', 'small change'],
    cons: ['needs a warm cache'],
    estimated_impact: { cost: 'low', users_affected: 1200 },
    feasibility: selected ? 0.9 : 0.4,
    risks: ['cache stampede', 'slow rollback'],
    selected,
    rejection_reason: selected ? '' : 'The change is not reversible within the window',
  });
  const call = (tool: string, ms: number) => ({
    tool,
    arguments: { service: 'billing', build: `2026.3.${i}`, replicas: 6, dry_run: false },
    result: { ok: true, revision: 'b7c41f', rolled: 6 },
    success: true,
    duration_ms: ms,
    error: null,
  });
  return {
    ...auditRecord(i),
    reasoning: {
      analysis: 'The fix is behind a flag and the error budget is intact; forward is safer than waiting.',
      options: [option('a', true), option('b', false)],
      options_considered: [option('a', true).description, option('b', false).description],
      selected_option: option('a', true).description,
      reasoning: 'Forward keeps both fixes and can be stopped at any replica.',
      confidence: 0.92,
      model: 'example-model-4',
      prompt_hash: 'c0535e4be2b79ffd93291305436bf889314e4a3faec05ecffcbb7df31ad9e51a',
    },
    execution: {
      tool_calls: [call('deploy', 5200), call('health_check', 310)],
      duration_ms: 5510,
      resources_used: { tokens: 1840, cost_usd: 0.0042 },
    },
  };
}
