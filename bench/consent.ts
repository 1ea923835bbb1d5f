import { createPrivateKey, sign as nodeSign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  applyChanges,
  type ConsentEvent,
  type ConsentState,
  DEFAULT_RULES,
  decide,
  disclose,
  disclosureDigest,
  ENGLISH,
  emptyState,
  identityOf,
  rowsOf,
  stateOf,
} from '@bulla/core/consent';
import { localSigner, privateKey, writePrivateKey } from '@bulla/core/crypto';
import { createConsent } from '../packages/bulla/src/consent/index.ts';
import { createRunner } from '../packages/bulla/src/consent/runner.ts';
import { createManifests } from '../packages/bulla/src/manifest/index.ts';
import { createRecorder } from '../packages/bulla/src/record/index.ts';
import { openStore } from '../packages/bulla/src/store/index.ts';
import { hasPostgres, startPostgres } from '../packages/bulla/test/postgres.ts';
import { compare, median, type Row, round3 } from './measure.ts';

const AT = 1_790_000_000_000;
const identity = identityOf({
  transport: 'stdio',
  agent: 'desk',
  uid: 1000,
  installation: 'laptop',
  process: 'p1',
});
const user = identity.user!;
const channel = { kind: 'passkey' as const, device: 'credential:phone', session: null };
const SCOPE = 'filesystem:read';
const digest = `sha256:${'ab'.repeat(32)}`;
const call = (id: string): ConsentEvent => ({
  type: 'call',
  id,
  at: AT + 1,
  identity,
  server: null,
  tool: 'read_file',
  locked: null,
  lock: null,
  args: { commitment: 'cd'.repeat(32), of: 'jcs' },
});

/** An agent of 50 tools whose medium scope is granted, and inside its window. */
function granted(): ConsentState {
  const read = { name: 'read_file', permission_scope: SCOPE, digest };
  const others = Array.from({ length: 49 }, (_, i) => ({
    ...read,
    name: `tool_${i}`,
    digest: `${digest}${i}`,
  }));
  const manifest = {
    agent: 'desk',
    version: 1,
    hash: 'ef'.repeat(32),
    bindings: '44'.repeat(32),
    scopes: [{ id: SCOPE, sensitivity: 'medium' as const }],
    tools: [read, ...others].map((tool) => ({
      ...tool,
      sensitivity: 'medium' as const,
      timeout_ms: 10_000,
      bound: null,
    })),
  };
  const disclosure = disclose({ ...manifest, flags: {} }, ENGLISH);
  let state = emptyState(user, 'desk');
  const run = (event: ConsentEvent) => {
    const step = decide(state, event);
    if (step.refusal !== null) throw new Error(step.refusal.code);
    state = applyChanges(state, step.changes);
    return step;
  };
  run({ type: 'manifest', at: AT, manifest, breaking: false });
  run({ type: 'disclose', at: AT, disclosure, who: user, channel });
  const grants = [{ scope: SCOPE, id: 'grant-1' }];
  run({ type: 'grant', at: AT, grants, disclosure: disclosureDigest(disclosure), who: user, channel });
  const { id, shown } = run(call('first')).prompt!;
  run({ type: 'answer', at: AT + 1, prompt: id, shown, choice: 'allow-session', who: user, channel });
  return state;
}

/** The manifest of an agent of 50 tools, as it is pushed. */
const manifestText = JSON.stringify({
  schema_version: '1.0',
  agent_version: '1.0.0',
  tools: Array.from({ length: 50 }, (_, i) => ({
    name: i === 0 ? 'read_file' : `tool_${i}`,
    description_i18n_key: `tools.${i}`,
    input_schema: { type: 'object', properties: { path: { type: 'string' } }, additionalProperties: false },
    permission_scope: SCOPE,
  })),
  permission_scopes: [{ id: SCOPE, label_i18n_key: 'scopes.read', sensitivity: 'medium' }],
  capability_flags: {
    supports_streaming: true,
    supports_artifacts: false,
    supports_voice: false,
    supports_group_chat: false,
  },
});

const signer = localSigner('Ed25519', new Uint8Array(32).fill(9));

/**
 * Reads, from a store, all that a decision rests on: that is what sees another process's revocation. Interleaved with
 * the signature.
 */
async function storeRead(name: string, url: string, sign: () => unknown): Promise<Row> {
  const open = () => openStore({ url, create: true, sealer: () => ({ signer }) });
  const [store, elsewhere] = [await open(), await open()];
  const chain = 'bench';
  const record = createRecorder(store.chain(chain));
  const ours = createConsent(store, { chain, record });
  await createManifests(store).push('desk', manifestText, { by: 'bench', record });
  const disclosure = (await ours.disclosure('desk'))!;
  const pair = { user, agent: 'desk' };
  const said = { who: user, channel };
  await ours.disclose(user, disclosure, said);
  await ours.grant(pair, [SCOPE], { ...said, disclosure: disclosureDigest(disclosure) });
  const args = { path: '/tmp/a' };
  const ruling = await ours.rule({
    call: {
      door: 'agents',
      agentId: 'desk',
      source: 'bench',
      request: 'tools/call read_file',
      tool: { name: 'read_file' },
      args: record.payload('args', args),
    },
    identity,
    args,
  });
  if (!('ask' in ruling)) throw new Error('not asked');
  const { id, shown } = ruling.prompt;
  await ours.answer({ prompt: id, shown, choice: 'allow-session', ...said });
  const runner = createRunner({ store, record, now: async () => Date.now(), rules: DEFAULT_RULES });
  const read = async () => (await runner.read(pair, null)).state;

  const [reads, signs]: [number[], number[]] = [[], []];
  for (let round = 0; round <= 15; round++) {
    let started = performance.now();
    for (let i = 0; i < 100; i++) await read();
    const readMs = (performance.now() - started) / 100;
    started = performance.now();
    for (let i = 0; i < 100; i++) sign();
    const signMs = (performance.now() - started) / 100;
    if (round > 0) {
      reads.push(readMs);
      signs.push(signMs);
    }
  }
  await createConsent(elsewhere, { chain }).revoke(pair, 'all', said);
  if ((await read()).rows.grants.get(SCOPE)?.status !== 'revoked') throw new Error('not seen');
  await Promise.all([store.close(), elsewhere.close()]);
  return {
    bench: 'consent',
    case: `the store read that sees another process's revocation, ${name}`,
    value: Math.round(1000 / median(reads)),
    unit: 'op/s',
    ratio: round3(median(signs.map((ms, i) => ms / reads[i]!))),
    against: 'Ed25519 sign of node:crypto',
  };
}

async function storeReads(sign: () => unknown): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  const server = hasPostgres ? await startPostgres() : null;
  try {
    const rows = [await storeRead('SQLite', join(folder, 'store.db'), sign)];
    if (server !== null) rows.push(await storeRead('PostgreSQL', server.database('bench'), sign));
    return rows;
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function consent(): Promise<Row[]> {
  const state = granted();
  const event = call('second');
  const key = createPrivateKey(writePrivateKey(privateKey('Ed25519', new Uint8Array(32).fill(9)), 'pem'));
  const message = new Uint8Array(64).fill(1);
  const sign = { 'Ed25519 sign of node:crypto': () => nodeSign(null, message, key) };
  if (decide(state, event).decisions[0]?.by !== 'medium-window') throw new Error('not in the window');
  const rows = rowsOf(state);
  return [
    ...compare('consent', 'decision for a granted medium scope', () => decide(state, event), sign),
    ...compare(
      'consent',
      'the same, with its rows read first',
      () => decide(stateOf(rows, state), event),
      sign,
    ),
    ...(await storeReads(sign['Ed25519 sign of node:crypto'])),
  ];
}
