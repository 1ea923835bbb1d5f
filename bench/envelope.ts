import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalize } from '@bulla/core/canon';
import { localSigner, publicKey, sha256Hex } from '@bulla/core/crypto';
import { execHash, parseEnvelope, parsePolicy, writeEnvelope } from '@bulla/core/envelope';
import {
  authorize,
  createEnvelope,
  createVerifier,
  publishPolicy,
  unixTime,
  type Verifier,
} from '../packages/bulla/src/envelope/index.ts';
import { createRecorder } from '../packages/bulla/src/record/index.ts';
import { openStore, type Store } from '../packages/bulla/src/store/index.ts';
import { appendRate } from './capsule.ts';
import { compare, fdatasyncRate, median, type Row, round3 } from './measure.ts';

// Test keys.
const signer = localSigner('Ed25519', new Uint8Array(32).fill(9));
const alice = localSigner('Ed25519', new Uint8Array(32).fill(1));
const keys = [{ key: publicKey('Ed25519', alice.publicKey), person: 'alice' }];

const AUDIENCE = 'ledger.example';
const asset = { asset: 'EUR', asset_class: null, decimals: 2 };
const rail = { network: 'sepa', chain_id: null, contract: null };
const document = JSON.stringify({
  policy_namespace: 'cryptocardia.policy.v1',
  policy_version: 1,
  policy_effective_at: 0,
  policy_doc: {
    format: 'bulla.policy.v1',
    policy_id: 'payments',
    actions: [{ action_type: 'TRANSFER', people: 1 }],
    assets: [{ ...asset, rail_type: 'BANK', ...rail }],
    destinations: { allow: null, deny: [] },
    ceilings: [{ id: 'day', asset: 'EUR', per: ['caller'], window: 86_400, amount: '9'.repeat(30) }],
    velocity: [{ id: 'hour', actions: null, per: [], window: 3600, count: 1_000_000_000 }],
  },
});
const policy = parsePolicy(document);

export async function envelope(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  try {
    return [...hashing(), ...(await consuming(folder)), ...(await growth(folder))];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function hashing(): Row[] {
  const sample = parseEnvelope(writeEnvelope(payment()));
  const { metadata: _, ...binding } = sample;
  return compare('envelope', 'execHash', () => execHash(sample), {
    'JCS and SHA-256 of the same fields': () => sha256Hex(canonicalize(binding, 'jcs')),
  });
}

function payment() {
  return createEnvelope({
    tenant_id: 'acme',
    action_type: 'TRANSFER',
    rail: { type: 'BANK', ...rail },
    actor: { caller: 'agent-7' },
    target: { to: 'DE02120300000000202051', ...asset, amount: '1999' },
    constraints: { ttl: unixTime() + 86_400 },
    policy,
  });
}

/** A person approves each of so many payments. */
async function approved(count: number): Promise<[envelope: string, authorization: string][]> {
  const pairs: [string, string][] = [];
  for (let i = 0; i < count; i++) {
    const one = payment();
    const authorization = await authorize(one, { iss: 'desk', aud: AUDIENCE }, [{ signer: alice }]);
    pairs.push([writeEnvelope(one), authorization]);
  }
  return pairs;
}

async function openLedger(file: string): Promise<{ store: Store; verifier: Verifier }> {
  const store = await openStore({ url: file, create: true, sealer: () => ({ signer }) });
  const record = createRecorder(store.chain('bench'));
  await publishPolicy(store, document, { record, by: 'bench' });
  return {
    store,
    verifier: createVerifier({ store, record, audience: AUDIENCE, tenantId: 'acme', keys }),
  };
}

/** Executions a second by 64 callers, each durable before it is executed and after. */
async function executionRate(
  verifier: Verifier,
  pairs: readonly [string, string][],
  ms: number,
): Promise<number> {
  return appendRate(
    async (i) => {
      const pair = pairs[i];
      if (pair === undefined) throw new Error('more envelopes are needed');
      const decision = await verifier.verifyAndConsume(...pair, () => {});
      if (decision.status !== 'success') throw new Error(`refused: ${decision.verdict.code}`);
    },
    64,
    ms,
  );
}

async function consuming(folder: string): Promise<Row[]> {
  const { store, verifier } = await openLedger(join(folder, 'rate.db'));
  const rates: number[] = [];
  const disk: number[] = [];
  await executionRate(verifier, await approved(4000), 300);
  for (let round = 0; round < 7; round++) {
    const pairs = await approved(4000);
    disk.push(fdatasyncRate(folder));
    rates.push(await executionRate(verifier, pairs, 800));
  }
  await store.close();
  return [
    {
      bench: 'envelope',
      case: 'verifyAndConsume, durable, 64 callers, SQLite',
      value: Math.round(median(rates)),
      unit: 'execs/s',
      ratio: round3(median(rates.map((rate, i) => rate / disk[i]!))),
      against: 'fdatasync of 2 KB',
    },
  ];
}

/** The same with a thousand and with a million consumed nonces, no nonce and no hash near another. */
async function growth(folder: string): Promise<Row[]> {
  const filled = async (name: string, count: number) => {
    const ledger = await openLedger(join(folder, name));
    await ledger.store.transaction(({ run }) =>
      run(
        `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
         INSERT INTO execution (exec_hash, replay_scope, tenant_id, caller, nonce, iss, jti, state, intent_id, held)
         SELECT lower(hex(randomblob(32))), 'caller', 'acme', 'agent-7', abs(random() % 9007199254740991),
           'desk', printf('01900000-%04x-7000-%s', n / 65536, lower(hex(randomblob(8)))), 'committed', lower(hex(randomblob(16))), '[]' FROM number`,
        count,
      ),
    );
    return ledger;
  };
  const [few, many] = [await filled('few.db', 1000), await filled('many.db', 1_000_000)];
  const rates: { few: number; many: number }[] = [];
  for (let round = 0; round <= 15; round++) {
    const [first, second] = [await approved(1500), await approved(1500)];
    const rate = {
      few: await executionRate(few.verifier, first, 300),
      many: await executionRate(many.verifier, second, 300),
    };
    if (round > 0) rates.push(rate);
  }
  await Promise.all([few.store.close(), many.store.close()]);
  return [
    {
      bench: 'envelope',
      case: 'verifyAndConsume at a million consumed nonces',
      value: Math.round(median(rates.map((rate) => rate.many))),
      unit: 'execs/s',
      ratio: round3(median(rates.map((rate) => rate.few / rate.many))),
      against: 'time at a thousand',
    },
  ];
}
