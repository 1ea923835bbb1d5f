import { randomUUID } from 'node:crypto';
import type { Code } from '@bulla/core/codes';
import { keyId, publicKey, readPrivateKey, type Signer, signerOf, toUtf8 } from '@bulla/core/crypto';
import {
  type Authorization,
  addSignature,
  authorize,
  type Envelope,
  type ExecProfile,
  execHash,
  parseEnvelope,
  readApprovals,
  readAuthorization,
  type Signatory,
  toAuthorizationDetails,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { stringify } from '@bulla/core/json';
import { visible } from '@bulla/core/text';
import { type Command, Option } from 'commander';
import { unixTime } from '../../envelope/index.ts';
import { replaceFile } from '../../locks/index.ts';
import type { Run } from '../commands.ts';
import { askYes, isAnswered } from '../terminal/ask.ts';
import { durationOption } from '../terminal/input.ts';
import { colors, EXIT, type Exit, printExact, type ReportOptions, readInput, say } from '../terminal/io.ts';
import { execProfileOption } from './options.ts';
import { approvalLines, atTime, envelopeText } from './text.ts';

interface AuthorizeOptions extends ReportOptions {
  key: string;
  who?: string;
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
    .option('--who <name>', 'the issuer of a new authorization; proves nobody (default: the id of the key)')
    .option('--audience <name>', 'the ledger that will use it up; no other may')
    .addOption(durationOption('--expires', 'how long the authorization holds', { unit: 's', initial: '10m' }))
    .addOption(
      durationOption('--not-before', 'from when on, counted from now', {
        unit: 's',
        least: '0s',
        initial: '0s',
      }),
    )
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
    .option('--quiet', 'with --yes: do not show what is signed')
    .addHelpText(
      'after',
      `
Everything that the signature covers is shown first, and what others state who signed before; on a terminal it takes
the word yes. Elsewhere --yes is needed. Who approved is nothing that can be claimed here: a verifier goes by the key,
and by the name under which it knows that key.

Examples:
  $ bulla envelope authorize envelope.json --key alice.key --who alice --audience ledger-1 -o authorization.json
  $ bulla envelope authorize envelope.json --key bob.key --add authorization.json -o authorization.json`,
    )
    .action(run(authorizeEnvelope));
}

async function authorizeEnvelope(file: string, options: AuthorizeOptions): Promise<Exit> {
  const envelope = parseEnvelope(readInput(file));
  const before = options.add === undefined ? null : readInput(options.add);
  const signer = signerOf(readPrivateKey(Buffer.from(readInput(options.key)).toString('utf8')));
  const claims =
    before === null ? newClaims(envelope, signer, options) : claimsToSign(before, envelope, options);
  if (options.details) {
    await printExact(`${stringify(toAuthorizationDetails(claims, envelope))}\n`);
    return EXIT.good;
  }
  refuseExpired(envelope, claims);
  // Who is asked is shown what; only --yes can do without.
  if (!options.quiet || !options.yes) say(shown(envelope, claims, signer, before, options).join('\n'));
  if (!options.yes && !(isAnswered() && (await askYes('Sign this?')))) {
    if (!isAnswered()) throw new BullaError('USAGE', 'Nobody is there to ask; --yes signs without asking.');
    say('Not signed.');
    return EXIT.bad;
  }
  // People take their time to read.
  refuseExpired(envelope, claims);
  const signatory: Signatory = { signer, when: unixTime(), how: options.how, chain: [] };
  const signed =
    before === null ? await authorize(claims, [signatory]) : await addSignature(before, signatory);
  if (options.output === undefined) await printExact(`${signed}\n`);
  else {
    replaceFile(options.output, toUtf8(`${signed}\n`));
    if (!options.quiet) say(`${colors.green('signed')}   written to ${visible(options.output)}`);
  }
  return EXIT.good;
}

/** Nobody signs what no ledger can use any more. */
function refuseExpired({ constraints }: Envelope, { exp }: Authorization): void {
  const now = unixTime();
  const refuse = (code: Code, what: string, until: number) => {
    throw new BullaError(
      code,
      `${what} expired at ${atTime(until)}, and now it is ${atTime(now)}: not signed.`,
    );
  };
  if (now > constraints.ttl) refuse('EE_TTL_EXPIRED', 'The envelope', constraints.ttl);
  if (now >= exp) refuse('EE_AO_EXPIRED', 'The authorization', exp);
}

function newClaims(envelope: Envelope, signer: Signer, options: AuthorizeOptions): Authorization {
  const now = unixTime();
  if (options.audience === undefined)
    throw new BullaError('USAGE', 'Name the ledger that will use the authorization: --audience.');
  return {
    iss: options.who ?? idOf(signer),
    sub: envelope.actor.caller,
    aud: options.audience,
    tenant_id: envelope.tenant_id,
    exec_hash: execHash(envelope, options.profile),
    nbf: now + options.notBefore,
    exp: now + options.notBefore + options.expires,
    jti: randomUUID(),
  };
}

function idOf({ algorithm, publicKey: bytes }: Signer): string {
  return keyId(publicKey(algorithm, bytes));
}

/** Somebody else's authorization is signed only when it is for the envelope that is shown, and for its caller. */
function claimsToSign(before: Uint8Array, envelope: Envelope, options: AuthorizeOptions): Authorization {
  const claims = readAuthorization(before);
  const refuse = (code: Code, claim: string, sentence: string) => {
    throw new BullaError(code, sentence, { path: `/payload/${claim}` });
  };
  if (claims.exec_hash !== execHash(envelope, options.profile))
    refuse('EE_HASH_MISMATCH', 'exec_hash', 'The authorization is for another envelope.');
  if (claims.sub !== envelope.actor.caller)
    refuse('EE_AO_SUBJECT_MISMATCH', 'sub', 'The authorization is for another caller.');
  if (claims.tenant_id !== envelope.tenant_id)
    refuse('EE_AO_TENANT_MISMATCH', 'tenant_id', 'The authorization is for another tenant.');
  return claims;
}

/** All that the signature covers, and what stands beside it. */
function shown(
  envelope: Envelope,
  claims: Authorization,
  signer: Signer,
  before: Uint8Array | null,
  { profile, how }: AuthorizeOptions,
): string[] {
  return [
    ...envelopeText(envelope, profile),
    `ledger   ${visible(claims.aud)}`,
    `valid    from ${atTime(claims.nbf)} to ${atTime(claims.exp)}`,
    `issued   by ${visible(claims.iss)} as ${visible(claims.jti)}`,
    `you      ${how} at the moment of signing, key ${idOf(signer)}`,
    ...(before === null ? [] : readApprovals(before)).flatMap(approvalLines),
  ];
}
