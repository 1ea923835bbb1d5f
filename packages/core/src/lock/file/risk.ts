import { JsonObject } from '../../json/index.ts';

/** The released program's words of danger, in its order; each is looked for as a part of any word. */
const KEYWORDS =
  'exec shell write delete fs run execute bash command sudo rm remove kill spawn eval system popen subprocess terminal'.split(
    ' ',
  );

export const RISK_LEVELS = ['LOW', 'MEDIUM', 'HIGH'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/**
 * The risk level of a tool by the released program's rule: none of its keywords in name and description is
 * LOW, one MEDIUM, more HIGH. It is noisy ("information" holds `rm`) and easily evaded; it is kept for its
 * files.
 */
export function riskLevel(name: string, description: string): RiskLevel {
  return RISK_LEVELS[Math.min(riskKeywords(name, description).length, 2)]!;
}

/** The keywords that were found, in the order of the list. */
export function riskKeywords(name: string, description: string): string[] {
  const text = goLowerCase(`${name} ${description}`);
  return KEYWORDS.filter((keyword) => text.includes(keyword));
}

/** How risky a tool looks by our own rule, and why. */
interface Risk {
  readonly level: RiskLevel;
  readonly reasons: readonly string[];
}

/**
 * The risk of a tool by its whole words and its annotations: no word of danger is LOW, one MEDIUM, more HIGH; a tool
 * that calls itself destructive is HIGH, and one that says that it changes something, but not that it destroys nothing,
 * at least MEDIUM: by the specification `destructiveHint` is true where it is not given. An annotation raises the level
 * and never lowers it: a server that means harm calls its tools harmless. It is a hint for people, no boundary.
 */
export function riskOf(tool: JsonObject): Risk {
  const text = (key: string) => {
    const value = tool.get(key);
    return typeof value === 'string' ? value : '';
  };
  const found = wordsOf(`${text('name')} ${text('title')} ${text('description')}`);
  const words = KEYWORDS.filter((keyword) => formsOf(keyword).some((form) => found.has(form)));
  const annotations = tool.get('annotations');
  const hint = (key: string) => (annotations instanceof JsonObject ? annotations.get(key) : undefined);
  if (hint('destructiveHint') === true) return { level: 'HIGH', reasons: [...words, 'destructiveHint'] };
  const mayDestroy = hint('readOnlyHint') === false && hint('destructiveHint') !== false;
  const level = RISK_LEVELS[Math.min(Math.max(words.length, mayDestroy ? 1 : 0), 2)]!;
  return { level, reasons: [...words, ...(mayDestroy ? ['readOnlyHint'] : [])] };
}

/** `removeFile`, `remove_file` and `remove-file` have the word remove; `information` has not the word rm. */
function wordsOf(text: string): Set<string> {
  const split = text.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ');
  return new Set(goLowerCase(split).match(/[a-z]+/g));
}

function formsOf(keyword: string): string[] {
  const stem = keyword.replace(/e$/, '');
  return [keyword, `${keyword}s`, `${stem}ed`, `${stem}ing`, `${keyword}${keyword.at(-1)}ing`];
}

/**
 * Go lowers each code point alone; for ASCII it differs from JavaScript only in U+0130, which becomes an i.
 */
function goLowerCase(text: string): string {
  return text.replaceAll('\u0130', 'i').toLowerCase();
}
