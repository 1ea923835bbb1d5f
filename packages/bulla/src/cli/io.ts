import { readFileSync } from 'node:fs';
import { BullaError } from '@bulla/core/error';
import { createColors } from 'picocolors';

/** The exit codes of every command. */
export const EXIT = {
  good: 0,
  /** The thing that was checked is bad. */
  bad: 1,
  /** Wrong usage, or input that cannot be read. */
  usage: 2,
  /** It could not be decided. */
  undecided: 3,
} as const;
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** Errors that are no fault of the call or its input: it could not be decided, or what was checked is bad. */
const EXIT_OF: Readonly<Record<string, Exit>> = {
  CAPABILITY_MODULE_TIMEOUT: EXIT.undecided,
  STORE_MISSING: EXIT.undecided,
  STORE_UNREADABLE: EXIT.undecided,
  STORE_BUSY: EXIT.undecided,
  STORE_UNCERTAIN: EXIT.undecided,
  KEYRING_LOCKED: EXIT.undecided,
  CHAIN_SOURCE_MISSING: EXIT.undecided,
  CHAIN_SOURCE_EMPTY: EXIT.undecided,
  CHAIN_EMPTY: EXIT.undecided,
  IMPORT_NOT_VERIFIED: EXIT.bad,
  IMPORT_DIFFERS: EXIT.bad,
  KILLED: EXIT.bad,
  STORE_BEHIND: EXIT.bad,
  STORE_FORKED: EXIT.bad,
  TILES_DIFFER: EXIT.bad,
  TILES_UNREADABLE: EXIT.undecided,
  WITNESS_LISTEN: EXIT.undecided,
  WITNESS_STATE_BUSY: EXIT.undecided,
  WITNESS_STATE_FAILED: EXIT.undecided,
  WITNESS_POLICY_BUSY: EXIT.undecided,
  CHECKPOINT_EMPTY: EXIT.undecided,
  CHECKPOINT_MISSING: EXIT.undecided,
  LOG_INCLUSION: EXIT.bad,
  LOG_CONSISTENCY: EXIT.bad,
  LOG_UNSIGNED: EXIT.bad,
  LOG_KEY_REVOKED: EXIT.bad,
  LOG_ORIGIN: EXIT.bad,
  NOTE_SIGNATURE_INVALID: EXIT.bad,
  NOTE_UNVERIFIED: EXIT.bad,
  LOCK_SIGNATURE_INVALID: EXIT.bad,
  LOCK_UNSIGNED: EXIT.bad,
  LOCK_OTHER: EXIT.bad,
  LOCK_INCONSISTENT: EXIT.bad,
  LOCK_DRIFT: EXIT.bad,
  POLICY_NOTHING_ASKED: EXIT.undecided,
  PIN_NPM_MISSING: EXIT.undecided,
  PIN_NPM_FAILED: EXIT.undecided,
  PIN_REGISTRY_ANSWER: EXIT.undecided,
  PIN_OCI_UNRESOLVED: EXIT.undecided,
  PIN_CACHE_UNREADABLE: EXIT.undecided,
  PIN_INSTALL_FAILED: EXIT.undecided,
  PIN_START_FAILED: EXIT.undecided,
  PIN_REGISTRY_DIFFERS: EXIT.bad,
  PIN_INTEGRITY: EXIT.bad,
  PIN_CACHE_TAMPERED: EXIT.bad,
  PIN_TREE_FORM: EXIT.bad,
  PIN_TREE_SOURCE: EXIT.bad,
  PIN_TREE_INTEGRITY: EXIT.bad,
  PIN_TREE_MISSING: EXIT.bad,
  PIN_TARBALL_FORM: EXIT.bad,
  PIN_TARBALL_ENTRY: EXIT.bad,
  PIN_TARBALL_COLLISION: EXIT.bad,
  PIN_TARBALL_LIMIT: EXIT.bad,
  PIN_PACKAGE_FORM: EXIT.bad,
  PIN_PACKAGE_OTHER: EXIT.bad,
  PIN_OCI_DIGEST: EXIT.bad,
  PROVENANCE_INVALID: EXIT.bad,
  PROVENANCE_SIGNER: EXIT.bad,
  PROVENANCE_SUBJECT: EXIT.bad,
  DSSE_UNVERIFIED: EXIT.bad,
  BUNDLE_MISMATCH: EXIT.bad,
  BUNDLE_KEY: EXIT.bad,
  BUNDLE_README: EXIT.bad,
};

/** What a server does or fails to do decides nothing; but how it is named on the command line is usage. */
const MCP_USAGE = /^MCP_(?:TARGET_.*|HTTP_HEADER|HTTP_INSECURE)$/;

/** What a server shows is refused: with the code of the reason, and as a verdict on the server. */
export class Refusal extends BullaError {}

/** Does something with what a server shows; what that throws is a verdict on the server. */
export function refusing<Result>(what: string, action: () => Result): Result {
  try {
    return action();
  } catch (cause) {
    if (!(cause instanceof BullaError)) throw cause;
    const { code, message, path } = cause;
    throw new Refusal(code, `${what}: ${message}`, { ...(path !== undefined && { path }), cause });
  }
}

/** With which exit code a command ends that failed with this error. */
export function exitOf(error: unknown): Exit {
  if (!(error instanceof BullaError)) return EXIT.undecided;
  if (error instanceof Refusal) return EXIT.bad;
  if (error.code.startsWith('MCP_')) return MCP_USAGE.test(error.code) ? EXIT.usage : EXIT.undecided;
  if (error.code.startsWith('DOWNLOAD_')) return EXIT.undecided;
  return EXIT_OF[error.code] ?? EXIT.usage;
}

/** The options that every reporting command takes. */
export interface ReportOptions {
  json?: boolean;
  quiet?: boolean;
}

/** Whether what is written there may have colours. */
export function coloured(stream: NodeJS.WriteStream): boolean {
  if (process.env.NO_COLOR) return false;
  const force = process.env.FORCE_COLOR;
  return force !== undefined ? force !== '0' && force !== 'false' : stream.isTTY === true;
}

export const colors: ReturnType<typeof createColors> = createColors(coloured(process.stdout));
const errorColors = createColors(coloured(process.stderr));

/** Reads a file, or standard input for `-`. Throws `INPUT_UNREADABLE`. */
export function readInput(file: string): Uint8Array {
  try {
    return new Uint8Array(readFileSync(file === '-' ? 0 : file));
  } catch (error) {
    const name = file === '-' ? 'Standard input' : file;
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new BullaError('INPUT_UNREADABLE', `${name} cannot be read (${reason}).`, { cause: error });
  }
}

/** Writes to standard output and waits until it is taken; a reader that went away ends the program quietly. */
export function print(data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(data, (error) => {
      if (!error) resolve();
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(EXIT.good);
      else reject(error);
    });
  });
}

/** Prints a report: as one JSON document with `--json`, else as the text for people, unless `--quiet`. */
export async function report(options: ReportOptions, document: unknown, text: () => string): Promise<void> {
  if (options.json) await print(`${JSON.stringify(document)}\n`);
  else if (!options.quiet) await print(`${text()}\n`);
}

/** An error as a document: its code and sentence, and where it lies if that is known. */
export function errorDocument(error: BullaError): Record<string, unknown> {
  return {
    ok: false,
    code: error.code,
    message: error.message,
    ...(error.path === undefined ? {} : { path: error.path }),
    ...(error.offset === undefined ? {} : { offset: error.offset }),
  };
}

/** A sentence may quote what somebody else chose: nothing in it moves a cursor or hides itself. */
function seen(text: string): string {
  return text.replace(
    /[[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--\n]/gv,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

/** Tells of an error on standard error; what is not a `BullaError` is a defect and shows its stack. */
export function complain(error: unknown, subject?: string): void {
  const prefix = errorColors.red('bulla:');
  if (error instanceof BullaError) {
    const where = [
      ...(subject === undefined ? [] : [subject]),
      ...(error.offset === undefined ? [] : [`byte ${error.offset}`]),
      ...(error.path ? [`at ${seen(error.path)}`] : []),
    ].join(', ');
    const place = where === '' ? '' : ` ${errorColors.dim(`(${where})`)}`;
    process.stderr.write(`${prefix} ${seen(error.message)}${place} ${errorColors.dim(`[${error.code}]`)}\n`);
  } else {
    process.stderr.write(`${prefix} ${error instanceof Error ? error.stack : String(error)}\n`);
  }
}
