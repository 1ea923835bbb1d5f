import type { BullaError } from '@bulla/core/error';
import { asDenial } from './denial.ts';
import { type Counts, DEFAULT_GRACE_MS, type LinkOptions, openLink, type Served } from './link.ts';
import type { Host } from './peer/channel.ts';
import { type HostStreams, HostWriter, readHost } from './peer/host.ts';

export interface StreamOptions extends Pick<LinkOptions, 'graceMs' | 'maxBytes'> {
  /** Ends the session as if the host had closed its side; if that was so before, without waiting for answers. */
  readonly signal?: AbortSignal | undefined;
}

export interface GuardOptions extends LinkOptions, StreamOptions {
  readonly host: HostStreams;
}

/** How a session ended. */
export interface GuardExit extends Counts {
  readonly ended: 'host' | 'server' | 'signal' | 'gateway';
  /** Why the server ended, if it ended first, or a failure of the gateway. */
  readonly error: BullaError | null;
}

/** Stands between a host and a server: to the host it is the server, on its own standard streams. See `serveStreams`. */
export function guard(options: GuardOptions): Promise<GuardExit> {
  return serveStreams(options.host, (host) => openLink(options, host), options);
}

/**
 * Serves a host on standard streams. Resolves when the session is over, the servers and all that they started are gone,
 * and everything is recorded. Rejects as `open` does.
 */
export async function serveStreams(
  { input, output }: HostStreams,
  open: (host: Host) => Promise<Served>,
  { graceMs = DEFAULT_GRACE_MS, maxBytes, signal }: StreamOptions,
): Promise<GuardExit> {
  const host = new HostWriter(output);
  const served = await open(host);
  const over = Promise.withResolvers<Pick<GuardExit, 'ended' | 'error'>>();
  void served.over.then(over.resolve);
  void readHost(
    input,
    {
      frame: (frame) => served.fromHost(frame, host),
      refused: (error, bytes) => served.refusedFromHost(error, bytes, host),
    },
    maxBytes,
  ).then(
    () => over.resolve({ ended: 'host', error: null }),
    (error) => over.resolve({ ended: 'gateway', error: asDenial(error) }),
  );
  const onAbort = (): void => over.resolve({ ended: 'signal', error: null });
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();

  const exit = await over.promise;
  input.destroy();
  if (exit.ended !== 'server') await served.drain(exit.ended === 'host' ? signal : undefined);
  host.hurry(graceMs);
  const counts = await served.close(exit.error?.code ?? null);
  signal?.removeEventListener('abort', onAbort);
  await host.flushed();
  return { ...exit, ...counts };
}
