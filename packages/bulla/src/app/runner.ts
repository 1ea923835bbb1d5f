// The process in which `bulla capability` loads a module that somebody wrote: it evaluates the agent that the module
// exports, and answers with one JSON document on its own channel. It brings no core of its own, because only the
// core that made the agent knows its tools.
import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as Capability from '@bulla/core/capability';
import type { Code } from '@bulla/core/codes';

/** What this process is asked, on its standard input. */
export interface RunnerRequest {
  /** The module, as a file URL. */
  readonly module: string;
  /** The export that is meant; null for `agent`, else `default`. */
  readonly exportName: string | null;
  readonly profile?: Capability.CapabilityProfile | undefined;
  readonly env: unknown;
  readonly context?: unknown;
  readonly allow?: readonly string[] | undefined;
  /** Whether the agent's own context is written into the envelope. */
  readonly staticContext: boolean;
}

/** The channel of the answer. */
const ANSWER_FD = 3;

class Refused extends Error {
  readonly code: Code;
  constructor(code: Code, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

async function answer(request: RunnerRequest): Promise<object> {
  const core = await coreOf(request.module);
  const loaded: Record<string, unknown> = await import(request.module).catch((cause) => {
    throw new Refused('CAPABILITY_MODULE', `The module cannot be loaded: ${messageOf(cause)}`, cause);
  });
  const agent = agentIn(loaded, request.exportName);
  const { agentId, name, rootComposable, staticInstructions: instructions, staticContext, hashing } = agent;
  const profile = request.profile ?? hashing.profile;
  const used = core.createRegisteredAgent({
    ...{ agentId, name, rootComposable, instructions, hashing: { ...hashing, profile } },
    context: request.staticContext ? staticContext : {},
  });
  const { envelope, disabled } = await core.captureAgentSnapshotEnvelope({
    agent: used,
    ctx: { env: request.env as never, agentId, agentName: name },
    invocationContext: request.context,
    invocationContextAllowlist: request.allow,
  });
  return { ok: true, envelope, disabled, findings: core.lint(rootComposable, used.hashing) };
}

/** The core that the module itself would import. */
async function coreOf(module: string): Promise<typeof Capability> {
  const name = '@bulla/core/capability';
  let path: string;
  try {
    path = createRequire(module).resolve(name);
  } catch (cause) {
    const why = `${name} cannot be found from ${fileURLToPath(module)}; install @bulla/core beside the module.`;
    throw new Refused('CAPABILITY_MODULE', why, cause);
  }
  return import(pathToFileURL(path).href);
}

function agentIn(loaded: Record<string, unknown>, exportName: string | null): Capability.RegisteredAgent {
  const names = exportName === null ? ['agent', 'default'] : [exportName];
  const found = names.find((name) => Object.hasOwn(loaded, name));
  const value = found === undefined ? undefined : loaded[found];
  if (typeof value === 'object' && value !== null && 'rootComposable' in value && 'staticHash' in value)
    return value as Capability.RegisteredAgent;
  const there = Object.keys(loaded).join(', ') || 'nothing';
  const why =
    found === undefined
      ? `The module exports no ${names.join(' and no ')}, but ${there}; name one after #.`
      : `The export ${found} was not made by createRegisteredAgent.`;
  throw new Refused('CAPABILITY_MODULE', why);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What was thrown, with its code where it has one of ours. */
function refusal(error: unknown): object {
  const { code, path } = error as { code?: unknown; path?: unknown };
  const isOurs = typeof code === 'string' && /^(?:CAPABILITY|CANON|VALUE)_[A-Z_]+$/.test(code);
  return {
    ok: false,
    code: isOurs ? code : 'CAPABILITY_MODULE',
    message: isOurs ? messageOf(error) : `The agent cannot be evaluated: ${messageOf(error)}`,
    ...(typeof path === 'string' ? { path } : {}),
  };
}

function write(document: object): void {
  const bytes = Buffer.from(JSON.stringify(document));
  for (let done = 0; done < bytes.length; ) done += writeSync(ANSWER_FD, bytes, done);
}

const request: RunnerRequest = JSON.parse(readFileSync(0, 'utf8'));
answer(request)
  .catch(refusal)
  .then((document) => {
    write(document);
    // Whatever the module left running ends here.
    process.exit(0);
  });
