import { canonicalize, digestText } from '../canon/index.ts';
import { BullaError } from '../error.ts';
import {
  JsonObject,
  type JsonValue,
  parse,
  parsePointer,
  parseWithSpans,
  type Span,
  spanAt,
} from '../json/index.ts';
import { hasInexact, inexactNumbers } from './numbers.ts';
import { type ManifestProblem, Problems, quoted } from './problems.ts';
import type { Manifest } from './types.ts';
import { type Declared, readVersion1 } from './version1.ts';

/** The longest canonical form that is accepted, and from where on a warning is given; in bytes of UTF-8. */
const MAX_MANIFEST_BYTES = 131_072;
const LARGE_MANIFEST_BYTES = 65_536;
/** A longer text is refused without being read, however much of it is white space. */
const MAX_MANIFEST_TEXT_BYTES: number = 32 * MAX_MANIFEST_BYTES;

/** The parsers, by `schema_version`. */
const PARSERS: ReadonlyMap<string, (document: JsonObject, problems: Problems) => Declared> = new Map([
  ['1.0', readVersion1],
]);

/** What is to be said of a text that claims to be a manifest. */
export interface ManifestReport {
  /** Null when there is a problem. */
  readonly manifest: Manifest | null;
  /** All that must be mended, the first 1,000 of them; empty for a manifest. */
  readonly problems: readonly ManifestProblem[];
  /** How many there are in all. */
  readonly count: number;
  /** What is permitted and worth a look. */
  readonly warnings: readonly ManifestProblem[];
  /** The length of the canonical form in UTF-8; null when there is none. */
  readonly bytes: number | null;
}

/** The error for an invalid manifest. `code` and `path` are those of the gravest problem. */
export class ManifestError extends BullaError {
  readonly problems: readonly ManifestProblem[];
  /** The HTTP status that an answer has: 413 for one that is too large, else 400. */
  readonly httpStatus: 400 | 413;

  constructor(report: Pick<ManifestReport, 'problems' | 'count'>) {
    const { problems, count } = report;
    const large = problems.find(({ code }) => code === 'MANIFEST_TOO_LARGE');
    const first = large ?? problems[0]!;
    const { code, path, offset } = first;
    const more = count === 1 ? '' : ` (and ${count - 1} more)`;
    super(code, `${first.message}${more}`, { path, ...(offset === undefined ? {} : { offset }) });
    this.name = 'ManifestError';
    this.problems = problems;
    this.httpStatus = large === undefined ? 400 : 413;
  }
}

/** Reads a manifest. Throws a {@link ManifestError} with all problems. */
export function readManifest(input: string | Uint8Array): Manifest {
  const report = validateManifest(input);
  if (report.manifest === null) throw new ManifestError(report);
  return report.manifest;
}

/**
 * Validates a manifest from its text, strictly: every constraint of its version, all problems at once, each with its
 * place and how to mend it. Never throws. Takes linear time.
 */
export function validateManifest(input: string | Uint8Array): ManifestReport {
  const problems = new Problems();
  const document = parsed(input, problems);
  const nothing = { manifest: null, bytes: null };
  const read = document === undefined ? nothing : readDocument(document, problems);
  // The text is read a second time only where a place below its beginning is to be told.
  let root: Span | undefined;
  const located = (problem: ManifestProblem) => {
    if (document === undefined) return problem;
    if (problem.path !== '') root ??= parseWithSpans(input, LIMITS).span;
    return {
      ...problem,
      offset: root === undefined ? 0 : spanAt(document, root, parsePointer(problem.path)!).value.start,
    };
  };
  const { count } = problems;
  return {
    ...read,
    count,
    problems: problems.problems.map(located),
    warnings: problems.warnings.map(located),
  };
}

const LIMITS = { maxBytes: MAX_MANIFEST_TEXT_BYTES };

function parsed(input: string | Uint8Array, problems: Problems): JsonValue | undefined {
  try {
    return parse(input, LIMITS);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    if (error.code === 'JSON_TOO_LARGE') {
      tooLarge(problems, `The text is longer than ${MAX_MANIFEST_TEXT_BYTES} bytes and was not read.`);
    } else {
      problems.problems.push({
        code: error.code,
        path: error.path ?? '',
        message: error.message,
        hint: 'Mend the text: a manifest is one JSON document, without comments and with each key once.',
        ...(error.offset === undefined ? {} : { offset: error.offset }),
      });
      problems.count++;
    }
    return undefined;
  }
}

const encoder = new TextEncoder();

function tooLarge(problems: Problems, message: string): void {
  const hint = 'Declare fewer tools, and tell their variants apart with `oneOf` in one schema.';
  problems.add('MANIFEST_TOO_LARGE', [], message, hint);
}

function readDocument(document: JsonValue, problems: Problems): Pick<ManifestReport, 'manifest' | 'bytes'> {
  const canonical = canonicalOf(document, problems);
  const bytes = canonical === null ? null : encoder.encode(canonical).length;
  if (bytes !== null && bytes > MAX_MANIFEST_BYTES)
    tooLarge(problems, `The canonical form has ${bytes} bytes; ${MAX_MANIFEST_BYTES} are permitted.`);
  else if (bytes !== null && bytes >= LARGE_MANIFEST_BYTES) {
    const message = `The canonical form has ${bytes} bytes; from ${LARGE_MANIFEST_BYTES} on a manifest is large.`;
    problems.warn(
      'MANIFEST_LARGE',
      [],
      message,
      'Fewer tools with `oneOf` in their schemas say the same in less.',
    );
  }
  const declared = declaredIn(document, problems);
  if (declared === null || canonical === null || bytes === null || problems.count > 0)
    return { manifest: null, bytes };
  const hash = digestText(canonical, 'jcs');
  return { manifest: { ...declared, document: document as JsonObject, canonical, bytes, hash }, bytes };
}

/** Routes a document to the parser of its version. */
function declaredIn(document: JsonValue, problems: Problems): Declared | null {
  if (!(document instanceof JsonObject)) {
    problems.add(
      'MANIFEST_NOT_OBJECT',
      [],
      'A manifest is a JSON object.',
      'Write the manifest between { and }.',
    );
    return null;
  }
  const version = document.get('schema_version');
  const read = typeof version === 'string' ? PARSERS.get(version) : undefined;
  if (read === undefined) {
    const known = [...PARSERS.keys()].map((name) => `"${name}"`).join(', ');
    const is =
      version === undefined
        ? 'is missing'
        : typeof version === 'string'
          ? `${quoted(version)} is not known`
          : 'must be a text';
    const message = `\`schema_version\` ${is}; nothing else can be judged without it.`;
    problems.add('MANIFEST_SCHEMA_VERSION', ['schema_version'], message, `Known is ${known}.`);
    return null;
  }
  return read(document, problems);
}

/** The canonical form; null, and problems, where a number would become another in it. */
function canonicalOf(document: JsonValue, problems: Problems): string | null {
  if (!hasInexact(document)) return canonicalize(document, 'jcs');
  for (const { lexeme, at } of inexactNumbers(document)) {
    const message = `${quoted(lexeme)} would be hashed as another number: doubles do not hold it.`;
    problems.add('MANIFEST_NUMBER', at, message, 'Write a number of at most 15 digits, or a text.');
  }
  return null;
}
