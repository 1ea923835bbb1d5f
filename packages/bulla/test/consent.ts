/** An agent of the core's sample with a real manifest, in a store. */
import type { Channel, Decision, Prompt } from '@bulla/core/consent';
import { disclosureDigest, type Identity } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import type { JsonObject } from '@bulla/core/json';
import { declaredDigest, readManifest } from '@bulla/core/manifest';
import {
  AGENT,
  caller,
  FLAGS,
  LIST,
  LOCATE,
  NOTIFY,
  passkey,
  READ,
  SCOPES,
  USER,
} from '../../core/test/consent.ts';
import {
  type Call,
  type Consent,
  type ConsentOptions,
  createConsent,
  type LibraryCall,
  type Pass,
  type Ruling,
} from '../src/consent/index.ts';
import { createManifests, type Pushed } from '../src/manifest/index.ts';
import { createRecorder, type Intent, type Recorder } from '../src/record/index.ts';
import type { Store } from '../src/store/index.ts';

export {
  AGENT,
  caller,
  DAY,
  HOUR,
  host,
  passkey,
  SCOPES,
  SECOND,
  START,
  USER,
} from '../../core/test/consent.ts';

export const CHAIN = 'consent';
export const PAIR = { user: USER, agent: AGENT };
export const ARGS = { path: '/tmp/a' };
export const terminal: Channel = { kind: 'terminal', device: caller.device, session: null };

export type ToolName = 'notify' | 'read_file' | 'list_files' | 'locate';

/** How often each tool was redefined: in its input, which is breaking, or in its words alone. */
export type Editions = Partial<Record<ToolName, { readonly input?: number; readonly words?: number }>>;

export function manifestText(editions: Editions = {}): string {
  return JSON.stringify({
    schema_version: '1.0',
    agent_version: '1.0.0',
    tools: [NOTIFY, READ, LIST, LOCATE].map(({ name, permission_scope }) => {
      const { input = 1, words = 1 } = editions[name as ToolName] ?? {};
      return {
        name,
        description_i18n_key: `tools.${name}.${words}`,
        input_schema: {
          type: 'object',
          properties: { path: { type: 'string', maxLength: 1000 + input } },
          additionalProperties: false,
        },
        permission_scope,
      };
    }),
    permission_scopes: SCOPES.map(({ id, sensitivity }) => ({
      id,
      label_i18n_key: `scopes.${id}`,
      sensitivity,
    })),
    capability_flags: FLAGS,
  });
}

/** The digest by which a call names a tool. */
export function digestOf(name: ToolName, text = manifestText()): string {
  const tools = readManifest(text).document.get('tools') as JsonObject[];
  return declaredDigest(tools.find((tool) => tool.get('name') === name)!);
}

export function push(
  store: Store,
  text = manifestText(),
  idempotencyKey?: string,
  bindings?: string,
): Promise<Pushed> {
  const record = recorderOf(store);
  return createManifests(store).push(AGENT, text, { by: 'operator', record, idempotencyKey, bindings });
}

const recorders = new WeakMap<Store, Recorder>();

/** The recorder of a store: whoever recorded an intent records its outcome. */
export function recorderOf(store: Store): Recorder {
  const recorder = recorders.get(store) ?? createRecorder(store.chain(CHAIN));
  recorders.set(store, recorder);
  return recorder;
}

export function consentOn(store: Store, options: Partial<ConsentOptions> = {}): Consent {
  return createConsent(store, { chain: CHAIN, record: recorderOf(store), pollMs: 5, ...options });
}

/** Shows the person what the agent can do, and grants. */
export async function grant(
  consent: Consent,
  scopes: readonly string[] = SCOPES.map(({ id }) => id),
  channel: Channel = passkey,
) {
  const disclosure = (await consent.disclosure(AGENT))!;
  await consent.disclose(USER, disclosure, { who: USER, channel: passkey });
  return consent.grant(PAIR, scopes, { who: USER, channel, disclosure: disclosureDigest(disclosure) });
}

/** A call as `consent.run` takes it. */
export function calling(tool: ToolName, identity: Identity = caller, args: unknown = ARGS): LibraryCall {
  return { identity, tool, declared: digestOf(tool), args };
}

/** The same as `consent.rule` takes it. */
export function ruled(store: Store, given: LibraryCall): Call {
  const { identity, tool, server, declared, locked, lock, args, ...more } = given;
  return {
    call: {
      door: 'agents',
      agentId: identity.agent ?? '',
      sessionId: identity.session,
      source: 'host',
      request: `tools/call ${server === undefined ? tool : `${server}/${tool}`}`,
      tool: {
        name: tool,
        ...(server !== undefined && { server }),
        ...(declared !== undefined && { declared }),
        ...(locked !== undefined && { locked }),
      },
      args: recorderOf(store).payload('args', args),
    },
    identity,
    args,
    lock: lock ?? null,
    raises: more.raises,
    devices: more.devices,
  };
}

/** A call that is ruled on and recorded step by step. */
export interface Stepwise {
  readonly asked: Call;
  readonly ruling: Ruling;
}

export async function ruleOn(consent: Consent, store: Store, given: LibraryCall): Promise<Stepwise> {
  const asked = ruled(store, given);
  return { asked, ruling: await consent.rule(asked) };
}

/** The question of a call that a person is asked about. */
export async function questionOf(consent: Consent, store: Store, given: LibraryCall): Promise<Prompt> {
  const { ruling } = await ruleOn(consent, store, given);
  if (!('ask' in ruling)) throw new Error(`nobody is asked: ${JSON.stringify(ruling.decision)}`);
  return ruling.prompt;
}

/** The pass of a call: at once, or after the answer. */
export async function passOf({ ruling }: Stepwise): Promise<Pass> {
  const settled = 'ask' in ruling ? await ruling.ask : ruling;
  if (!('pass' in settled)) throw new Error(`not allowed: ${JSON.stringify(settled.deny)}`);
  return settled;
}

/** Begins a call: its intent, or the code with which that is refused. */
export async function begin(store: Store, stepwise: Stepwise): Promise<Intent | string> {
  const { pass } = await passOf(stepwise);
  try {
    return await recorderOf(store).intent(stepwise.asked.call, [pass]);
  } catch (error) {
    if (error instanceof BullaError && !error.code.startsWith('STORE_')) return error.code;
    throw error;
  }
}

/** What was decided about a call that nobody is asked about. */
export function decisionOf({ ruling }: Stepwise): Decision {
  if ('ask' in ruling || ruling.decision === null) throw new Error('nothing was decided');
  return ruling.decision;
}
