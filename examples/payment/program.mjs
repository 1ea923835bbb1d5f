// One payment in a program: made as an envelope, approved with a person's key, executed once, and left as files that an
// auditor can trace. Arguments: the data directory, and a private key that `bulla keygen` made.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publicKey, readPrivateKey, signerOf } from '@bulla/core/crypto';
import { parsePolicy, writeEnvelope } from '@bulla/core/envelope';
import { open } from 'bulla';
import { authorize, createEnvelope, currentPolicy, publishPolicy } from 'bulla/envelope';

const [home, keyFile] = process.argv.slice(2);
await using bulla = await open(home, { agentId: 'agent-1' });
const { store, record } = bulla;
const policyText = readFileSync(new URL('./policy.json', import.meta.url), 'utf8');
const policy = parsePolicy(policyText);
if ((await currentPolicy(store, policy.policy_id)) === null)
  await publishPolicy(store, policyText, { record, by: 'ops' });

const envelope = createEnvelope({
  tenant_id: 'acme',
  action_type: 'TRANSFER',
  rail: { type: 'BANK', network: 'sepa' },
  actor: { caller: 'agent-1' },
  target: { to: 'acct-7', asset: 'EUR', decimals: 2, amount: '1250' },
  policy,
});
// Whoever holds this key approves. It is elsewhere than the program, as a rule.
const alice = signerOf(readPrivateKey(readFileSync(keyFile, 'utf8')));
const authorization = await authorize(envelope, { iss: 'alice', aud: 'bank' }, [{ signer: alice }]);

const keys = [{ person: 'alice', key: publicKey(alice.algorithm, alice.publicKey) }];
const verifier = bulla.envelopes({ audience: 'bank', tenantId: 'acme', keys });
const pay = ({ envelope: { target } }) => console.log(`paid ${target.amount} cents to ${target.to}`);
for (const attempt of ['first', 'second']) {
  const { status, verdict } = await verifier.verifyAndConsume(envelope, authorization, pay);
  console.log(`${attempt} attempt: ${status}${verdict.code === null ? '' : ` (${verdict.code})`}`);
}
// An envelope is written by `writeEnvelope`, which keeps every number exactly.
writeFileSync(join(home, 'envelope.json'), writeEnvelope(envelope));
writeFileSync(join(home, 'authorization.json'), authorization);
