import { drawOver, type ReportOptions } from './io.ts';
import { streams } from './streams.ts';

export interface Progress {
  update(done: number): void;
  done(): void;
}

const WIDTH = 30;

/** A bar on a terminal, from 2 % steps on; nothing elsewhere, and nothing with `--quiet`. */
export function progressBar(size: { readonly total: number } | null, options: ReportOptions): Progress {
  if (size === null || !streams.stderr.isTTY || options.quiet)
    return { update: () => undefined, done: () => undefined };
  let shown = -1;
  return {
    update(done) {
      const percent = Math.min(100, Math.floor((100 * done) / Math.max(1, size.total)));
      if (percent < shown + 2) return;
      shown = percent;
      const filled = Math.round((percent * WIDTH) / 100);
      drawOver(`${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${percent} %`);
    },
    done() {
      if (shown >= 0) drawOver('');
    },
  };
}
