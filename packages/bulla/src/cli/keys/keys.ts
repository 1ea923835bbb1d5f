import {
  type AlgorithmName,
  formatVkey,
  type KeyFormat,
  keyId,
  noteVerifier,
  qpLabel,
  shortLabel,
  toHex,
  writePrivateKey,
  writePublicKey,
} from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { Option } from 'commander';
import { readKeyFile } from '../../app/index.ts';
import { writeKeyFile } from '../../keys/index.ts';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { colors, printExact, type ReportOptions, report, reportOptions } from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';
import { defineKeyring } from './keyring.ts';

interface KeyOptions extends ReportOptions {
  algorithm?: AlgorithmName;
  seed?: boolean;
  name?: string;
}
interface ConvertOptions extends KeyOptions {
  to: KeyFormat;
  out?: string;
  public?: boolean;
}

export function define(command: Command): void {
  const reading = (sub: Command) =>
    sub
      .argument('<file>', 'the key; - is standard input')
      .addOption(
        new Option('--algorithm <name>', 'what a key in hex is for').choices([
          'Ed25519',
          'ML-DSA-44',
          'ML-DSA-65',
        ]),
      )
      .option('--seed', 'read 64 hex digits as a private seed, not as a public key');

  reading(
    command.subcommand(
      'show',
      'Tell what a key file holds: format, algorithm and identity, never the secret.',
    ),
  )
    .option('--name <name>', 'also print the verifier key (vkey) under this name, for signed notes')
    .use(reportOptions)
    .run(show);

  reading(command.subcommand('convert', 'Write a key in another format.'))
    .addOption(
      new Option('--to <format>', 'the format to write')
        .choices(['hex', 'pem', 'jwk', 'lock-pem'])
        .makeOptionMandatory(),
    )
    .option('--out <file>', 'where to write; a private key is never written to a terminal or over a file')
    .option('--public', 'write the public key of a private one')
    .helpText(`
Formats: hex (raw bytes), pem (PKCS#8 or SPKI), jwk (OKP or AKP), lock-pem (of the released lock program).
Private files are created with mode 0600 and never overwritten.

Example:
  $ bulla keys convert private.key --to pem --out private.pem`)
    .run(convert);

  defineKeyring(command);
}

async function show(file: string, options: KeyOptions) {
  const { format, publicKey, private: secret } = readKeyFile(readInput(file, 'key'), options);
  const document = {
    ok: true,
    format,
    kind: secret === undefined ? 'public' : 'private',
    algorithm: publicKey.algorithm,
    key_id: keyId(publicKey),
    public_key: toHex(publicKey.bytes),
    labels: { signed_by: shortLabel(publicKey), python: qpLabel(publicKey) },
    ...(options.name === undefined ? {} : { vkey: formatVkey(noteVerifier(options.name, publicKey)) }),
  };
  await report(options, document, () =>
    [
      ['kind', `${document.kind} key, ${document.algorithm}, ${format}`],
      ['key id', document.key_id],
      [
        'public key',
        document.public_key.length > 64
          ? `${document.public_key.slice(0, 64)}… (${publicKey.bytes.length} bytes)`
          : document.public_key,
      ],
      ['labels', `${document.labels.signed_by}, ${document.labels.python}`],
      ...('vkey' in document ? [['vkey', document.vkey as string]] : []),
    ].map(([name, value]) => `${colors.dim(name!.padEnd(12))}${value}`),
  );
}

async function convert(file: string, options: ConvertOptions) {
  const { publicKey, private: secret } = readKeyFile(readInput(file, 'key'), options);
  const kind = secret === undefined || options.public ? 'public' : 'private';
  const text =
    kind === 'private' ? writePrivateKey(secret!, options.to) : writePublicKey(publicKey, options.to);
  if (options.out !== undefined) {
    writeKeyFile(options.out, text, kind);
  } else if (kind === 'private' && streams.stdout.isTTY) {
    throw new BullaError(
      'KEY_TO_TERMINAL',
      'A private key is not written to a terminal; name a file with --out.',
    );
  } else {
    await printExact(text);
  }
}
