/** Lines for an operator, of which one that comes again and again is told once and then counted. */
interface Repeats {
  tell(line: string): void;
  /** Tells how often lines came again since the last time, and begins anew. */
  flush(): void;
}

/** More different lines than this are no repetition. */
const MAX_LINES = 64;
const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Lines that differ in ids alone are the same: each call has its own. A new line is told after what was counted. */
export function createRepeats(write: (line: string) => void): Repeats {
  const counts = new Map<string, { readonly line: string; more: number }>();
  const tellCounts = () => {
    for (const kind of counts.values()) {
      if (kind.more > 0) write(`${kind.line} (and ${kind.more} more like it)`);
      kind.more = 0;
    }
  };
  return {
    tell(line) {
      const key = line.replace(ID, '');
      const known = counts.get(key);
      if (known !== undefined) {
        known.more++;
        return;
      }
      tellCounts();
      if (counts.size === MAX_LINES) counts.clear();
      counts.set(key, { line, more: 0 });
      write(line);
    },
    flush() {
      tellCounts();
      counts.clear();
    },
  };
}
