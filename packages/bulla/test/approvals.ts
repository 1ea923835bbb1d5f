// A guard that asks a person before the tools of a rogue server are called.
import { disclosureDigest, identityOf, type Prompt, type Rules } from '@bulla/core/consent';
import { type Consent, createConsent } from '../src/consent/index.ts';
import type { ConsentGateOptions } from '../src/gateway/gates/index.ts';
import type { GuardOptions } from '../src/gateway/index.ts';
import { createManifests } from '../src/manifest/index.ts';
import { createRecorder } from '../src/record/index.ts';
import type { Store } from '../src/store/index.ts';
import { type Guarded, type Message, openTestStore, startRogue } from './guard.ts';
import { temporaryFolder } from './run.ts';

export const AGENT = 'desk';
export const SERVER = 'rogue';
const SESSION = 'process:one';
export const TERMINAL = { kind: 'terminal', device: 'installation:here', session: null } as const;

const identity = identityOf({
  transport: 'stdio',
  agent: AGENT,
  uid: 1000,
  installation: 'here',
  process: 'one',
});
export const USER = identity.user!;

function manifestOf(sensitivity: 'low' | 'medium' | 'high'): string {
  return JSON.stringify({
    schema_version: '1.0',
    agent_version: '1.0.0',
    tools: [
      {
        name: 'say',
        description_i18n_key: 'tools.say',
        input_schema: {
          type: 'object',
          properties: { text: { type: 'string' } },
          additionalProperties: false,
        },
        permission_scope: 'desk:speak',
      },
    ],
    permission_scopes: [{ id: 'desk:speak', label_i18n_key: 'scopes.speak', sensitivity }],
    capability_flags: {
      supports_streaming: false,
      supports_artifacts: false,
      supports_voice: false,
      supports_group_chat: false,
    },
  });
}

export interface Asked extends Guarded {
  readonly consent: Consent;
  received(): Message[];
  /** The calls that reached the server. */
  executed(): number;
  /** The question that is open; waits for one. */
  question(): Promise<Prompt>;
  /** Answers it at a terminal. */
  decide(choice: 'allow-once' | 'deny-once', prompt?: Prompt): Promise<void>;
}

/** A store in which the person granted the one scope of the agent, and consent over it. */
export async function grantedStore(
  sensitivity: 'low' | 'medium' | 'high',
  rules: Partial<Rules> = {},
): Promise<{ store: Store; consent: Consent }> {
  const store = await openTestStore(temporaryFolder());
  const record = createRecorder(store.chain('default'));
  const bindings = JSON.stringify({ say: { server: SERVER, tool: 'echo' } });
  await createManifests(store).push(AGENT, manifestOf(sensitivity), { by: 'operator', record, bindings });
  const consent = createConsent(store, {
    chain: 'default',
    record,
    pollMs: 5,
    rules: { highChannels: 'any', ...rules },
  });
  const said = { who: USER, channel: TERMINAL };
  const disclosure = (await consent.disclosure(AGENT))!;
  await consent.disclose(USER, disclosure, said);
  await consent.grant({ user: USER, agent: AGENT }, ['desk:speak'], {
    ...said,
    disclosure: disclosureDigest(disclosure),
  });
  return { store, consent };
}

export async function startAsked(
  options: {
    readonly behaviour?: string;
    readonly sensitivity?: 'low' | 'medium' | 'high';
    readonly rules?: Partial<Rules>;
    readonly gate?: Partial<ConsentGateOptions>;
    readonly guard?: Partial<GuardOptions> & { readonly count?: number };
    readonly on?: { readonly store: Store; readonly consent: Consent };
  } = {},
): Promise<Asked> {
  const { behaviour = 'ordinary', sensitivity = 'high', rules, gate, guard } = options;
  const { store, consent } = options.on ?? (await grantedStore(sensitivity, rules));
  const guarded = await startRogue(behaviour, {
    store,
    name: SERVER,
    agentId: AGENT,
    sessionId: SESSION,
    consent: () => ({ consent, identity, ...gate }),
    ...guard,
  });
  return Object.assign(guarded, {
    consent,
    executed: () => guarded.received().filter(({ method }) => method === 'tools/call').length,
    async question() {
      for (;;) {
        const [prompt] = await consent.pending();
        if (prompt !== undefined) return prompt;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    async decide(choice: 'allow-once' | 'deny-once', given?: Prompt) {
      const prompt = given ?? (await this.question());
      const { id, shown } = prompt;
      await consent.answer({ prompt: id, shown, choice, who: USER, channel: TERMINAL });
    },
  });
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test-host', version: '1' },
};

/** The parameters of a call of a host of the stateless era that can show forms. */
export function modernCall(args: object, more: object = {}, capabilities: object = { elicitation: {} }) {
  return {
    name: 'echo',
    arguments: args,
    ...more,
    _meta: { ...META, 'io.modelcontextprotocol/clientCapabilities': capabilities },
  };
}
