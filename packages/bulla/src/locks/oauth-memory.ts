import { join } from 'node:path';
import { fromUtf8, sha256Hex, toUtf8 } from '@bulla/core/crypto';
import type { OAuthMemory } from '../mcp/index.ts';
import { createDirectory, findInput, realDisk, withLock, writeNewFile } from '../os/index.ts';

/**
 * What a sign-in gave, kept for the next time in a file of this server, which its owner alone can read. One that cannot
 * be read counts as none: the person signs in again.
 */
export function oauthMemory(
  folder: string,
  server: URL,
): {
  load(): OAuthMemory;
  save(memory: OAuthMemory): void;
  /** Runs something while no other process that asks for it does: of two that renew a token, one may end the other's. */
  alone<Result>(action: () => Promise<Result>): Promise<Result>;
} {
  const path = join(folder, `${sha256Hex(server.href)}.json`);
  return {
    load() {
      try {
        const bytes = findInput(path, 'document');
        const memory: unknown = bytes === null ? {} : JSON.parse(fromUtf8(bytes));
        return typeof memory === 'object' && memory !== null ? (memory as OAuthMemory) : {};
      } catch {
        return {};
      }
    },
    save(memory) {
      createDirectory(folder);
      const draft = `${path}.${process.pid}.new`;
      realDisk.remove(draft);
      writeNewFile(realDisk, draft, toUtf8(JSON.stringify(memory)));
      realDisk.rename(draft, path);
    },
    alone(action) {
      createDirectory(folder);
      return withLock(`${path}.lock`, { waitMs: 60_000 }, action);
    },
  };
}
