import { statSync } from 'node:fs';
import { type NoteVerifier, parseVkey, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Command, InvalidArgumentError } from 'commander';
import { loadKeys } from '../../locks/index.ts';
import type { Run } from '../commands.ts';
import { COMPAT } from '../lock/compat.ts';
import { readLockFile } from '../lock/keys.ts';
import { readPolicy } from '../log/anchors.ts';
import {
  colors,
  complain,
  EXIT,
  type Exit,
  errorDocument,
  print,
  printJson,
  type ReportOptions,
  readInput,
} from '../terminal/io.ts';
import { namedAnchors } from './artifact-checkpoint.ts';
import { lockfile, verifyLock } from './artifact-lock.ts';
import { hasAny, rootOf } from './artifact-root.ts';
import { type Artifact, artifacts, type NamedAnchor, type Trust, type Verdict } from './artifacts.ts';
import { type TrustOptions, trusted, trustOptions } from './trust.ts';

interface VerifyOptions extends ReportOptions, TrustOptions {
  vkey: NoteVerifier[];
  policy?: string;
  kind: string[];
  lockfile?: string;
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
function kind(text: string, previous: string[]): string[] {
  const found = artifacts.find((artifact) => artifact.kind === text.replaceAll('-', ' '));
  if (found === undefined)
    throw new InvalidArgumentError(`It is one of: ${artifacts.map((artifact) => artifact.kind).join(', ')}.`);
  return [...previous, found.kind];
}

const collect = (value: string, previous: string[]) => [...previous, value];

export function define(command: Command, run: Run): void {
  trustOptions(command)
    .argument('[file...]', 'the artifacts; - is standard input')
    .option('-l, --lockfile <file>', 'a lockfile (default with -s or -k and no file: mcp-lock.json)')
    .option('-s, --signature <file>', 'its signature (default: what lies beside it)')
    .option('-k, --key <file|hex>', 'a public key to trust, as --public-key; may be repeated', collect, [])
    .option('--vkey <vkey>', 'a verifier key (name+id+key) to trust; may be repeated', vkey, [])
    .option('--policy <file>', 'a tlog-policy file: the witnesses that checkpoints and proofs must have')
    .option('--kind <kind>', 'what the files must be; may be repeated, for files of several kinds', kind, [])
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .addHelpText(
      'after',
      `
Known artifacts: ${artifacts.map((artifact) => artifact.kind).join(', ')}.
A chain is held against the checkpoints and proofs of its log that are named with it, and the record of a proof is looked
for in every chain. A file that could be of two kinds is refused. A script should say with --kind what it expects: whoever can replace a file
can put another good one in its place. Where a key, --require-pq or --policy is named, what nobody signs
(${artifacts
        .filter((artifact) => !artifact.isSigned)
        .map((artifact) => artifact.kind)
        .join(', ')}) is undecided.
Exits with 0 only if every file is good; otherwise with the gravest finding: 1 bad, 2 unreadable, 3 undecided.`,
    )
    .action(run(verifyAll));
}

/** The lockfile that the flags name, which the released program has by default. */
function namedLock(files: readonly string[], options: VerifyOptions): string | undefined {
  if (options.lockfile !== undefined) return options.lockfile;
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
  const named = COMPAT && lock !== undefined && options.key.length === 0 ? ['public.key'] : options.key;
  const keys = loadKeys(named, null).keys.map((key) => toHex(key.bytes));
  let anchors: readonly NamedAnchor[] | undefined;
  const trust: Trust = {
    ...trusted({ ...options, publicKey: [...options.publicKey, ...keys] }, options.vkey),
    vkeys: options.vkey,
    requirePq: options.requirePq ?? false,
    allowNonFinite: options.allowNan ?? false,
    policy: options.policy === undefined ? undefined : readPolicy(options),
    files,
    read: createReader(),
    anchors() {
      anchors ??= namedAnchors(trust);
      return anchors;
    },
  };
  for (const file of lock === undefined ? files : [...files, lock]) {
    try {
      const { artifact, verdict: found } =
        file === lock
          ? { artifact: lockfile, verdict: verifyLock(file, readLockFile(file), options.signature, trust) }
          : await verifyOne(file, trust);
      const { kind } = artifact;
      const verdict = demanded(artifact, found, options);
      exits.add({ good: EXIT.good, bad: EXIT.bad, undecided: EXIT.undecided }[verdict.result]);
      reports.push({
        file,
        kind,
        ok: verdict.result === 'good',
        ...verdict,
        lines: undefined,
        notProven: undefined,
        not_proven: verdict.notProven,
      });
      const shown = COMPAT && file === lock ? compatText(verdict) : text(file, kind, verdict);
      if (!options.json && !options.quiet) await print(shown);
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      exits.add(EXIT.usage);
      reports.push({ file, ...errorDocument(error) });
      complain(error, file);
    }
  }
  if (options.json) await printJson({ ok: exits.size === 1 && exits.has(EXIT.good), files: reports });
  return [EXIT.bad, EXIT.usage, EXIT.undecided].find((exit) => exits.has(exit)) ?? EXIT.good;
}

/** Reads files that others may ask for again: what is not a regular file can be read only once, and is kept. */
function createReader(): (file: string) => Uint8Array {
  const kept = new Map<string, Uint8Array>();
  return (file) => {
    const before = kept.get(file);
    if (before !== undefined) return before;
    const bytes = readInput(file);
    if (file === '-' || !statSync(file).isFile()) kept.set(file, bytes);
    return bytes;
  };
}

async function verifyOne(file: string, trust: Trust): Promise<{ artifact: Artifact; verdict: Verdict }> {
  const bytes = trust.read(file);
  const [artifact, other] = artifacts.filter((candidate) => candidate.recognises(bytes));
  if (artifact === undefined) throw new BullaError('VERIFY_UNRECOGNISED', unrecognised(bytes));
  // Of a broken document nothing is good, whatever it was to be.
  if (other !== undefined && rootOf(bytes) !== 'broken') {
    const message = `This could be read as two kinds of artifact: ${artifact.kind}, ${other.kind}.`;
    throw new BullaError('VERIFY_AMBIGUOUS', message);
  }
  return { artifact, verdict: await artifact.verify(file, bytes, trust) };
}

function unrecognised(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'The file is empty.';
  if (hasAny(bytes, ['active_epoch']))
    return 'This is a keyring, which other files are verified with; name it with --keyring.';
  return 'This is no artifact that Bulla knows.';
}

/** The verdict, held to what the caller asked for besides. */
function demanded({ kind, isSigned }: Artifact, verdict: Verdict, options: VerifyOptions): Verdict {
  if (options.kind.length > 0 && !options.kind.includes(kind)) {
    const message = `Another kind was asked for: ${options.kind.join(' or ')}.`;
    return { ...verdict, result: 'bad', code: 'VERIFY_KIND', message, lines: [] };
  }
  const lists = [options.publicKey, options.key, options.vkey, options.pqKey];
  const asksForSigner =
    lists.some((list) => list.length > 0) ||
    [options.keyring, options.requirePq, options.policy].some((option) => option !== undefined);
  if (verdict.result !== 'good' || isSigned || !asksForSigner) return verdict;
  const message = `It is well formed, but nobody signs a ${kind}, and a signature was asked for.`;
  return { ...verdict, result: 'undecided', code: 'VERIFY_UNSIGNED', message, lines: [] };
}

function text(file: string, kind: string, verdict: Verdict): string[] {
  const mark = { good: colors.green('good'), bad: colors.red('BAD'), undecided: colors.yellow('undecided') }[
    verdict.result
  ];
  const code = verdict.result === 'good' ? '' : ` ${colors.dim(`[${verdict.code}]`)}`;
  const limits =
    verdict.result === 'good' ? [`  ${colors.dim(`not proven: ${verdict.notProven.join('; ')}`)}`] : [];
  const lines = (verdict.lines ?? []).map((line) => `  ${line}`);
  return [`${mark}  ${file} (${kind}): ${verdict.message}${code}`, ...lines, ...limits];
}

/** The released program's words for a lock. */
function compatText({ result, message, details }: Verdict): string[] {
  if (result !== 'good') return ['❌ TAMPER DETECTED', `  ${message}`];
  const version = details.profile === 'mcptrust-v2' ? 'v2' : 'v1';
  return ['✅ Signature Verified', '  Mode: Ed25519', `  Canonicalization: ${version}`];
}
