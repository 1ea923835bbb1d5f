import type { Code } from '@bulla/core/codes';
import { type NoteVerifier, parseVkey, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { KINDS, type Kind, SIGNED, type Trust, type Verdict } from '@bulla/core/verify';
import { InvalidArgumentError } from 'commander';
import { verifyFiles } from '../../app/index.ts';
import { loadKeys } from '../../locks/index.ts';
import type { Command } from '../command.ts';
import { type ApproverOptions, approverOption, approversAmong } from '../envelope/options.ts';
import { COMPAT } from '../lock/compat.ts';
import { lockfileAlias } from '../lock/options.ts';
import { readPolicy } from '../log/anchors.ts';
import {
  collect,
  colors,
  complain,
  EXIT,
  type Exit,
  errorDocument,
  markOf,
  print,
  printJson,
  type ReportOptions,
  reportOptions,
} from '../terminal/io.ts';
import { messageOf } from './hints.ts';
import { type TrustOptions, trusted, trustOptions } from './trust.ts';

interface VerifyOptions extends ReportOptions, TrustOptions, ApproverOptions {
  vkey: NoteVerifier[];
  policy?: string;
  kind: Kind[];
  lock?: string;
  signature?: string;
  key: string[];
}

function vkey(text: string, previous: NoteVerifier[]): NoteVerifier[] {
  try {
    return [...previous, parseVkey(text)];
  } catch (error) {
    throw new InvalidArgumentError((error as BullaError).message);
  }
}

/** A kind as it is typed: its words may be joined by hyphens. */
function kind(text: string, previous: Kind[]): Kind[] {
  const found = KINDS.find((one) => one === text.replaceAll('-', ' '));
  if (found === undefined) throw new InvalidArgumentError(`It is one of: ${KINDS.join(', ')}.`);
  return [...previous, found];
}

export function define(command: Command): void {
  command
    .use(trustOptions)
    .argument('[file...]', 'the artifacts; - is standard input')
    .option('-l, --lock <file>', 'a lockfile (default with -s or -k and no file: mcp-lock.json)')
    .use(lockfileAlias)
    .option('-s, --signature <file>', 'its signature (default: what lies beside it)')
    .option('-k, --key <file|hex>', 'a public key to trust, as --public-key', collect, [])
    .option('--vkey <vkey>', 'a verifier key (name+id+key) to trust', vkey, [])
    .option('--policy <file>', 'a tlog-policy file: the witnesses that checkpoints and proofs must have')
    .use(approverOption)
    .option('--kind <kind>', 'what the files must be; several for files of several kinds', kind, [])
    .use(reportOptions)
    .helpText(`
Known artifacts: ${KINDS.join(', ')}.
A chain is held against the checkpoints and proofs of its log that are named with it, and the record of a proof is looked
for in every chain. A file that could be of two kinds is refused. A script should say with --kind what it expects: whoever can replace a file
can put another good one in its place. Where a key, --require-pq or --policy is named, what nobody signs
(${KINDS.filter((one) => !SIGNED[one]).join(', ')}) is undecided.
Exits with 0 only if every file is good; otherwise with the gravest finding: 1 bad, 2 unreadable, 3 undecided.`)
    .run(verifyAll);
}

/** The lockfile that the flags name, which the released program has by default. */
function namedLock(files: readonly string[], options: VerifyOptions): string | undefined {
  if (options.lock !== undefined) return options.lock;
  const isMeant = files.length === 0 && (COMPAT || options.signature !== undefined || options.key.length > 0);
  if (isMeant) return 'mcp-lock.json';
  if (files.length === 0) throw new BullaError('USAGE', 'Name what is to be verified.');
  if (options.signature !== undefined)
    throw new BullaError('USAGE', 'A signature is named together with its lockfile (-l).');
  return undefined;
}

async function verifyAll(files: string[], options: VerifyOptions): Promise<Exit> {
  const lock = namedLock(files, options);
  const reports: Record<string, unknown>[] = [];
  const exits = new Set<Exit>();
  const refuse = async (file: string, error: BullaError) => {
    exits.add(EXIT.usage);
    reports.push({ file, ...errorDocument(error) });
    complain(error, file);
  };
  const named = lock === undefined ? undefined : { file: lock, signature: options.signature };
  for await (const found of verifyFiles(files, trustOf(options, lock), named)) {
    const { file } = found;
    if ('error' in found) {
      await refuse(file, found.error);
      continue;
    }
    const verdict = { ...found.verdict, message: messageOf(found.verdict) };
    const { name: _, kind, result, lines: __, missing: ___, notProven, ...rest } = verdict;
    const { code, message, details } = verdict;
    if (result === 'unreadable') {
      // Only what is good is `ok`.
      await refuse(
        file,
        new BullaError(code as Code, message, details as { path?: string; offset?: number }),
      );
      continue;
    }
    exits.add(EXIT[result]);
    reports.push({ file, kind, ok: result === 'good', result, ...rest, not_proven: notProven });
    const shown = COMPAT && file === lock ? compatText(verdict) : text(file, verdict);
    if (!options.json && !options.quiet) await print(shown);
  }
  if (options.json) await printJson({ ok: exits.size === 1 && exits.has(EXIT.good), files: reports });
  return [EXIT.bad, EXIT.usage, EXIT.undecided].find((exit) => exits.has(exit)) ?? EXIT.good;
}

/** What the options say is trusted. */
function trustOf(options: VerifyOptions, lock: string | undefined): Trust {
  const { key, publicKey, vkey: vkeys, pqKey, keyring, policy, requirePq } = options;
  const named = COMPAT && lock !== undefined && key.length === 0 ? ['public.key'] : key;
  const keys = loadKeys(named, null).keys.map((one) => toHex(one.bytes));
  const trust = trusted({ ...options, publicKey: [...publicKey, ...keys] }, vkeys);
  return {
    ...trust,
    vkeys,
    approvers: approversAmong(options, trust),
    policy: policy === undefined ? undefined : readPolicy(options),
    kinds: options.kind,
    signed:
      [publicKey, key, vkeys, pqKey].some((list) => list.length > 0) ||
      [keyring, requirePq, policy].some((option) => option !== undefined),
  };
}

function text(file: string, verdict: Verdict): string[] {
  const code = verdict.result === 'good' ? '' : ` ${colors.dim(`[${verdict.code}]`)}`;
  const limits =
    verdict.result === 'good' ? [`  ${colors.dim(`not proven: ${verdict.notProven.join('; ')}`)}`] : [];
  const lines = (verdict.lines ?? []).map((line) => `  ${line}`);
  return [
    `${markOf(verdict.result)}  ${file} (${verdict.kind}): ${verdict.message}${code}`,
    ...lines,
    ...limits,
  ];
}

/** The released program's words for a lock. */
function compatText({ result, message, details }: Verdict): string[] {
  if (result !== 'good') return ['❌ TAMPER DETECTED', `  ${message}`];
  const version = details.profile === 'mcptrust-v2' ? 'v2' : 'v1';
  return ['✅ Signature Verified', '  Mode: Ed25519', `  Canonicalization: ${version}`];
}
