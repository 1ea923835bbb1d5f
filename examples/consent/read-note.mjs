// An agent that wants to read a note. It runs the tool only after a person, in whatever process, allowed exactly this
// call. Arguments: the data directory, and the name of the note.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { identityOf, resultOf } from '@bulla/core/consent';
import { createConsent, installationId } from 'bulla/consent';
import { openKeyring } from 'bulla/keys';
import { createManifests, declaredOf } from 'bulla/manifest';
import { openStore } from 'bulla/store';

const [home, note] = process.argv.slice(2);
const keyring = openKeyring(join(home, 'keys'), { now: () => new Date() });
const store = await openStore({ url: join(home, 'store.db'), sealer: () => keyring.sealer() });
const consent = createConsent(store, { chain: 'default', holder: 'read-note' });
// What an earlier run of this program left open is denied, not forgotten.
await consent.restart('read-note');

const { manifest } = await createManifests(store).current('notes');
const { digest } = declaredOf(manifest).tools.find(({ name }) => name === 'read_note');
const identity = identityOf({
  transport: 'stdio',
  agent: 'notes',
  uid: process.getuid(),
  installation: installationId(home),
  process: randomUUID(),
});
const call = await consent.call({ identity, tool: 'read_note', tool_digest: digest, args: { id: note } });
// Allowed or denied at once, or a question that somebody answers.
const decision = call.decisions[0] ?? (await consent.waitFor(call.prompt.id));
const denied = resultOf(decision);
if (denied !== null) console.log(`${denied.status}: ${denied.reason}`);
else {
  const { id, tool_digest, commitment } = decision;
  const { refusal } = await consent.start({ id, tool_digest, commitment });
  if (refusal !== null) console.log(`refused: ${refusal.code}`);
  else {
    console.log(`reading ${note}, ${decision.by}`);
    await consent.finish({ id, status: 'ok' });
  }
}
await store.close();
