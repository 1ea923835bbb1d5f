import { fromUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import {
  type ParsePolicyOptions,
  type Policy,
  PolicyError,
  type PolicySource,
  PRESET_NAMES,
  parsePolicy,
  presetText,
} from '@bulla/core/policy';
import { readInput, say } from '../terminal/io.ts';

/** Which policy is meant. */
export interface PolicyOptions {
  policy?: string;
  preset?: string;
}

export interface LoadedPolicy {
  readonly policy: Policy;
  readonly source: PolicySource;
  /** Whether nobody named one. */
  readonly isDefault: boolean;
}

const DEFAULT_PRESET = 'baseline';

/**
 * The policy that was named, else the preset baseline. Throws `USAGE` for both a file and a preset, what
 * `parsePolicy` throws, with everything that is wrong in the sentence, `CRYPTO_ENCODING` and `INPUT_UNREADABLE`.
 */
export function loadPolicy(
  { policy, preset }: PolicyOptions,
  options: ParsePolicyOptions = {},
): LoadedPolicy {
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
  const text = fromUtf8(readInput(policy));
  try {
    return { policy: parsePolicy(text, options), source: { type: 'file', name: policy }, isDefault: false };
  } catch (error) {
    throw error instanceof PolicyError ? withPlaces(error, policy) : error;
  }
}

/** Tells all that is wrong, a line each, as editors find it; the error names the first. */
function withPlaces(error: PolicyError, file: string): BullaError {
  say(
    error.problems.map(
      ({ line, column, message, code }) => `${file}:${line}:${column}: ${message} [${code}]`,
    ),
  );
  const { code, path } = error;
  return new BullaError(code, `${file} cannot be used. ${error.message}`, {
    ...(path !== undefined && { path }),
    cause: error,
  });
}

/** Of one word that names a preset or a file. */
export function policyNamed(word: string): PolicyOptions {
  return (PRESET_NAMES as readonly string[]).includes(word) ? { preset: word } : { policy: word };
}
