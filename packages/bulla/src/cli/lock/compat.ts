import { BullaError } from '@bulla/core/error';
import { EXIT, type Exit } from '../terminal/io.ts';

/**
 * `BULLA_COMPAT=mcptrust` makes the commands behave as the released lock program where scripts depend on it: exit code
 * 1 for every failure, its default files, its number rule, and its words in the lines that scripts look for.
 */
export const COMPAT: boolean = process.env.BULLA_COMPAT === 'mcptrust';

/** Throws `USAGE` for a program that we do not stand in for. */
export function checkCompat(): void {
  const value = process.env.BULLA_COMPAT;
  if (value === undefined || value === '' || COMPAT) return;
  throw new BullaError('USAGE', 'BULLA_COMPAT can only be "mcptrust".');
}

let isKept = false;

/** From here on an exit code is that of a program that was run, and stays what it is. */
export function keepExit(): void {
  isKept = true;
}

/** The exit code that the process ends with. */
export function compatExit(exit: Exit): Exit {
  return COMPAT && !isKept && exit !== EXIT.good ? EXIT.bad : exit;
}
