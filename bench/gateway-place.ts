import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { disclosureDigest } from '@bulla/core/consent';
import { localSigner } from '@bulla/core/crypto';
import { writeLock } from '@bulla/core/lock';
import { createConsent } from '../packages/bulla/src/consent/index.ts';
import { createManifests } from '../packages/bulla/src/manifest/index.ts';
import { scan } from '../packages/bulla/src/mcp/index.ts';
import { createRecorder } from '../packages/bulla/src/record/index.ts';
import { openStore } from '../packages/bulla/src/store/index.ts';

// A test key.
const signer = localSigner('Ed25519', new Uint8Array(32).fill(9));
export const sealer = () => ({ signer });

export const AGENT = 'desk';
export const SERVER = 'everything';
export const IDENTITY = {
  transport: 'console',
  agent: AGENT,
  account: 'alice',
  credential: 'phone',
  login: 'l-1',
} as const;

export const RULES = `name: desk
rules:
  - name: short_messages
    phase: call
    expr: size(input.arguments.message) < 1000
    failure_msg: The message is too long.
  - name: no_secrets
    phase: call
    expr: '!input.arguments.message.contains("BEGIN PRIVATE KEY")'
    failure_msg: The message holds a key.
`;

const MANIFEST = JSON.stringify({
  schema_version: '1.0',
  agent_version: '1.0.0',
  tools: [
    {
      name: 'say',
      description_i18n_key: 'tools.say',
      input_schema: {
        type: 'object',
        properties: { message: { type: 'string' } },
        required: ['message'],
        additionalProperties: false,
      },
      permission_scope: 'desk:speak',
    },
  ],
  permission_scopes: [{ id: 'desk:speak', label_i18n_key: 'scopes.speak', sensitivity: 'low' }],
  capability_flags: {
    supports_streaming: false,
    supports_artifacts: false,
    supports_voice: false,
    supports_group_chat: false,
  },
});

/** Writes the lock of a server. */
export async function lockOf(folder: string, name: string, words: readonly string[]): Promise<string> {
  const [command, ...args] = words as [string, ...string[]];
  const surface = await scan({ kind: 'stdio', command, args, env: [] });
  const identity = { transport: 'stdio', command, args, env: [] } as const;
  const file = join(folder, `${name}.lock.json`);
  writeFileSync(file, writeLock(surface, { generator: 'bench', updatedAt: new Date(0), identity }).text);
  return file;
}

/** Makes a store in which the person has granted what the agent declares. */
export async function storeOf(folder: string, name: string): Promise<string> {
  const url = join(folder, `${name}.db`);
  const store = await openStore({ url, create: true, sealer });
  const record = createRecorder(store.chain('default'));
  const bindings = JSON.stringify({ say: { server: SERVER, tool: 'echo' } });
  await createManifests(store).push(AGENT, MANIFEST, { by: 'operator', record, bindings });
  const consent = createConsent(store, { chain: 'default', record });
  const user = 'account:alice';
  const channel = { kind: 'passkey', device: 'credential:phone', session: null } as const;
  const disclosure = (await consent.disclosure(AGENT))!;
  await consent.disclose(user, disclosure, { who: user, channel });
  await consent.grant({ user, agent: AGENT }, ['desk:speak'], {
    ...{ who: user, channel },
    disclosure: disclosureDigest(disclosure),
  });
  await store.close();
  return url;
}
