// Imports nothing and has no newer syntax: the entry of the CLI takes it to a Node that is too old.
const MAJOR = 24;
const MINOR = 15;

/** What is to be said of a Node on which Bulla cannot run; null where it can. */
export function nodeTooOld(version: string): string | null {
  const numbers = version.split('.').map(Number);
  const major = numbers[0] || 0;
  const minor = numbers[1] || 0;
  if (major > MAJOR || (major === MAJOR && minor >= MINOR)) return null;
  return `needs Node ${MAJOR}.${MINOR} or newer; this is Node ${version}`;
}
