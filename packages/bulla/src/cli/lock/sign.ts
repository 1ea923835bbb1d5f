import { basename } from 'node:path';
import { formatVkey, keyId, noteVerifier, publicKey, type Signer, toUtf8 } from '@bulla/core/crypto';
import { signLock, signLockNote, signLockStatement } from '@bulla/core/lock';
import { type Command, Option } from 'commander';
import { loadSigner, SIGNATURE_KINDS, type SignatureKind } from '../../locks/index.ts';
import { replaceFile } from '../../os/index.ts';
import type { Run } from '../commands.ts';
import { colors, EXIT, type Exit, type ReportOptions, report } from '../terminal/io.ts';
import { COMPAT } from './compat.ts';
import { readLockFile } from './keys.ts';

interface SignOptions extends ReportOptions {
  lockfile: string;
  key?: string;
  keys?: string;
  output?: string;
  canonicalization: 'v1' | 'v2';
  format: SignatureKind;
  name: string;
}

export function define(command: Command, run: Run): void {
  command
    .option('-l, --lockfile <file>', 'the lockfile', 'mcp-lock.json')
    .option('-k, --key <file>', 'the private key (default: private.key)')
    .option('--keys <folder>', 'sign with the active key of a keyring instead')
    .option('-o, --output <file>', 'where to write the signature (default: beside the lockfile)')
    .addOption(
      new Option('--canonicalization <version>', 'what the signature is over')
        .choices(['v1', 'v2'])
        .default('v1'),
    )
    .addOption(
      new Option('--format <format>', 'sig (of the released lock program), note (C2SP) or dsse (in-toto)')
        .choices(Object.keys(SIGNATURE_KINDS))
        .default('sig'),
    )
    .option('--name <name>', 'the name of the key in a note', 'bulla-lock')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .addHelpText(
      'after',
      `
Nothing is signed that cannot be read: the lockfile is read strictly first.

Example:
  $ bulla sign -l mcp-lock.json -k private.key && bulla verify -l mcp-lock.json -k public.key`,
    )
    .action(run(sign));
}

async function sign(options: SignOptions): Promise<Exit> {
  const { lockfile, format } = options;
  const bytes = readLockFile(lockfile);
  const key = loadSigner({
    file: options.key ?? (options.keys === undefined ? 'private.key' : undefined),
    keyring: options.keys,
  });
  let text: string;
  let id: string;
  let vkey: string | undefined;
  try {
    const signing = publicKey(key.signer.algorithm, key.signer.publicKey);
    id = keyId(signing);
    if (format === 'note') vkey = formatVkey(noteVerifier(options.name, signing));
    text = await signAs(bytes, key.signer, options);
  } finally {
    key.close();
  }
  const output = options.output ?? `${lockfile}${SIGNATURE_KINDS[format]}`;
  replaceFile(output, toUtf8(text));
  const document = { ok: true, lockfile, signature: output, format, key_id: id, ...(vkey && { vkey }) };
  await report(options, document, () =>
    [
      ...(COMPAT ? [`✓ Signature created: ${output}`] : []),
      `${colors.green('signed')}  ${lockfile} in ${output}`,
      `  ${colors.dim(`key id ${id}`)}`,
      ...(vkey === undefined ? [] : [`  ${colors.dim(`vkey ${vkey}`)}`]),
    ].join('\n'),
  );
  return EXIT.good;
}

function signAs(lock: Uint8Array, signer: Signer, options: SignOptions): Promise<string> {
  if (options.format === 'note') return signLockNote(lock, [{ name: options.name, signer }]);
  if (options.format === 'dsse')
    return signLockStatement(lock, [signer], { name: basename(options.lockfile) });
  return signLock(lock, signer, { form: options.canonicalization });
}
