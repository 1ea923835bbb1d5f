// An agent that wants to read a note. It runs the tool only after a person, in whatever process, allowed exactly this
// call. Arguments: the data directory, and the name of the note.
import { randomUUID } from 'node:crypto';
import { identityOf } from '@bulla/core/consent';
import { open } from 'bulla';
import { installationId } from 'bulla/consent';

const [home, note] = process.argv.slice(2);
await using bulla = await open(home, { agentId: 'notes', consent: { holder: 'read-note' } });
const { consent } = bulla;
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
  // The arguments as they were shown: whatever became of the program's own object, this is what was allowed.
  ({ path }) => `text of ${path}`,
);
if (call.status === 'ok') console.log(`read ${note}: ${call.result} (${call.decision.by})`);
else console.log(`${call.status}: ${call.reason}`);
