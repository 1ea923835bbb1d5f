import type { TreePackage } from '@bulla/core/lock';

/** For which machine packages are chosen. */
export interface Platform {
  readonly os: string;
  readonly cpu: string;
  /** Null where packages do not tell by it. */
  readonly libc: string | null;
}

/** This machine. */
export function thisPlatform(): Platform {
  const { platform: os, arch: cpu } = process;
  return { os, cpu, libc: os === 'linux' ? libcHere() : null };
}

function libcHere(): string {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** Whether a package is for a machine, by npm's rule: every list that it has must take it. */
export function isFor(entry: Pick<TreePackage, 'os' | 'cpu' | 'libc'>, platform: Platform): boolean {
  return (
    takes(entry.os, platform.os) &&
    takes(entry.cpu, platform.cpu) &&
    (entry.libc === null || (platform.libc !== null && takes(entry.libc, platform.libc)))
  );
}

/** `!x` is for all but x; where no other word stands, that is enough. */
function takes(list: readonly string[] | null, word: string): boolean {
  if (list === null || (list.length === 1 && list[0] === 'any')) return true;
  if (list.includes(`!${word}`)) return false;
  const positive = list.filter((item) => !item.startsWith('!'));
  return positive.length === 0 || positive.includes(word);
}
