/**
 * The operator's log of a witness. Anybody can send requests, and send the same one again and again, so lines that
 * tell of nothing new are written a few times and then counted: nobody can fill a disk, or hide in the noise what
 * matters.
 */
export interface Journal {
  /** Writes a line that is never left out: of something that can happen once only. */
  keep(line: string): void;
  /** Writes a line, unless many of its kind came lately. There must be few kinds. */
  note(kind: string, line: string): void;
  /** Tells how many lines were left out since the last time. */
  flush(): void;
}

interface JournalOptions {
  readonly write: (line: string) => void;
  /** In milliseconds. */
  readonly now: () => number;
}

/** Lines of one kind that are written at once, and how soon another one is. */
const BURST = 20;
const EVERY_MS = 60_000;

interface Kind {
  left: number;
  /** When `left` last grew. */
  since: number;
  omitted: number;
}

export function createJournal({ write, now }: JournalOptions): Journal {
  const kinds = new Map<string, Kind>();
  const tell = (name: string, kind: Kind) => {
    if (kind.omitted > 0) write(`${name}: ${kind.omitted} further lines were left out`);
    kind.omitted = 0;
  };
  return {
    keep: write,
    note(name, line) {
      const kind = kinds.get(name) ?? { left: BURST, since: now(), omitted: 0 };
      kinds.set(name, kind);
      const grown = Math.floor((now() - kind.since) / EVERY_MS);
      // A clock that was set back must not stop the log.
      if (grown !== 0) {
        kind.left = Math.min(BURST, kind.left + Math.max(0, grown));
        kind.since = now();
      }
      if (kind.left === 0) {
        kind.omitted++;
        return;
      }
      kind.left--;
      tell(name, kind);
      write(line);
    },
    flush() {
      for (const [name, kind] of kinds) tell(name, kind);
    },
  };
}
