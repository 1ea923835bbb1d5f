import { type CelRule, compile, type Fault, type Program } from '../cel/index.ts';
import type { Code } from '../codes.ts';
import { sha256Hex, toUtf8 } from '../crypto/index.ts';
import { PolicyError, type PolicyProblem } from './problem.ts';
import { PHASE_NAMES, PHASES, type Phase, type Shape, VOCABULARY } from './shape.ts';
import { type Complaint, readYaml, type YamlMap, type YamlText, type YamlValue } from './yaml.ts';

/** A policy whose every rule can be evaluated. It can only come from `parsePolicy`. */
export interface Policy {
  /** Empty where the file does not say. */
  readonly name: string;
  readonly mode: PolicyMode;
  readonly rules: readonly Rule[];
  /** `sha256:` and the SHA-256 of the text's bytes, by which receipts name the policy. */
  readonly digest: string;
}

/** In mode `warn`, rules of severity `warn` may fail. */
export type PolicyMode = 'warn' | 'strict';

/**
 * What follows where a rule about calls is false: the call is denied; a person must be asked, whatever else would permit
 * it; or it needs an envelope. A rule that cannot be answered denies.
 */
export const DECISIONS = ['deny', 'escalate', 'envelope'] as const;

export interface Rule extends CelRule<Shape> {
  readonly phase: Phase;
  readonly decision: (typeof DECISIONS)[number];
  readonly control_refs: readonly string[];
  readonly evidence: readonly string[];
  readonly evidence_commands: readonly string[];
}

export interface ParsePolicyOptions {
  /**
   * The shape of input that the rules of phase `list` will be asked about: each must be able to evaluate for it.
   * Without it, each must be able to evaluate for one of the two.
   */
  readonly shape?: 'policy-check' | 'check';
}

export const MAX_POLICY_BYTES: number = 1 << 20;
export const MAX_RULES = 2000;

const POLICY_FIELDS = ['name', 'mode', 'rules'];
const RULE_FIELDS = [
  ...['name', 'expr', 'failure_msg', 'severity', 'phase', 'decision'],
  ...['control_refs', 'evidence', 'evidence_commands'],
];

/** `sha256:` and the SHA-256 of a policy's bytes. Throws `CRYPTO_ENCODING` for a text that has none. */
export function policyDigest(text: string | Uint8Array): string {
  return `sha256:${sha256Hex(text)}`;
}

/**
 * Reads a policy strictly. Throws a `PolicyError` that holds everything that is wrong with it: `POLICY_TOO_LARGE`,
 * `POLICY_YAML`, `POLICY_FIELD`, and for an expression that cannot be evaluated a code that starts with
 * `POLICY_EXPRESSION`.
 * Throws `CRYPTO_ENCODING` for a text with a lone surrogate.
 */
export function parsePolicy(text: string, options: ParsePolicyOptions = {}): Policy {
  const complaints: Complaint[] = [];
  const bytes = toUtf8(text);
  if (bytes.length > MAX_POLICY_BYTES) {
    const message = `A policy has at most ${MAX_POLICY_BYTES} bytes.`;
    throw new PolicyError([{ code: 'POLICY_TOO_LARGE', message, path: '', line: 1, column: 1 }]);
  }
  const root = readYaml(text, (complaint) => complaints.push(complaint));
  const read = root === null ? null : new Reader(complaints, options).policy(root);
  if (read === null || complaints.length > 0) throw new PolicyError(located(text, complaints));
  return { ...read, digest: policyDigest(bytes) };
}

/** With lines and columns, in the order of the file. */
function located(text: string, complaints: readonly Complaint[]): PolicyProblem[] {
  let [line, lineStart, at] = [1, 0, 0];
  return complaints
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ code, message, path, offset }) => {
      for (; at < offset; at++) {
        if (text[at] !== '\n') continue;
        line++;
        lineStart = at + 1;
      }
      return { code, message, path, line, column: offset - lineStart + 1 };
    });
}

/** Turns YAML into rules and keeps every complaint. */
class Reader {
  readonly #complaints: Complaint[];
  readonly #shape: Shape | undefined;

  constructor(complaints: Complaint[], { shape }: ParsePolicyOptions) {
    this.#complaints = complaints;
    this.#shape = shape;
  }

  policy(root: YamlValue): Omit<Policy, 'digest'> | null {
    const map = this.#map(root, POLICY_FIELDS, 'A policy');
    if (map === null) return null;
    return {
      name: this.#text(map, 'name') ?? '',
      mode: this.#word(map, 'mode', ['warn', 'strict'], 'strict'),
      rules: this.#rules(map),
    };
  }

  #complain(code: Code, message: string, { path, offset }: { path: string; offset: number }): null {
    this.#complaints.push({ code, message, path, offset });
    return null;
  }

  #map(value: YamlValue, fields: readonly string[], what: string): YamlMap | null {
    if (value.kind !== 'map')
      return this.#complain('POLICY_FIELD', `${what} is written as keys with values.`, value);
    for (const [key, offset] of value.keys) {
      if (fields.includes(key)) continue;
      const message = `There is no field ${JSON.stringify(key)}; there are ${fields.join(', ')}.`;
      this.#complain('POLICY_FIELD', message, { path: value.entries.get(key)!.path, offset });
    }
    return value;
  }

  #rules(map: YamlMap): Rule[] {
    const value = map.entries.get('rules');
    const isEmpty = value === undefined || (value.kind === 'list' && value.items.length === 0);
    if (isEmpty) {
      this.#complain('POLICY_FIELD', 'A policy needs at least one rule.', value ?? map);
      return [];
    }
    if (value.kind !== 'list') {
      this.#complain('POLICY_FIELD', 'The rules are a list.', value);
      return [];
    }
    if (value.items.length > MAX_RULES) {
      this.#complain('POLICY_TOO_LARGE', `A policy has at most ${MAX_RULES} rules.`, value);
      return [];
    }
    const names = new Set<string>();
    return value.items.flatMap((item) => this.#rule(item, names) ?? []);
  }

  #rule(value: YamlValue, names: Set<string>): Rule | null {
    const map = this.#map(value, RULE_FIELDS, 'A rule');
    if (map === null) return null;
    const name = this.#text(map, 'name', true);
    if (name !== null && names.has(name)) {
      const message = `Two rules are called ${JSON.stringify(name)}.`;
      this.#complain('POLICY_FIELD', message, map.entries.get('name')!);
    }
    if (name !== null) names.add(name);
    const phase = this.#word(map, 'phase', PHASE_NAMES, 'list');
    const decision = this.#word(map, 'decision', DECISIONS, 'deny');
    if (decision !== 'deny' && phase !== 'call') {
      const message = 'Only a rule of phase call can ask for a person or an envelope; another one denies.';
      this.#complain('POLICY_FIELD', message, map.entries.get('decision')!);
    }
    const expr = this.#text(map, 'expr', true);
    const rest = {
      failure_msg: this.#text(map, 'failure_msg') ?? '',
      severity: this.#word(map, 'severity', ['warn', 'error'], 'error'),
      control_refs: this.#texts(map, 'control_refs'),
      evidence: this.#texts(map, 'evidence'),
      evidence_commands: this.#texts(map, 'evidence_commands'),
    };
    if (name === null || expr === null) return null;
    const programs = this.#programs(expr, phase, map.entries.get('expr') as YamlText);
    return programs === null ? null : { name, expr, phase, decision, ...rest, programs };
  }

  /** The programs of an expression for the shapes of its phase; null when one that is needed cannot be made. */
  #programs(expr: string, phase: Phase, at: YamlText): Map<Shape, Program> | null {
    const programs = new Map<Shape, Program>();
    let faults: readonly Fault[] = [];
    for (const shape of PHASES[phase]) {
      const found = compile(expr, VOCABULARY, shape);
      if ('run' in found) programs.set(shape, found);
      else if (phase !== 'list' || this.#shape === undefined || this.#shape === shape)
        faults = furthest(faults, found);
    }
    // A rule about a whole surface may be one that only one of the two inputs can answer.
    const isEnough = phase === 'list' && this.#shape === undefined ? programs.size > 0 : faults.length === 0;
    if (isEnough) return programs;
    for (const { code, message, offset } of faults)
      this.#complain(code, message, { path: at.path, offset: at.at(offset) });
    return null;
  }

  #text(map: YamlMap, key: string, isRequired = false): string | null {
    const value = map.entries.get(key);
    if (value === undefined)
      return isRequired ? this.#complain('POLICY_FIELD', `A rule needs the field ${key}.`, map) : null;
    if (value.kind !== 'text' || value.text === undefined)
      return this.#complain('POLICY_FIELD', `The field ${key} is a text; put it in quotes.`, value);
    if (isRequired && value.text.trim() === '')
      return this.#complain('POLICY_FIELD', `The field ${key} is empty.`, value);
    return value.text;
  }

  #word<Word extends string>(map: YamlMap, key: string, words: readonly Word[], otherwise: Word): Word {
    const text = this.#text(map, key);
    if (text === null) return otherwise;
    const word = words.find((known) => known === text);
    if (word !== undefined) return word;
    const message = `The field ${key} is one of ${words.join(', ')}.`;
    this.#complain('POLICY_FIELD', message, map.entries.get(key)!);
    return otherwise;
  }

  #texts(map: YamlMap, key: string): string[] {
    const value = map.entries.get(key);
    if (value === undefined) return [];
    if (value.kind !== 'list') {
      this.#complain('POLICY_FIELD', `The field ${key} is a list of texts.`, value);
      return [];
    }
    return value.items.flatMap((item) => {
      if (item.kind === 'text' && item.text !== undefined) return [item.text];
      return this.#complain('POLICY_FIELD', `The field ${key} is a list of texts.`, item) ?? [];
    });
  }
}

/**
 * Of the faults for two shapes those for the one that was probably meant: which has all the fields, else that for which
 * more of the expression is sound.
 */
function furthest(a: readonly Fault[], b: readonly Fault[]): readonly Fault[] {
  const sound = (faults: readonly Fault[]) =>
    faults.some(({ code }) => code === 'POLICY_EXPRESSION_FIELD')
      ? faults.reduce((least, { offset }) => Math.min(least, offset), Number.POSITIVE_INFINITY)
      : Number.POSITIVE_INFINITY;
  return a.length > 0 && sound(a) >= sound(b) ? a : b;
}
