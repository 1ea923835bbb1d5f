/** True, false, or undefined: it cannot be told. */
export type Truth = boolean | undefined;

const LITERAL = '(?:[A-Za-z0-9_ :/@#%&=,;"\'<>!~`-]|\\\\[.*+?()[\\]{}|^$/\\\\])';
const CLASS = '(?:\\[\\^?(?:[^[\\]\\\\]|\\\\[dws.\\-/\\\\^])+\\]|\\\\[dw]|\\.)';
/** Literals with at most one repeated class: such an expression cannot run away on a short text. */
const SIMPLE = new RegExp(
  `^\\^?${LITERAL}*(?:${CLASS}(?:[+*?]|\\{\\d{1,3}(?:,\\d{0,3})?\\})?)?${LITERAL}*\\$?$`,
);
/** Beyond ASCII, and at line ends, regular expressions of different languages differ. */
const SHORT_ASCII = /^[ -~]{0,300}$/;

/** Whether a pattern finds something in a text. Only simple patterns are run: others may come from an attacker. */
export function matches(pattern: string, text: string): Truth {
  return matcher(pattern)(text);
}

/** The same for many texts: what can be told of the pattern alone is found out once. */
export function matcher(pattern: string): (text: string) => Truth {
  if (isTrivial(pattern)) return () => true;
  if (!SHORT_ASCII.test(pattern) || !SIMPLE.test(pattern)) return () => undefined;
  try {
    const expression = new RegExp(pattern, 'u');
    return (text) => (SHORT_ASCII.test(text) ? expression.test(text) : undefined);
  } catch {
    return () => undefined;
  }
}

/** Whether a pattern is found in every text. */
export function isTrivial(pattern: string): boolean {
  return pattern === '' || pattern === '^' || pattern === '$' || pattern === '.*' || pattern === '^.*';
}
