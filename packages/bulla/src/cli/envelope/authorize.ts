import { readPrivateKey, shownKeyId, signerOf, toUtf8 } from '@bulla/core/crypto';
import {
  type ApprovalHow,
  type Envelope,
  type ExecProfile,
  moment,
  TOOL_CALL,
  toAuthorizationDetails,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { stringify } from '@bulla/core/json';
import { visible } from '@bulla/core/text';
import { Option } from 'commander';
import { approvedArguments, type Proposed, proposeAuthorization } from '../../app/index.ts';
import { readInput, replaceFile } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { askYes, isAnswered } from '../terminal/ask.ts';
import { durationOption } from '../terminal/input.ts';
import { colors, EXIT, type Exit, printExact, type ReportOptions, say } from '../terminal/io.ts';
import { execProfileOption } from './options.ts';
import { approvalLines, envelopeText } from './text.ts';

interface AuthorizeOptions extends ReportOptions {
  key: string;
  who?: string;
  audience?: string;
  expires?: number;
  notBefore: number;
  how?: ApprovalHow;
  add?: string;
  output?: string;
  arguments?: string;
  salt?: string;
  details?: boolean;
  profile: ExecProfile;
  yes?: boolean;
}

export function defineAuthorize(command: Command): void {
  command
    .subcommand('authorize', 'Read an envelope to the person who approves it, and sign exactly that.')
    .argument('<envelope>', 'the envelope; - is standard input')
    .requiredOption('--key <file>', 'the private key of the person who signs')
    .option('--who <name>', 'the issuer of a new authorization; proves nobody (default: the id of the key)')
    .option('--audience <name>', 'the ledger that will use it up; no other may')
    .addOption(
      durationOption('--expires', 'how long the authorization holds (default: as long as the envelope)', {
        unit: 's',
      }),
    )
    .addOption(
      durationOption('--not-before', 'from when on, counted from now', {
        unit: 's',
        least: '0s',
        initial: '0s',
      }),
    )
    .addOption(
      new Option(
        '--how <how>',
        'how it is approved: by a person, by a rule that was decided before, or by a higher authority (default: human if you are asked, policy with --yes)',
      ).choices(['human', 'policy', 'escalated']),
    )
    .option('--add <file>', 'sign an authorization that others signed already, instead of a new one')
    .option(
      '--arguments <file>',
      'of a tool call: show these arguments, if they are the ones that are approved',
    )
    .option('--salt <file>', 'the salt of the arguments (default: the envelope with .salt at the end)')
    .option('-o, --output <file>', 'where to write it (default: standard output)')
    .option('--details', 'sign nothing; describe it as one authorization_details object of RFC 9396')
    .addOption(execProfileOption())
    .option(
      '--yes',
      'sign without asking anybody, and say so: the approval is by policy unless --how says otherwise',
    )
    .option('--quiet', 'with --yes: do not show what is signed')
    .helpText(`
Everything that the signature covers is shown first, and what others state who signed before; on a terminal it takes
the word yes. Elsewhere --yes is needed: nobody is asked then, so the signature states policy and not human. A program
that asked a person itself says so with --how human. Who approved is nothing that can be claimed here: a verifier goes by the key,
and by the name under which it knows that key.

Examples:
  $ bulla envelope authorize envelope.json --key alice.key --who alice --audience ledger-1 -o authorization.json
  $ bulla envelope authorize envelope.json --key bob.key --add authorization.json -o authorization.json`)
    .run(authorizeEnvelope);
}

async function authorizeEnvelope(file: string, options: AuthorizeOptions): Promise<Exit> {
  const envelope = readInput(file, 'document');
  const add = options.add === undefined ? undefined : readInput(options.add, 'document');
  const signer = signerOf(readPrivateKey(Buffer.from(readInput(options.key, 'key')).toString('utf8')));
  const { audience, who: issuer, notBefore, expires, profile } = options;
  const how = options.how ?? (options.yes ? 'policy' : 'human');
  const proposed = proposeAuthorization({
    ...{ envelope, signer, how, profile, add },
    ...{ audience, issuer, notBefore, expires },
  });
  if (options.details) {
    await printExact(`${stringify(toAuthorizationDetails(proposed.claims, proposed.envelope))}\n`);
    return EXIT.good;
  }
  proposed.assertInTime();
  const called = argumentLines(proposed.envelope, file, options);
  // Who is asked is shown what; only --yes can do without.
  if (!options.quiet || !options.yes) say([...shown(proposed, profile, how), ...called].join('\n'));
  if (!options.yes && !(isAnswered() && (await askYes('Sign this?')))) {
    if (!isAnswered()) throw new BullaError('USAGE', 'Nobody is there to ask; --yes signs without asking.');
    say('Not signed.');
    return EXIT.bad;
  }
  const signed = await proposed.sign();
  if (options.output === undefined) await printExact(`${signed}\n`);
  else {
    replaceFile(options.output, toUtf8(`${signed}\n`));
    if (!options.quiet) say(`${colors.green('signed')}   written to ${visible(options.output)}`);
  }
  return EXIT.good;
}

/** The arguments of a tool call, which the envelope only commits to. Throws for others than those. */
function argumentLines(envelope: Envelope, file: string, options: AuthorizeOptions): string[] {
  const { arguments: args, salt = `${file}.salt` } = options;
  if (args === undefined)
    return envelope.action_type === TOOL_CALL
      ? ['WARNING  the arguments are not shown, only a commitment to them; name them with --arguments']
      : [];
  const given = approvedArguments(envelope, readInput(args, 'document'), readInput(salt, 'key'));
  return [`with     ${visible(stringify(given))}`];
}

/** All that the signature covers, and what stands beside it. */
function shown(
  { envelope, claims, keyId, others }: Proposed,
  profile: ExecProfile,
  how: ApprovalHow,
): string[] {
  return [
    ...envelopeText(envelope, profile),
    `ledger   ${visible(claims.aud)}`,
    `valid    from ${moment(claims.nbf)} to ${moment(claims.exp)}`,
    `issued   by ${visible(claims.iss)} as ${visible(claims.jti)}`,
    `you      ${how} at the moment of signing, key ${shownKeyId(keyId)}`,
    ...others.flatMap(approvalLines),
  ];
}
