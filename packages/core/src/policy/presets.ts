import { BullaError } from '../error.ts';

// The released program's two presets about servers: its names, severities and modes, and rules that mean the same. An image that is
// pinned by its digest counts as pinned, and every rule can be answered for both shapes of input.
// The third is ours, about calls.

const ARTIFACT_PINNED =
  'has(input.artifact) && (input.artifact.integrity != "" || input.artifact.digest != "")';
const PROVENANCE =
  'has(input.artifact) && has(input.artifact.provenance) && input.artifact.provenance.verified';
const NO_HIGH_RISK = '!input.tools.exists(t, t.risk_level == "HIGH")';
const NO_CRITICAL_DRIFT = '!has(input.drift) || !input.drift.items.exists(item, item.severity == "critical")';

const TEXTS = {
  baseline: `name: baseline
mode: warn
rules:
  - name: artifact_pinned
    expr: '${ARTIFACT_PINNED}'
    failure_msg: Nothing says which package or image the server is. Lock it with its artifact pinned.
    severity: warn
  - name: provenance_present
    expr: '${PROVENANCE}'
    failure_msg: Nobody has verified where the artifact was built.
    severity: warn
  - name: no_high_risk_tools
    expr: '${NO_HIGH_RISK}'
    failure_msg: A tool has the risk level HIGH by its name and description.
    severity: warn
  - name: no_critical_drift
    expr: '${NO_CRITICAL_DRIFT}'
    failure_msg: The server differs critically from its lock.
    severity: error
`,
  strict: `name: strict
mode: strict
rules:
  - name: artifact_pinned_required
    expr: '${ARTIFACT_PINNED}'
    failure_msg: The server must be a package pinned by its integrity or an image pinned by its digest.
    severity: error
  - name: provenance_required
    expr: '${PROVENANCE}'
    failure_msg: The artifact must have a verified provenance.
    severity: error
  - name: no_high_risk_tools
    expr: '${NO_HIGH_RISK}'
    failure_msg: No tool may have the risk level HIGH.
    severity: error
  - name: tools_exist
    expr: 'size(input.tools) > 0'
    failure_msg: The server must offer at least one tool.
    severity: error
  - name: no_critical_drift
    expr: '${NO_CRITICAL_DRIFT}'
    failure_msg: The server must not differ critically from its lock.
    severity: error
  - name: no_file_scheme
    expr: '!("file" in input.resource_schemes)'
    failure_msg: No resource may lie at a file address.
    severity: error
`,
  'no-secrets-out': `name: no-secrets-out
mode: strict
rules:
  - name: no_secrets_in_arguments
    phase: call
    expr: size(input.call.secrets) == 0
    failure_msg: The arguments hold keys or tokens, or are too large to be searched for them.
    severity: error
`,
} as const;

type PresetName = keyof typeof TEXTS;
export const PRESET_NAMES = Object.keys(TEXTS) as readonly PresetName[];

/** The text of a preset. Throws `POLICY_PRESET_UNKNOWN`. */
export function presetText(name: string): string {
  const found = PRESET_NAMES.find((known) => known === name);
  if (found !== undefined) return TEXTS[found];
  const message = `There is no preset ${JSON.stringify(name)}; there are ${PRESET_NAMES.join(', ')}.`;
  throw new BullaError('POLICY_PRESET_UNKNOWN', message);
}
