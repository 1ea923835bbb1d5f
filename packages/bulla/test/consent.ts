/** An agent of the core's sample with a real manifest, in a store. */
import type { Channel } from '@bulla/core/consent';
import { disclosureDigest, type Identity } from '@bulla/core/consent';
import type { JsonObject } from '@bulla/core/json';
import { readManifest } from '@bulla/core/manifest';
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
import { type Consent, type ConsentOptions, createConsent } from '../src/consent/index.ts';
import { createManifests, type Pushed, toolDigest } from '../src/manifest/index.ts';
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
  return toolDigest(tools.find((tool) => tool.get('name') === name)!);
}

export function push(store: Store, text = manifestText(), idempotencyKey?: string): Promise<Pushed> {
  return createManifests(store).push(AGENT, text, { by: 'operator', chain: CHAIN, idempotencyKey });
}

export function consentOn(store: Store, options: Partial<ConsentOptions> = {}): Consent {
  return createConsent(store, { chain: CHAIN, pollMs: 5, ...options });
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

export function calling(tool: ToolName, identity: Identity = caller, args: unknown = ARGS) {
  return { identity, tool, tool_digest: digestOf(tool), args };
}
