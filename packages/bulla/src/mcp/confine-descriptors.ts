import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';

/** What stands for the descriptors of a child from 3 on; nothing is opened there, or the null device. */
interface Covered extends Disposable {
  readonly stdio: readonly ('ignore' | number)[];
}

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Keeps a child from what this process inherited: Node closes its own descriptors for it, but not those that somebody
 * left open with a gap before them. They become the null device.
 */
export function coverDescriptors(): Covered {
  const open = inherited();
  if (open.length === 0) return { stdio: [], [Symbol.dispose]: () => {} };
  const none = openSync('/dev/null', 'r+');
  const stdio = Array.from({ length: open.at(-1)! - 2 }, (_, i) => (open.includes(i + 3) ? none : 'ignore'));
  return { stdio, [Symbol.dispose]: () => closeSync(none) };
}

/** Descriptors beside the standard ones that a program started now would have, in ascending order. */
function inherited(): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && !isClosedOnExec(descriptor))
    .sort((a, b) => a - b);
}

function isClosedOnExec(descriptor: number): boolean {
  try {
    const [, flags] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))!;
    return (Number.parseInt(flags!, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    // It was the one of the listing itself.
    return true;
  }
}
