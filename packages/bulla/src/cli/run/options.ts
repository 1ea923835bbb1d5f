import type { Observer } from '../../app/index.ts';
import { GITHUB_ISSUER } from '../../pin/index.ts';
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

export function provenanceOptions(command: Command): Command {
  return command
    .option('--bundle <file>', 'a Sigstore bundle with the provenance of the package')
    .option('--trusted-root <file>', 'the Sigstore trusted root to verify it with; nothing is fetched')
    .option('--issuer <url>', 'who vouches for the signer, exactly', GITHUB_ISSUER)
    .option(
      '--identity <name>',
      'the signer that the certificate must name; a * at the end stands for anything',
    )
    .option(
      '--expected-source <repository[@ref]>',
      'the repository that the certificate must name, such as https://github.com/o/r@refs/tags/v1',
    );
}
