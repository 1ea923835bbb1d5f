import { fromUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { Drift, Lock, PolicyResult, Surface } from '@bulla/core/lock';
import {
  checkInput,
  evaluateSurface,
  type NamedTool,
  type ParsePolicyOptions,
  type Policy,
  PolicyError,
  type PolicySource,
  PRESET_NAMES,
  parsePolicy,
  prepareInput,
  presetText,
  toolInput,
} from '@bulla/core/policy';
import { visible } from '@bulla/core/text';
import { readInput } from '../os/index.ts';
import { refusing } from '../refusal.ts';

/** Which policy is meant: a file or a preset. */
export interface PolicyChoice {
  readonly policy?: string | undefined;
  readonly preset?: string | undefined;
}

export interface LoadedPolicy {
  readonly policy: Policy;
  readonly source: PolicySource;
  /** Whether nobody named one. */
  readonly isDefault: boolean;
}

/** A policy file that cannot be used: the first problem, and the others as notes, each as editors find it. */
class UnusablePolicy extends BullaError {
  readonly notes: readonly string[];
  constructor(file: string, cause: PolicyError) {
    const [first, ...others] = cause.problems.map(
      ({ line, column, message }) => `${file}:${line}:${column}: ${message}`,
    );
    const { code, path } = cause;
    const more = others.length === 0 ? '' : ` (${cause.problems.length} problems in all)`;
    super(code, `${first}${more}`, { ...(path !== undefined && { path }), cause });
    this.notes = others.map((text, i) => `${text} [${cause.problems[i + 1]!.code}]`);
  }
}

const DEFAULT_PRESET = 'baseline';

/**
 * The policy that was named, else the preset baseline. Throws `USAGE` for both a file and a preset,
 * `UnusablePolicy`, `CRYPTO_ENCODING` and `INPUT_UNREADABLE`.
 */
export function loadPolicy({ policy, preset }: PolicyChoice, options: ParsePolicyOptions = {}): LoadedPolicy {
  if (policy !== undefined && preset !== undefined)
    throw new BullaError('USAGE', 'Name a policy or a preset, not both.');
  if (policy === undefined) {
    const name = preset ?? DEFAULT_PRESET;
    return {
      policy: parsePolicy(presetText(name), options),
      source: { type: 'preset', name },
      isDefault: preset === undefined,
    };
  }
  const text = fromUtf8(readInput(policy, 'policy'));
  try {
    return { policy: parsePolicy(text, options), source: { type: 'file', name: policy }, isDefault: false };
  } catch (error) {
    throw error instanceof PolicyError ? new UnusablePolicy(policy, error) : error;
  }
}

/** The file that a word names; null for a preset. */
export function policyFile(word: string): string | null {
  return policyNamed(word).policy ?? null;
}

/** Of one word that names a preset or a file. */
function policyNamed(word: string): PolicyChoice {
  return (PRESET_NAMES as readonly string[]).includes(word) ? { preset: word } : { policy: word };
}

/**
 * The policies by which calls are decided, each a preset or a file. Throws `POLICY_NOTHING_ASKED` for one without a rule
 * about calls, and as `loadPolicy` does.
 */
export function callPolicies(words: readonly string[]): readonly Policy[] {
  return words.map((word) => {
    const { policy, source } = loadPolicy(policyNamed(word));
    if (policy.rules.every(({ phase }) => phase === 'list')) {
      const message = `${source.name}: The policy has no rule about calls: none is of phase tool, call or result.`;
      throw new BullaError('POLICY_NOTHING_ASKED', message);
    }
    return policy;
  });
}

/** What a policy says of a server that was compared with its lock. */
export interface DriftPolicy extends PolicyResult {
  /** The digest of the policy. */
  readonly digest: string;
}

/** What the rules of a policy say of a server: those about it and its tools. */
interface ServerVerdict extends DriftPolicy {
  /** The rules of severity `error` that do not hold. */
  readonly failed: readonly { readonly name: string; readonly message: string }[];
  /** How many rules were asked. */
  readonly asked: number;
}

/** A policy, and how it is asked about a server that was compared with its lock. */
interface ServerPolicy {
  readonly policy: Policy;
  judge(lock: Lock, surface: Surface, drift: Drift): ServerVerdict;
}

/** Loads a preset or a file. Errors fail, and warnings are left to `checkPolicy`. Throws as `loadPolicy` does. */
export function serverPolicy(word: string): ServerPolicy {
  const { policy, source } = loadPolicy(policyNamed(word), { shape: 'check' });
  return {
    policy,
    judge(lock, surface, drift) {
      const { rules } = refusing('The rules cannot be asked about the server', () => {
        const input = prepareInput('check', checkInput({ surface, lock, drift }));
        return evaluateSurface(policy, input, toolInputs(surface));
      });
      const failed = rules
        .filter(({ passed, severity }) => !passed && severity === 'error')
        .map(({ name, message, tools }) => ({
          name: visible(name),
          message: visible(`${message}${tools === undefined ? '' : ` (${tools.join(', ')})`}`),
        }));
      const reasons = failed.map(({ name, message }) => `${name}: ${message}`);
      const { digest } = policy;
      return {
        preset: source.name,
        passed: failed.length === 0,
        reasons,
        digest,
        failed,
        asked: rules.length,
      };
    },
  };
}

/** The same, to be asked as `check` asks: a policy that asked nothing must not pass for one that found nothing. */
export function driftPolicy(word: string): (lock: Lock, surface: Surface, drift: Drift) => DriftPolicy {
  const { judge } = serverPolicy(word);
  return (lock, surface, drift) => {
    const { preset, digest, reasons, asked } = judge(lock, surface, drift);
    const all = asked > 0 ? reasons : ['The policy has no rule about a server or its tools.'];
    return { preset, passed: all.length === 0, reasons: all, digest };
  };
}

/** The tools of a surface, for rules about each. */
export function toolInputs({ tools, serverInfo }: Surface): NamedTool[] {
  const name = serverInfo.get('name');
  const server = typeof name === 'string' ? name : '';
  return tools.map((tool) => ({
    name: String(tool.get('name')),
    input: prepareInput('tool', toolInput(tool, { server })),
  }));
}
