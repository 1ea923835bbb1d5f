import { BullaError } from '@bulla/core/error';
import { pointer } from '@bulla/core/json';
import type { LoadedConfig } from '../../app/index.ts';

/**
 * Refuses what the configuration can say and the guard does not apply yet: whoever wrote it relies on it. Throws
 * `CONFIG_UNSOUND` with the path.
 */
export function refuseUnapplied({ witnesses, servers }: LoadedConfig): void {
  const found: (readonly string[])[] = [
    ...(witnesses === undefined ? [] : [['witnesses']]),
    ...[...servers].flatMap(([key, { tools = new Map() }]) =>
      [...(tools as NonNullable<typeof tools>)].flatMap(([tool, { record }]) =>
        record === undefined ? [] : [['servers', key, 'tools', tool, 'record']],
      ),
    ),
  ];
  const [first] = found;
  if (first === undefined) return;
  const message = `The guard does not apply "${first.at(-1)}" yet; leave it out.`;
  throw new BullaError('CONFIG_UNSOUND', message, { path: pointer(first) });
}
