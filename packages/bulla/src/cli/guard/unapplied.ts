import { BullaError } from '@bulla/core/error';
import { pointer } from '@bulla/core/json';
import type { LoadedConfig } from '../../app/index.ts';

/**
 * Refuses what the configuration can say and the guard does not apply yet: whoever wrote it relies on it. Throws
 * `CONFIG_UNSOUND` with the path.
 */
export function refuseUnapplied({
  consent,
  envelopes,
  witnesses,
  servers,
  agents = new Map(),
}: LoadedConfig): void {
  // A user has tokens of their own at some servers, and is not told elsewhere.
  const hasUsers = [...servers.values()].some(
    (server) => server.url !== undefined && server.tokens !== undefined,
  );
  const found: (readonly string[])[] = [
    ...Object.entries({ consent, envelopes, witnesses }).flatMap(([name, value]) => (value ? [[name]] : [])),
    ...[...servers].flatMap(([key, { tools }]) => (tools ? [['servers', key, 'tools']] : [])),
    ...[...agents].flatMap(([id, { manifest, user }]) => [
      ...(manifest === undefined ? [] : [['agents', id, 'manifest']]),
      ...(user === undefined || hasUsers ? [] : [['agents', id, 'user']]),
    ]),
  ];
  const [first] = found;
  if (first === undefined) return;
  const message = `The guard does not apply "${first.at(-1)}" yet; leave it out.`;
  throw new BullaError('CONFIG_UNSOUND', message, { path: pointer(first) });
}
