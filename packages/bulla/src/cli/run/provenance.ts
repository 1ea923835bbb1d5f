import { GITHUB_ISSUER } from '../../pin/index.ts';
import type { Command } from '../command.ts';

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
