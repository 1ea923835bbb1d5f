import { randomUUID } from 'node:crypto';
import { readPrivateKey, signerOf, toUtf8 } from '@bulla/core/crypto';
import {
  type Authorization,
  addSignature,
  authorize,
  type Envelope,
  type ExecProfile,
  execHash,
  parseEnvelope,
  readAuthorization,
  toAuthorizationDetails,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { stringify } from '@bulla/core/json';
import { type Command, Option } from 'commander';
import { unixTime } from '../envelope/index.ts';
import { replaceFile } from '../lockfile/index.ts';
import { askYes, isAnswered } from './ask.ts';
import type { Run } from './commands.ts';
import { duration, execProfileOption } from './envelope-options.ts';
import { atTime, envelopeText } from './envelope-text.ts';
import { EXIT, type Exit, print, type ReportOptions, readInput } from './io.ts';

interface AuthorizeOptions extends ReportOptions {
  key: string;
  who: string;
  audience?: string;
  expires: number;
  notBefore: number;
  how: 'human' | 'escalated';
  add?: string;
  output?: string;
  details?: boolean;
  profile: ExecProfile;
  yes?: boolean;
}

export function defineAuthorize(command: Command, run: Run): void {
  command
    .command('authorize')
    .description('Read an envelope to the person who approves it, and sign exactly that.')
    .argument('<envelope>', 'the envelope; - is standard input')
    .requiredOption('--key <file>', 'the private key of the person who signs')
    .requiredOption('--who <name>', 'the name of that person')
    .option('--audience <name>', 'the ledger that will use it up; no other may')
    .option('--expires <time>', 'how long the authorization holds', duration, 600)
    .option('--not-before <time>', 'from when on, counted from now', duration, 0)
    .addOption(
      new Option('--how <how>', 'as one asked in person, or as a higher authority')
        .choices(['human', 'escalated'])
        .default('human'),
    )
    .option('--add <file>', 'sign an authorization that others signed already, instead of a new one')
    .option('-o, --output <file>', 'where to write it (default: standard output)')
    .option('--details', 'sign nothing; describe it as one authorization_details object of RFC 9396')
    .addOption(execProfileOption())
    .option('--yes', 'sign without being asked')
    .option('--quiet', 'do not tell what is signed')
    .addHelpText(
      'after',
      `
What is signed is shown first; on a terminal it takes the word yes. Elsewhere --yes is needed.

Examples:
  $ bulla envelope authorize envelope.json --key alice.key --who alice --audience ledger-1 -o authorization.json
  $ bulla envelope authorize envelope.json --key bob.key --who bob --add authorization.json -o authorization.json`,
    )
    .action(run(authorizeEnvelope));
}

async function authorizeEnvelope(file: string, options: AuthorizeOptions): Promise<Exit> {
  const envelope = parseEnvelope(readInput(file));
  const before = options.add === undefined ? null : readInput(options.add);
  const claims = before === null ? newClaims(envelope, options) : claimsToSign(before, envelope, options);
  if (options.details) {
    await print(`${stringify(toAuthorizationDetails(claims, envelope))}\n`);
    return EXIT.good;
  }
  if (!options.quiet) process.stderr.write(`${shown(envelope, claims, options).join('\n')}\n`);
  if (!options.yes && !(isAnswered() && (await askYes('Sign this?')))) {
    if (!isAnswered())
      throw new BullaError('ENVELOPE_NOT_ASKED', 'Nobody is there to ask; --yes signs without asking.');
    process.stderr.write('Not signed.\n');
    return EXIT.bad;
  }
  const signer = signerOf(readPrivateKey(Buffer.from(readInput(options.key)).toString('utf8')));
  const signed = before === null ? await authorize(claims, [signer]) : await addSignature(before, signer);
  if (options.output === undefined) await print(`${signed}\n`);
  else replaceFile(options.output, toUtf8(`${signed}\n`));
  return EXIT.good;
}

function newClaims(envelope: Envelope, options: AuthorizeOptions): Authorization {
  const now = unixTime();
  if (options.audience === undefined)
    throw new BullaError('ENVELOPE_AUDIENCE', 'Name the ledger that will use the authorization: --audience.');
  return {
    iss: options.who,
    sub: envelope.actor.caller,
    aud: options.audience,
    tenant_id: envelope.tenant_id,
    exec_hash: execHash(envelope, options.profile),
    nbf: now + options.notBefore,
    exp: now + options.notBefore + options.expires,
    jti: randomUUID(),
    approvals: [{ who: options.who, when: now, how: options.how, chain: [] }],
  };
}

/** Somebody else's authorization is signed only when it is for the envelope that is shown. */
function claimsToSign(before: Uint8Array, envelope: Envelope, options: AuthorizeOptions): Authorization {
  const claims = readAuthorization(before);
  if (claims.exec_hash !== execHash(envelope, options.profile))
    throw new BullaError('EE_HASH_MISMATCH', 'The authorization is for another envelope.', {
      path: '/payload/exec_hash',
    });
  return claims;
}

function shown(envelope: Envelope, claims: Authorization, { profile }: AuthorizeOptions): string[] {
  return [
    ...envelopeText(envelope, profile),
    `ledger   ${claims.aud}`,
    `valid    from ${atTime(claims.nbf)} to ${atTime(claims.exp)}`,
  ];
}
