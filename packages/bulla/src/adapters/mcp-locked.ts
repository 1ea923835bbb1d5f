import { type SharedPolicy, type StandardSchema, type Toolkit, tool, toolkit } from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';
import { type JsonObject, pointer, toPlain } from '@bulla/core/json';
import { type Entry, entryOf, type Lock, type Native } from '@bulla/core/lock';
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/client/validators/cf-worker';
import { targetOf } from '../locks/index.ts';
import { authorized, type OpenOptions, open, readList, type Session } from '../mcp/index.ts';
import { noteCallResult } from './mcp-result.ts';

export interface LockedToolkitOptions<Env> {
  /** The name of the toolkit: chosen here, because what a server calls itself identifies nothing. */
  readonly name: string;
  /** Stands before each tool's name, so that tools of several servers do not collide. Default none. */
  readonly prefix?: string | undefined;
  /** The tools that are taken, by the server's names. Default all that are locked. */
  readonly only?: readonly string[] | undefined;
  /** They gate every tool. */
  readonly policies?: readonly SharedPolicy<Env>[] | undefined;
  /** How long to wait for each answer. Default 30,000 ms. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Connects to the server that a lock names: a command is started, so open only a lock that you trust. The caller
 * closes `connection`. Rejects with `LOCK_NO_SERVER` and the `MCP_…` codes.
 */
export function openLocked(lock: Lock, options: OpenOptions = {}): Promise<Session> {
  const target = targetOf(lock);
  return authorized(options.authorizer, () => open(target, options));
}

/**
 * A toolkit of the tools of a locked server. Names, descriptions, schemas and the text for the model are those of the
 * lock, so its hash does not depend on the server. Each call reads the server's list first: where its definition is
 * not, to the last member, the one that was locked, nothing is called. A handler gives the server's result as it came,
 * one with `isError` too. Throws `LOCK_NO_DEFINITIONS` for a lock of the released program, `ADAPTER_DRIFTED`,
 * `ADAPTER_SCHEMA` for a schema of an unknown dialect, `ADAPTER_TOOL_UNKNOWN` for a name in `only` that is not locked,
 * and `VALUE_INEXACT_NUMBER` for a schema with a number that JavaScript cannot hold. Calls reject with
 * `ADAPTER_TOOL_GONE`, `ADAPTER_DRIFTED`, the `MCP_…` codes, and what the gate and the validation throw.
 */
export function toolkitFromLock<Env = unknown>(
  lock: Lock,
  session: Session,
  options: LockedToolkitOptions<Env>,
): Toolkit<Env> {
  const native = definitionsOf(lock);
  const instructions = native.instructions.definition as string | null;
  if (session.instructions !== instructions) {
    const why = 'The server gives other instructions than those that were locked.';
    throw new BullaError('ADAPTER_DRIFTED', why);
  }
  const names = options.only ?? [...native.tools.keys()];
  const members = names.map((name) => {
    const entry = native.tools.get(name);
    if (entry === undefined) {
      const why = `There is no tool ${JSON.stringify(name)} in the lock.`;
      throw new BullaError('ADAPTER_TOOL_UNKNOWN', why, { path: pointer(['tools', name]) });
    }
    return lockedTool(name, entry, native, session, options);
  });
  return toolkit(members, { name: options.name, instructions });
}

/**
 * For `runtimeToolAugments`: with it the runtime hash covers the whole definition that was locked of each tool, its
 * annotations and output schema too, which a tool's own hash does not know. Throws `LOCK_NO_DEFINITIONS`.
 */
export function lockAugments(
  lock: Lock,
  { prefix = '', only }: Pick<LockedToolkitOptions<never>, 'prefix' | 'only'> = {},
): Record<string, string> {
  const augments: Record<string, string> = Object.create(null);
  for (const [name, { digest }] of definitionsOf(lock).tools)
    if (only === undefined || only.includes(name)) augments[prefix + name] = `mcp-lock:${digest}`;
  return augments;
}

function definitionsOf({ native }: Lock): Native {
  if (native !== null) return native;
  const why = 'A lock of the released program holds hashes and no definitions; make one with `bulla lock`.';
  throw new BullaError('LOCK_NO_DEFINITIONS', why);
}

function lockedTool<Env>(
  name: string,
  entry: Entry,
  native: Native,
  { connection }: Session,
  { prefix = '', policies, timeoutMs }: LockedToolkitOptions<Env>,
) {
  const definition = entry.definition as JsonObject;
  const description = definition.get('description');
  return tool<StandardSchema, Env>({
    name: prefix + name,
    description: typeof description === 'string' ? description : null,
    inputSchema: schemaOf(name, definition),
    policies,
    async handler({ abortSignal: signal }, input) {
      await checkOffered(name, entry, native.excluded.tools, connection);
      const params = { name, arguments: input };
      const result = await connection.request('tools/call', params, { signal, timeoutMs });
      return noteCallResult(toPlain(result) as object);
    },
  });
}

/** The server offers the tool now, exactly as it was locked. Rejects with `ADAPTER_TOOL_GONE` and `ADAPTER_DRIFTED`. */
async function checkOffered(
  name: string,
  locked: Entry,
  excluded: readonly string[],
  connection: Session['connection'],
): Promise<void> {
  const path = pointer(['tools', name]);
  const tools = await readList(connection, 'tools');
  const definition = tools.find((tool) => tool.get('name') === name);
  if (definition === undefined) {
    const why = `The server no longer offers the tool ${JSON.stringify(name)}.`;
    throw new BullaError('ADAPTER_TOOL_GONE', why, { path });
  }
  const now = entryOf(definition, excluded);
  if (now.digest === locked.digest && now.sourceDigest === locked.sourceDigest) return;
  const why = `The server's definition of the tool ${JSON.stringify(name)} is not the one that was locked.`;
  throw new BullaError('ADAPTER_DRIFTED', why, { path });
}

/** Interprets schemas; the SDK's other engine would make code of what a server sent. */
const engine = new CfWorkerJsonSchemaValidator();

/** The schema that was locked, as Standard Schema. */
function schemaOf(name: string, definition: JsonObject): StandardSchema & { toJSONSchema(): unknown } {
  const plain = toPlain(definition.get('inputSchema') ?? null) as Record<string, unknown>;
  const jsonSchema = () => plain;
  let validator: ReturnType<typeof engine.getValidator>;
  try {
    validator = engine.getValidator(plain);
  } catch (cause) {
    const why = `The schema of the tool ${JSON.stringify(name)} cannot be used: ${(cause as Error).message}`;
    throw new BullaError('ADAPTER_SCHEMA', why, { path: pointer(['tools', name, 'inputSchema']), cause });
  }
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp-lock',
      validate(value) {
        const { valid, errorMessage } = validator(value);
        return valid ? { value } : { issues: [{ message: errorMessage ?? 'It does not fit.' }] };
      },
      jsonSchema: { input: jsonSchema, output: jsonSchema },
    },
    toJSONSchema: jsonSchema,
  };
}
