// Makes one of each file that Bulla keeps for itself, and publishes a log, under a umask, in a folder that is there already, and prints the
// modes of all of them, while the stores are open. Arguments: the folder, the umask in octal.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { installationId } from '../src/consent/index.ts';
import { ensureKeyring, openKeyring } from '../src/keys/index.ts';
import { oauthMemory } from '../src/locks/index.ts';
import { exportTiles } from '../src/log/index.ts';
import { openStore } from '../src/store/index.ts';
import { addWitness, openWitness, POLICY_FILE, readLogs } from '../src/witness/index.ts';

const [folder, umask] = process.argv.slice(2) as [string, string];
process.umask(Number.parseInt(umask, 8));
const at = (...names: string[]) => join(folder, ...names);
const now = () => new Date();

await ensureKeyring(at('keys'));
const keyring = openKeyring(at('keys'), { now });
const store = await openStore({ url: at('store.db'), create: true, sealer: () => keyring.sealer() });
const chain = store.chain('c');
await chain.append({ type: 'tool', outcome: { status: 'success', summary: 'x' } });
const { note } = await chain.checkpoint();
const leaves = async function* () {
  yield new Uint8Array(1);
};
await exportTiles({ tiles: chain.tiles, leaves, checkpoint: note }, at('published'));
installationId(folder);
oauthMemory(at('oauth'), new URL('https://server.example')).save({});
const witness = openWitness({
  ...{ name: 'witness.example/w1', state: at('witness', 'state.db'), now },
  logs: () => readLogs([]),
});
addWitness(at(POLICY_FILE), { name: 'w', vkey: witness.vkeys[0]!, url: 'https://witness.example' });

for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  const mode = (statSync(path).mode & 0o777).toString(8);
  process.stdout.write(`${entry.isDirectory() ? 'd' : 'f'} ${mode} ${path.slice(folder.length + 1)}\n`);
}
await witness.close();
await store.close();
