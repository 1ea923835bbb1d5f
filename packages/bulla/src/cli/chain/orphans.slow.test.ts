import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bulla as run, temporaryFolder } from '../../../test/run.ts';
import { openKeyring } from '../../keys/index.ts';
import { createRecorder } from '../../record/index.ts';
import { openStore } from '../../store/index.ts';

test('chain orphans marks the calls of processes that ended; stats and trace tell of them', async () => {
  const home = temporaryFolder();
  const bulla = (...args: string[]) => run(args, '', { BULLA_HOME: home });
  expect(bulla('keys', 'init').status).toBe(0);
  const keyring = openKeyring(join(home, 'keys'), { now: () => new Date() });
  const begun = async () => {
    const store = await openStore({
      ...{ url: join(home, 'store.db'), create: true },
      sealer: () => keyring.sealer(),
    });
    const request = { agentId: 'bot', source: 'host', request: 'tools/call pay' };
    const call = { door: 'agents', ...request, tool: { name: 'pay' } } as const;
    const { capsule } = await createRecorder(store.chain('default')).intent(call);
    return { store, id: capsule.id };
  };
  const gone = await begun();
  await gone.store.close();
  const living = await begun();
  try {
    const marked = JSON.parse(bulla('chain', 'orphans', '--json').stdout);
    expect(marked).toMatchObject({ chain: 'default', marked: [{ intent: gone.id }], open: 1 });
    expect(bulla('chain', 'orphans').stdout).toBe(
      '0 calls marked; 1 call of living processes without an outcome yet\n',
    );
    const { history } = JSON.parse(bulla('chain', 'stats', '--json').stdout);
    expect([history.unfinished.first, history.orphaned.first]).toEqual([
      [{ id: living.id, index: 1 }],
      [{ id: gone.id, index: 0 }],
    ]);
    const chain = join(home, 'chain.jsonl');
    writeFileSync(chain, bulla('capsule', 'export').stdout);
    const trace = bulla('trace', gone.id, chain, '--keyring', join(home, 'keys'));
    expect(trace.status).toBe(3);
    expect(trace.stdout).toMatch(
      /\nabsent {9}outcome {8}Its outcome is not known: the process ended before it was recorded, and the call may or may not have been made\. \[RECORD_ORPHANED\]\n/,
    );
    expect(bulla('trace', living.id, chain, '--keyring', join(home, 'keys')).stdout).toContain(
      'nothing marks it as orphaned',
    );
  } finally {
    await living.store.close();
    keyring.close();
  }
});
