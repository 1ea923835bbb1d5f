// Starts a program and gives what it prints, or how it is refused: `node confined-worker.ts free|confined|FOLDER
// COMMAND…`; with a folder it is confined and may write there.
import { BullaError } from '@bulla/core/error';
import { startChild } from '../src/mcp/child.ts';

const [mode, command, ...args] = process.argv.slice(2);
const confine = mode === 'free' ? undefined : { write: mode === 'confined' ? [] : [mode!] };
try {
  const child = await startChild(command!, args, { env: { PATH: '/usr/bin:/bin' }, confine });
  child.stdout.pipe(process.stdout);
  await child.closed;
} catch (error) {
  if (!(error instanceof BullaError)) throw error;
  console.log(`${error.code}: ${error.message}`);
}
