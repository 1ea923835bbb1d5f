import type { Commitment } from '../canon/index.ts';
import type { DataObject } from '../capsule/index.ts';
import { BullaError } from '../error.ts';
import { isObject, JsonObject, keysOf, member, memberAt, pointer, toNumber, toPlain } from '../json/index.ts';

// The evidence map: what a capsule says in `context.environment.bulla` of what an action rests on. Only this file writes
// it and reads it. Each value is a digest, an id, a name or a count, never a payload.

/** A payload that is committed to, or the code that says why JSON cannot carry it. */
export type Committed = Commitment | { readonly uncommitted: string };

/** What a member holds. */
interface Forms {
  readonly text: string;
  readonly count: number;
  readonly open: DataObject;
  /** By a JSON Pointer in the capsule, a code. */
  readonly codes: { readonly [path: string]: string };
  readonly committed: Committed;
}

type Shape = keyof Forms | { readonly [member: string]: Shape };

/** Members whose names end in `!` are required. */
const SHAPE = {
  /** The process that sealed. */
  instance: 'text',
  /**
   * In an outcome, and in the mark of a call whose process ended: the capsule of the intent. A denial inside of a call
   * has the same parent, and is no outcome.
   */
  intent: 'text',
  /** In an outcome that came after its intent was marked as one of a process that ended: the capsule of the mark. */
  late: 'text',
  /** In a call: `lazy` where the answer may come before the outcome is durable. */
  outcome: 'text',
  /** In the first record of a chain: the origin of its checkpoints. */
  origin: 'text',
  /** In the record of a recovery: the checkpoint that the chain does not continue, and how long the chain is. */
  recovered: { 'origin!': 'text', 'size!': 'count', 'root!': 'text', 'length!': 'count' },
  /** The agent, by the id under which its capabilities are registered. */
  agent: 'text',
  /** The server that is called: its name here, and the digest of how it is reached. */
  server: { 'name!': 'text', 'digest!': 'text' },
  /** The digest of the lock. */
  lock: 'text',
  /** One tool, by the digests under which three documents know it. They are digests of different things. */
  tool: {
    /** The server, as the operator calls it. */
    server: 'text',
    /** The name of the tool as it is called. */
    'name!': 'text',
    /** Of its definition, as the lock pins it. */
    locked: 'text',
    /** Of its declaration, as the manifest has it. */
    declared: 'text',
    /** As the capability hash sees it. */
    fingerprint: 'text',
  },
  args: 'committed',
  /** What else is forwarded with the arguments. */
  rest: 'committed',
  /**
   * Where payloads are kept and something was removed from them first: the commitments to the copies that are kept, which
   * say what was removed; or the codes that say why nothing is kept.
   */
  redacted: { args: 'committed', result: 'committed' },
  /** The version of the manifest that was in force, and the digest of its bindings to locked tools. */
  manifest: { 'agent_id!': 'text', version: 'count', hash: 'text', bindings: 'text' },
  capability: { 'static!': 'text', runtime: 'text', invocation: 'text', link: 'text', envelope: 'text' },
  /** The consent that a call rests on: its id, and the capsules of the question and of the answer. */
  consent: { 'id!': 'text', asked: 'text', answered: 'text' },
  /** The envelope that the call is bound to, and the policy that the envelope is bound to. */
  envelope: {
    exec_hash: 'text',
    'profile!': 'text',
    'audience!': 'text',
    policy: { 'id!': 'text', 'version!': 'count', 'hash!': 'text' },
  },
  /** The rules that decided. */
  policy: { 'id!': 'text', version: 'count', 'hash!': 'text' },
  /** In records of questions, answers and administrative acts: names, ids, digests and counts of their own. */
  facts: 'open',
  /** What an application noted and no capsule can hold: by its JSON Pointer in the capsule, why. */
  uncommitted: 'codes',
} as const satisfies { readonly [member: string]: Shape };

/** The type that a shape describes. */
type Of<S> = S extends keyof Forms
  ? Forms[S]
  : { readonly [K in keyof S as K extends `${infer Name}!` ? Name : never]: Of<S[K]> } & {
      readonly [K in keyof S as K extends `${string}!` ? never : K]?: Of<S[K]>;
    };

export type Evidence = Of<typeof SHAPE>;
export type ToolReference = NonNullable<Evidence['tool']>;

const VERSION = 1;

/**
 * The `environment` of a capsule with this evidence. What is absent or undefined does not stand there. Throws
 * `EVIDENCE_INVALID` with the path for what the map does not know.
 */
export function environmentOf(evidence: Evidence): DataObject {
  const { v: _, ...members } = readMembers({ v: VERSION, ...evidence }, '/context/environment/bulla');
  return { bulla: { v: VERSION, ...members } };
}

/**
 * Reads the evidence of a capsule, sealed here or parsed; null where it has none. Throws `EVIDENCE_INVALID` with the
 * path for a map of another version or form: what is not understood is not guessed.
 */
export function readEvidence(capsule: unknown): Evidence | null {
  const environment = memberAt(capsule, ['context', 'environment']);
  const bulla = memberAt(environment, ['bulla']);
  if (bulla === undefined) return null;
  const { v: _, ...evidence } = readMembers(bulla, '/context/environment/bulla');
  return evidence as Evidence;
}

/** The first record of a chain also names the origin of its checkpoints. Throws as `environmentOf` does. */
export function withOrigin<C extends { readonly context: { readonly environment: unknown } }>(
  capsule: C,
  origin: string,
): C {
  const { environment } = capsule.context;
  if (!isObject(environment)) throw invalid('/context/environment', 'is an object');
  const evidence = readEvidence(capsule) ?? {};
  const keys = keysOf(environment).filter((key) => key !== 'bulla');
  const others = Object.fromEntries(keys.map((key) => [key, member(environment, key)]));
  const merged = { ...others, ...environmentOf({ ...evidence, origin }) };
  return { ...capsule, context: { ...capsule.context, environment: merged } };
}

/**
 * What a record claims of its chain and of its intent. Read leniently: also from a record of others, and from evidence
 * that is otherwise not known.
 */
interface Claims {
  /** Whether it has evidence at all. */
  readonly isOurs: boolean;
  /** The capsule whose outcome it is, or which it marks as one without. */
  readonly intent: string | null;
  /** The origin of the checkpoints of its chain: in the first record, and in one that recovers the chain. */
  readonly origin: string | null;
  readonly recovered: JsonObject | object | null;
}

export function claimsOf(capsule: unknown): Claims {
  const bulla = memberAt(capsule, ['context', 'environment', 'bulla']);
  const [intent, origin, recovered] = ['intent', 'origin', 'recovered'].map((key) => memberAt(bulla, [key]));
  return {
    isOurs: bulla !== undefined,
    intent: typeof intent === 'string' ? intent : null,
    origin: typeof origin === 'string' ? origin : null,
    recovered: isObject(recovered) ? recovered : null,
  };
}

function readMembers(value: unknown, path: string): Record<string, unknown> & { v: number } {
  const read = readShape(value, { 'v!': 'count', ...SHAPE }, path) as Record<string, unknown> & { v: number };
  if (read.v !== VERSION) throw invalid(`${path}/v`, `is ${VERSION}`);
  return read;
}

function readShape(value: unknown, shape: Shape, path: string): unknown {
  switch (shape) {
    case 'text':
      if (typeof value === 'string') return value;
      throw invalid(path, 'is a text');
    case 'count': {
      const number = toNumber(value) ?? -1;
      if (Number.isSafeInteger(number) && number >= 0) return number;
      throw invalid(path, 'is a whole number');
    }
    case 'open':
      if (value instanceof JsonObject) return toPlain(value);
      if (isObject(value)) return value;
      throw invalid(path, 'is an object');
    case 'codes':
      return readAll(value, path, () => 'text');
    case 'committed': {
      const read = readAll(value, path, (member) => (COMMITTED.includes(member) ? 'text' : null));
      const names = Object.keys(read).sort().join();
      const isKnown = names === 'uncommitted' || (names === 'commitment,of' && FORMS.includes(read.of));
      if (isKnown) return read;
      throw invalid(path, 'is a commitment with its form, or says why there is none');
    }
    default: {
      const read = readAll(value, path, (member) => memberShape(shape, member));
      for (const member of Object.keys(shape)) {
        if (member.endsWith('!') && read[member.slice(0, -1)] === undefined)
          throw invalid(`${path}/${member.slice(0, -1)}`, 'is missing');
      }
      return read;
    }
  }
}

/** Looks at own members only: a record may name `constructor`. */
function memberShape(shape: { readonly [member: string]: Shape }, member: string): Shape | null {
  const name = [member, `${member}!`].find((each) => Object.hasOwn(shape, each));
  return name === undefined ? null : shape[name]!;
}

const COMMITTED: readonly string[] = ['commitment', 'of', 'uncommitted'];
const FORMS: readonly unknown[] = ['jcs', 'exact'];

function readAll(
  value: unknown,
  path: string,
  shapeOf: (member: string) => Shape | null,
): Record<string, unknown> {
  if (!isObject(value)) throw invalid(path, 'is an object');
  const read: Record<string, unknown> = {};
  for (const key of keysOf(value)) {
    const inner = member(value, key);
    if (inner === undefined) continue;
    const at = path + pointer([key]);
    const shape = shapeOf(key);
    if (shape === null) throw invalid(at, 'is not a member of the evidence map');
    read[key] = readShape(inner, shape, at);
  }
  return read;
}

function invalid(path: string, what: string): BullaError {
  const message = `The evidence cannot be read: ${path.split('/').at(-1)} ${what}.`;
  return new BullaError('EVIDENCE_INVALID', message, { path });
}
