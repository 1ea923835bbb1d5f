import type { Observer } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { scanning } from '../lock/server.ts';
import { type ReportOptions, say } from '../terminal/io.ts';
import { progressBar } from '../terminal/progress.ts';

/** How pinned programs are fetched. */
export interface FetchOptions extends ReportOptions {
  allowPrivateRegistry?: boolean;
}

export function fetchOptions(command: Command): Command {
  return command.option(
    '--allow-private-registry',
    "let npm's own registry be at a private address, or plain http (or BULLA_ALLOW_PRIVATE_REGISTRY=1)",
  );
}

/** Shows how far work with servers and pinned packages is, and says what people should know. */
export function observing(options: ReportOptions): Observer {
  return {
    ...scanning(!options.quiet),
    onPackages: (total) => progressBar({ total }, options),
    onNotice(text) {
      if (!options.quiet) say([`bulla: ${text}`]);
    },
  };
}
