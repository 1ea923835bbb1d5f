/** The released program's words of danger, in its order; each is looked for as a part of any word. */
const KEYWORDS = [
  'exec',
  'shell',
  'write',
  'delete',
  'fs',
  'run',
  'execute',
  'bash',
  'command',
  'sudo',
  'rm',
  'remove',
  'kill',
  'spawn',
  'eval',
  'system',
  'popen',
  'subprocess',
  'terminal',
] as const;

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

/**
 * Go lowers each code point alone; for ASCII it differs from JavaScript only in U+0130, which becomes an i.
 */
function goLowerCase(text: string): string {
  return text.replaceAll('\u0130', 'i').toLowerCase();
}
