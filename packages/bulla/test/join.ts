// One call of a tool that is locked, declared in a manifest, allowed by a rule, consented to by a person and bound to an
// envelope, made through the guard, with the files that an auditor gets of it.
import { randomUUID } from 'node:crypto';
import type { Prompt } from '@bulla/core/consent';
import { disclosureDigest, identityOf } from '@bulla/core/consent';
import { localSigner, publicKey, toHex, toUtf8 } from '@bulla/core/crypto';
import { parsePolicy, toolCallEnvelope, writeEnvelope } from '@bulla/core/envelope';
import { isCommitment } from '@bulla/core/evidence';
import { readLock } from '@bulla/core/lock';
import { parsePolicy as parseRules } from '@bulla/core/policy';
import { createConsent } from '../src/consent/index.ts';
import { authorize, createVerifier, publishPolicy } from '../src/envelope/index.ts';
import { consentGate, envelopeGate, policyGate } from '../src/gateway/index.ts';
import { createManifests } from '../src/manifest/index.ts';
import { createRecorder } from '../src/record/index.ts';
import { initialize, lockText, openTestStore, records, type Sealed, startGuard } from './guard.ts';
import { packaged } from './mcp.ts';
import { temporaryFolder } from './run.ts';
import { signer } from './store-signer.ts';

const AGENT = 'desk';
const USER = 'account:alice';
const SERVER = 'everything';
const PASSKEY = { kind: 'passkey', device: 'credential:phone', session: null } as const;
const aliceSigner = localSigner('Ed25519', new Uint8Array(32).fill(9));

const RULES = `name: desk
rules:
  - name: short_messages
    phase: call
    expr: size(input.arguments.message) < 100
    failure_msg: The message is too long.
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
  permission_scopes: [{ id: 'desk:speak', label_i18n_key: 'scopes.speak', sensitivity: 'high' }],
  capability_flags: {
    supports_streaming: false,
    supports_artifacts: false,
    supports_voice: false,
    supports_group_chat: false,
  },
});

const POLICY = JSON.stringify({
  policy_namespace: 'cryptocardia.policy.v1',
  policy_version: 1,
  policy_effective_at: 1_771_000_000,
  policy_doc: {
    format: 'bulla.policy.v1',
    policy_id: 'desk',
    actions: [{ action_type: 'TOOL_CALL', people: 1 }],
    assets: [],
    destinations: { allow: null, deny: [] },
    ceilings: [],
    velocity: [],
  },
});

/** The files, by what they are, and the keys to verify them with, in hex. */
export interface Evidence {
  readonly files: Readonly<Record<string, string>>;
  readonly keys: readonly string[];
  /** The capsules of the call, the question and the answer, in the order of the chain. */
  readonly intent: Sealed;
  readonly outcome: Sealed;
  readonly question: Sealed;
  readonly answer: Sealed;
  readonly sealed: readonly Sealed[];
  /** What the host got. */
  readonly said: string;
}

export async function joinedCall(): Promise<Evidence> {
  const store = await openTestStore(temporaryFolder());
  const record = createRecorder(store.chain('default'));
  const server = packaged('server-everything');
  const lockFile = await lockText(server);
  const lock = readLock(toUtf8(lockFile));

  const bindings = JSON.stringify({ say: { server: SERVER, tool: 'echo' } });
  await createManifests(store).push(AGENT, MANIFEST, { by: 'operator', record, bindings });
  const consent = createConsent(store, { chain: 'default', record, pollMs: 5 });
  const said = { who: USER, channel: PASSKEY };
  const disclosure = (await consent.disclosure(AGENT))!;
  await consent.disclose(USER, disclosure, said);
  const pair = { user: USER, agent: AGENT };
  await consent.grant(pair, ['desk:speak'], { ...said, disclosure: disclosureDigest(disclosure) });

  await publishPolicy(store, POLICY, { record, by: 'operator' });
  const alice = publicKey('Ed25519', aliceSigner.publicKey);
  const verifier = createVerifier({
    store,
    record,
    audience: 'desk.example',
    tenantId: 'acme',
    keys: [{ key: alice, person: 'alice' }],
  });
  const bound: { envelope: string; authorization: string }[] = [];

  const identity = identityOf({
    transport: 'console',
    agent: AGENT,
    account: 'alice',
    credential: 'phone',
    login: 'l-1',
  });
  const guarded = await startGuard({
    server,
    lock,
    store,
    name: SERVER,
    agentId: AGENT,
    sessionId: identity.session!,
    gates: [
      policyGate(parseRules(RULES), lock),
      consentGate({
        consent,
        identity,
      }),
      envelopeGate({
        verifier,
        async envelopeOf(tool, { call }) {
          const args = call.args!.committed;
          if (!isCommitment(args)) return null;
          const now = Math.floor(Date.now() / 1000);
          const envelope = toolCallEnvelope({
            ...tool,
            args,
            intent_id: randomUUID(),
            execution_id: randomUUID(),
            tenant_id: 'acme',
            actor: { caller: AGENT, role: null },
            policy: parsePolicy(POLICY),
            metadata: { created_at: now },
            ...{ ttl: now + 300, nonce: 1, replay_scope: 'caller' },
          });
          const authorization = await authorize(envelope, { iss: 'alice', aud: 'desk.example' }, [
            { signer: aliceSigner },
          ]);
          bound.push({ envelope: writeEnvelope(envelope), authorization });
          return bound[0]!;
        },
      }),
    ],
  });
  await initialize(guarded);
  const calling = guarded.call('echo', { message: 'hello' });
  let prompt: Prompt | undefined;
  while (prompt === undefined) {
    [prompt] = await consent.pending();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const { shown } = (await consent.show(prompt.id)).prompt;
  await consent.answer({ prompt: prompt.id, shown, choice: 'allow-once', ...said });
  const { result } = await calling;
  await guarded.end();
  const sealed = await records(store);
  const rows = await Array.fromAsync(store.chain('default').records());
  const checkpoint = await store.chain('default').checkpoint();
  await store.close();

  const isCall = ({ type }: Sealed) => type === 'tool';
  const [intent, outcome] = sealed.filter(isCall) as [Sealed, Sealed];
  const asks = (verb: string) => sealed.find(({ trigger }) => trigger.request === `consent ${verb} say`)!;
  return {
    files: {
      chain: rows.map(({ data }) => `${data}\n`).join(''),
      checkpoint: checkpoint.note,
      lock: lockFile,
      manifest: MANIFEST,
      bindings,
      rules: RULES,
      policy: POLICY,
      envelope: bound[0]!.envelope,
      authorization: bound[0]!.authorization,
    },
    keys: [toHex(signer.publicKey), toHex(alice.bytes)],
    ...{ intent, outcome, question: asks('ask'), answer: asks('answer'), sealed },
    said: result.content[0].text,
  };
}
