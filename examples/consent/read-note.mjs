// An agent that wants to read a note. It runs the tool only after a person, in whatever process, allowed exactly this
// call. Arguments: the data directory, and the name of the note.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { identityOf } from '@bulla/core/consent';
import { createConsent, installationId } from 'bulla/consent';
import { openKeyring } from 'bulla/keys';
import { openStore } from 'bulla/store';

const [home, note] = process.argv.slice(2);
const keyring = openKeyring(join(home, 'keys'), { now: () => new Date() });
const store = await openStore({ url: join(home, 'store.db'), sealer: () => keyring.sealer() });
const consent = createConsent(store, { chain: 'default', holder: 'read-note' });
// What an earlier run of this program left open is denied, not forgotten.
await consent.restart('read-note');

const identity = identityOf({
  transport: 'stdio',
  agent: 'notes',
  uid: process.getuid(),
  installation: installationId(home),
  process: randomUUID(),
});
// Allowed or denied at once, or after somebody answers; recorded before and after it is done.
const call = await consent.run(
  { identity, tool: 'read_note', args: { path: note } },
  () => `text of ${note}`,
);
if (call.status === 'ok') console.log(`read ${note}: ${call.result} (${call.decision.by})`);
else console.log(`${call.status}: ${call.reason}`);
await store.close();
