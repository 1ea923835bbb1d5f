import { randomBytes } from 'node:crypto';
import { canonicalize, digest, lint, type ProfileId } from '@bulla/core/canon';
import { formatVkey, localSigner, noteVerifier, openNote, publicKey, signNote } from '@bulla/core/crypto';
import type { BullaError } from '@bulla/core/error';
import { parse } from '@bulla/core/json';
import type { Command } from 'commander';
import type { Run } from './cli.ts';
import { colors, EXIT, print } from './io.ts';

const DOCUMENT = '{"tool":"pay","args":{"to":"ACME <billing>","amount":1.0,"ref":9007199254740993}}';

export function define(command: Command, run: Run): void {
  command.action(
    run(async () => {
      for (const part of [exactBytes, strictInput, signedText]) await print(`${await part()}\n\n`);
      await print(`Next: ${colors.bold('bulla --help')}, or README.md for what this is for.\n`);
      return EXIT.good;
    }),
  );
}

const title = (text: string) => colors.bold(text);
const refused = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    const { code, message } = error as BullaError;
    return `${colors.red('refused')} ${message} ${colors.dim(`[${code}]`)}`;
  }
  return colors.green('accepted');
};

function exactBytes(): string {
  const value = parse(DOCUMENT);
  const rows = (['jcs', 'cps', 'mcptrust-v1', 'mcptrust-v2'] as ProfileId[]).map((id) =>
    [
      `  ${id.padEnd(12)} ${canonicalize(value, id)}`,
      `  ${' '.repeat(12)} ${colors.dim(digest(value, id))}`,
    ].join('\n'),
  );
  const findings = lint(value, ['jcs', 'mcptrust']).map(
    ({ family, rule, path }) => `  ${colors.yellow('lint')} ${family}: ${rule} at ${path}`,
  );
  return [
    title('One call, four canonical forms, four digests'),
    `  ${'as sent'.padEnd(12)} ${DOCUMENT}`,
    ...rows,
    ...findings,
  ].join('\n');
}

function strictInput(): string {
  const attempts: [string, string][] = [
    ['a key twice, once in disguise', '{"tool":"read","\\u0074ool":"delete"}'],
    ['half a character', '{"tool":"rea\\ud83d"}'],
    ['something after the end', '{"tool":"read"} {"tool":"delete"}'],
  ];
  const rows = attempts.map(([name, text]) => `  ${name.padEnd(30)} ${refused(() => parse(text))}`);
  return [title('What others repair or drop is refused'), ...rows].join('\n');
}

async function signedText(): Promise<string> {
  const signer = localSigner('Ed25519', new Uint8Array(randomBytes(32)));
  const verifier = noteVerifier('bulla.demo/log', publicKey('Ed25519', signer.publicKey));
  const note = await signNote('bulla.demo/log\n3\nall calls up to here are sealed\n', [
    { name: verifier.name, signer },
  ]);
  return [
    title('A text that anyone can verify with a public key'),
    ...note
      .trimEnd()
      .split('\n')
      .map((line) => `  ${colors.dim('│')} ${line}`),
    `  vkey        ${formatVkey(verifier)}`,
    `  as signed   ${refused(() => openNote(note, [verifier]))}`,
    `  one digit   ${refused(() => openNote(note.replace('\n3\n', '\n4\n'), [verifier]))}`,
  ].join('\n');
}
