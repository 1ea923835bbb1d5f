import { userInfo } from 'node:os';
import { type Decision, type Facts, fateOf, identityOf, type Prompt, wordsFor } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import { type Adopted, adoptDeclaration, defaultHome, type Opened, openAsking } from '../../app/index.ts';
import { installationId } from '../../consent/index.ts';
import { type GuardedServer, Questions } from '../../gateway/index.ts';
import type { Generation } from './generation.ts';

type StdioFacts = Extract<Facts, { transport: 'stdio' }>;
type HttpFacts = Extract<Facts, { transport: 'http' }>;

// Consent at the guard: the manifests of the agents come into the store, and each call of an agent that has one is
// decided by it.

interface AskedOptions {
  /** Null where nothing is recorded. */
  readonly at: Opened | null;
  readonly chain: string;
  readonly transport: 'stdio' | 'http';
  /** How long a question outlives its call, where the command line says so. */
  readonly parkMs: number | undefined;
  /** Over HTTP: whether all hosts run on this machine. */
  isLocal(generation: Generation): boolean;
  /** Takes lines for the operator. */
  log(line: string): void;
}

export interface Asked extends AsyncDisposable {
  /** Makes sure that people can be asked, where an agent has a manifest. Rejects with `USAGE` without a record. */
  open(generation: Generation): Promise<void>;
  /** Puts the manifests of a generation in force. Rejects as `adoptDeclaration`. */
  adopt(generation: Generation): Promise<void>;
  /** What a new session of an agent is called, in records and in the identity of who calls. */
  sessionFor(generation: Generation, agent: string, drawn: string): string;
  /** How people are asked about the calls of an agent; undefined for one without a manifest. */
  consentFor(generation: Generation, agent: string): GuardedServer['consent'];
}

export function createAsked({ at, chain, transport, log, ...options }: AskedOptions): Asked {
  let asking: Awaited<ReturnType<typeof openAsking>> | null = null;
  /** They outlive the links of hosts that come again. */
  const questions = new Questions();
  /** Of the guard, once an agent has a manifest. */
  let installation: string | null = null;

  const factsOf = (generation: Generation, agent: string): StdioFacts | HttpFacts => {
    const user = generation.declared.get(agent)?.user ?? null;
    if (transport === 'stdio')
      return { transport, agent, user, uid: process.getuid?.() ?? null, installation, process: null };
    const local = options.isLocal(generation) ? installation : null;
    return {
      ...{ transport, agent, user, installation: local },
      ...{ issuer: null, subject: null, jkt: null, sessionId: null },
    };
  };

  return {
    async open({ declared }) {
      if (declared.size === 0) return;
      if (at === null)
        throw new BullaError('USAGE', 'Consent to what a manifest declares needs a record of each call.');
      installation ??= installationId(defaultHome());
      asking ??= await openAsking(at.store, {
        ...{ chain, record: at.record },
        onAsked: (prompt) => log(askedLine(prompt)),
        onDecided: (decision) => log(decidedLine(decision)),
        onError: (error) => log(`what is overdue was not ended: ${visible((error as Error).message)}`),
      });
    },
    async adopt({ declared }) {
      for (const [agent, { declaration, user }] of declared) {
        const by = userInfo().username;
        const adopted = await adoptDeclaration(at!.store, declaration, { agent, by, chain });
        for (const line of adoptedLines(agent, adopted)) log(line);
        if (transport === 'http' && user === undefined)
          log(
            `the agent ${name(agent)} has no "user": nobody can be asked, so its calls of tools are denied`,
          );
      }
    },
    sessionFor(generation, agent, drawn) {
      const facts = factsOf(generation, agent);
      const named =
        facts.transport === 'stdio' ? { ...facts, process: drawn } : { ...facts, sessionId: drawn };
      return identityOf(named).session ?? drawn;
    },
    consentFor(generation, agent) {
      if (!generation.declared.has(agent)) return undefined;
      const { rules, people } = generation.operator!;
      const { channels, languages } = generation.config?.consent ?? {};
      const { parkMs } = options;
      const consent = asking!.under({ ...rules, ...(parkMs !== undefined && { parkMs }) });
      const words = languages && wordsFor(languages.find((tag) => /^(?:en|zh)(?:-|$)/i.test(tag)) ?? 'en');
      return ({ sessionId, isShared }) => ({
        consent,
        // Hosts of the stateless protocol share a session in records, and have none of their own.
        identity: {
          ...identityOf(factsOf(generation, agent), people),
          session: isShared ? null : sessionId,
        },
        ...{ channels, words, questions },
      });
    },
    async [Symbol.asyncDispose]() {
      await asking?.[Symbol.asyncDispose]();
    },
  };
}

/** The name of an agent, a person or a tool, which may be anything. */
const name = (text: string) => JSON.stringify(visible(text));

function adoptedLines(agent: string, { pushed, bindings, ended }: Adopted): string[] {
  const review = `bulla grants show --agent ${/^[\w.-]+$/.test(agent) ? agent : name(agent)}`;
  const unbound = `no tool of the manifest of ${name(agent)} is bound to a tool of a server, so its calls are denied`;
  const lines = bindings.tools.size === 0 ? [unbound] : [];
  if (pushed === null) return lines;
  const { version, breaking } = pushed;
  const effect =
    version === 1
      ? 'it has nothing until a person reviews and grants it'
      : breaking
        ? 'it breaks with the one before, so that what people granted rests until they review it'
        : 'it does not break with the one before, and what people granted stands; what is new in it they must review';
  return [
    `the agent ${name(agent)} has version ${version} of its manifest now: ${effect} (${review})`,
    ...ended.map((id) => `the question ${id} ended with the manifest that it was about`),
    ...lines,
  ];
}

function askedLine({ id, agent, asked, tool, server, server_tool, sensitivity }: Prompt): string {
  const what = server === null ? `${tool}` : `${server}/${server_tool}`;
  return `${name(agent)} asks ${name(asked)} to allow ${name(what)} (${sensitivity}): bulla consent allow ${id}`;
}

/** Denied, expired and cancelled are three things. */
function decidedLine(decision: Decision): string {
  const { id, answer, detail, reason } = decision;
  switch (fateOf(decision)) {
    case 'allowed':
    case 'granted':
      return `the question ${id} was allowed${answer === null ? '' : ` by ${name(answer.who)}`}`;
    case 'denied':
      return `the question ${id} was denied${answer === null ? '' : ` by ${name(answer.who)}`}`;
    case 'expired':
      return detail === 'not_started'
        ? `the question ${id} expired: the allowed call was not begun in time`
        : `the question ${id} expired: nobody answered in time`;
    case 'cancelled':
      return detail === 'restart'
        ? `the question ${id} was cancelled: the process that asked is gone`
        : `the question ${id} was cancelled: the caller gave up`;
    case 'refused':
      return `the question ${id} ended: ${detail ?? reason}`;
  }
}
