// A guard in a process of its own: node gateway-guard.ts JSON. Without a store nothing is recorded; with one, calls pass
// the lock, a rule and a consent that was granted, and each leaves two durable capsules.
import { readFileSync } from 'node:fs';
import { identityOf } from '@bulla/core/consent';
import { readLock } from '@bulla/core/lock';
import { parsePolicy } from '@bulla/core/policy';
import { createConsent } from '../packages/bulla/src/consent/index.ts';
import { consentGate, guard, policyGate } from '../packages/bulla/src/gateway/index.ts';
import { createRecorder } from '../packages/bulla/src/record/index.ts';
import { openStore } from '../packages/bulla/src/store/index.ts';
import { AGENT, IDENTITY, RULES, SERVER, sealer } from './gateway-place.ts';

const { lock: file, store: url, gates: hasGates, server } = JSON.parse(process.argv[2]!);
const lock = readLock(readFileSync(file));
const common = {
  lock,
  server: { kind: 'stdio', command: server[0], args: server.slice(1), env: [] } as const,
  host: { input: process.stdin, output: process.stdout },
  name: SERVER,
  agentId: AGENT,
  log: (line: string) => void process.stderr.write(`${line}\n`),
};
if (url === undefined) {
  await guard({ ...common, record: false });
} else {
  const store = await openStore({ url, sealer });
  const record = createRecorder(store.chain('default'));
  const consent = createConsent(store, { chain: 'default', record });
  const identity = identityOf(IDENTITY);
  const gates = hasGates ? [policyGate(parsePolicy(RULES), lock), consentGate({ consent, identity })] : [];
  await guard({ ...common, store, sessionId: identity.session!, gates });
  await store.close();
}
