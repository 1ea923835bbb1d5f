import type { Lock } from '@bulla/core/lock';
import { type HubOptions, openHub } from '../src/gateway/hub/hub.ts';
import type { GuardExit } from '../src/gateway/index.ts';
import { type LinkOptions, openLink, type Served } from '../src/gateway/link.ts';
import { HostWriter, readHost } from '../src/gateway/peer/host.ts';
import type { StdioTarget } from '../src/mcp/index.ts';
import { type Drive, type Guarded, startDriven } from './guard.ts';

/** A server behind a hub that a test starts; its prefix is its key unless it has another. */
export interface TestMember extends Partial<Omit<LinkOptions, 'lock' | 'server'>> {
  readonly key: string;
  readonly prefix?: string;
  readonly server: StdioTarget;
  readonly lock: Lock;
}

/** Starts several servers behind one door in this process, and drives it as its host. */
export function startHub(members: readonly TestMember[], options: HubOptions = {}): Promise<Guarded> {
  return startDriven(undefined, (drive) => serve(members, options, drive));
}

/** What a guard does, with a hub in the place of one link. */
async function serve(
  members: readonly TestMember[],
  options: HubOptions,
  { host: { input, output }, store, stop, log }: Drive,
): Promise<GuardExit> {
  const host = new HostWriter(output);
  const common = { store, agentId: 'bot', sessionId: 'one-session', allowOtherServer: true, graceMs: 200 };
  const hub: Served = await openHub(
    members.map(({ key, prefix = key, lock, ...link }) => ({
      key,
      prefix,
      lock,
      open: (own) =>
        openLink({ ...common, lock, name: key, log: (line) => log(`${key}: ${line}`), ...link }, own),
    })),
    host,
    { log, ...options },
  );
  const over = Promise.withResolvers<Pick<GuardExit, 'ended' | 'error'>>();
  void hub.over.then(over.resolve);
  const receiver = {
    frame: (frame: Parameters<Served['fromHost']>[0]) => hub.fromHost(frame, host),
    refused: (error: Parameters<Served['refusedFromHost']>[0], bytes: Uint8Array) =>
      hub.refusedFromHost(error, bytes, host),
  };
  void readHost(input, receiver).then(() => over.resolve({ ended: 'host', error: null }));
  stop.signal.addEventListener('abort', () => over.resolve({ ended: 'signal', error: null }));
  const exit = await over.promise;
  input.destroy();
  if (exit.ended !== 'server') await hub.drain();
  host.hurry(200);
  const counts = await hub.close(exit.error?.code ?? null);
  await host.flushed();
  return { ...exit, ...counts };
}
