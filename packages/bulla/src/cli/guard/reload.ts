import { isDeepStrictEqual } from 'node:util';
import { BullaError } from '@bulla/core/error';
import type { Opened } from '../../app/index.ts';
import { watchFiles } from '../../os/index.ts';
import type { Generation } from './generation.ts';

export interface ReloadOptions {
  /** Null where nothing is recorded. */
  readonly record: Opened['record'] | null;
  read(): Promise<Generation>;
  /** The digest of the configuration that could not be read; null where there is none. */
  digest(): string | null;
  /** Checks what was read against everything that runs; what it returns applies it. Throws for what cannot be applied. */
  prepare(next: Generation): Promise<() => void>;
  /** What the operator must know. */
  tell(line: string): void;
  /** What the operator may know. */
  log?: ((line: string) => void) | undefined;
}

/** The generation that is in use. */
export interface Reloading extends Disposable {
  /** Reads everything again at once. */
  reload(why: 'signal' | 'files'): Promise<void>;
}

/**
 * Reads the configuration, the locks and the rules again when they change. What is good is recorded and then applied; what is not
 * leaves everything as it was, and that is told and recorded.
 */
export function reloading(first: Generation, options: ReloadOptions): Reloading {
  const used: Generation[] = [first];
  let turn: Promise<void> = Promise.resolve();
  let isOver = false;
  const reload = (why: 'signal' | 'files'): Promise<void> => {
    turn = turn.then(() => attempt(why));
    return turn;
  };
  const attempt = async (why: 'signal' | 'files'): Promise<void> => {
    let next: Generation | null = null;
    if (isOver) return;
    try {
      next = await options.read();
      const apply = await options.prepare(next);
      await recorded(options.record, why, next.digests, null);
      apply();
      used.push(next);
      watching.set(next.files);
      options.log?.('the configuration, the locks and the rules were read again, and are in use');
    } catch (error) {
      const failure = error instanceof BullaError ? error : new BullaError('GATEWAY_FAILED', String(error));
      options.tell(`the reload is refused, what was in use stands: ${failure.message} [${failure.code}]`);
      try {
        const digests = next?.digests ?? { config: options.digest(), locks: {} };
        await recorded(options.record, why, digests, failure.code);
      } catch (cause) {
        const { message } = cause as Error;
        options.tell(`the refused reload is not recorded: ${message}`);
      }
      next?.[Symbol.dispose]();
    }
  };
  const watching = watchFiles(first.files, () => void reload('files'));
  return {
    reload,
    [Symbol.dispose]() {
      isOver = true;
      watching.close();
      for (const generation of used) generation[Symbol.dispose]();
    },
  };
}

/** Records a reload that is about to be applied, or was refused. */
async function recorded(
  record: Opened['record'] | null,
  why: 'signal' | 'files',
  digests: Generation['digests'],
  code: string | null,
): Promise<void> {
  await record?.act({
    ...{ type: 'system', trigger: 'system', door: 'gateway', agentId: '', source: 'bulla' },
    request: 'guard reload',
    evidence: { facts: { reload: why, ...digests } },
    status: code === null ? 'success' : 'blocked',
    failure: code === null ? null : { stage: 'session', code },
  });
}

/** Throws `GATEWAY_RELOAD` for a change that only a new start can apply. */
export function checkRestart(before: Generation, next: Generation, isListening: boolean): void {
  const members = ['store', 'witnesses', ...(isListening ? (['listen'] as const) : [])] as const;
  for (const member of members) {
    if (isDeepStrictEqual(before.config?.[member], next.config?.[member])) continue;
    throw new BullaError(
      'GATEWAY_RELOAD',
      `The member ${JSON.stringify(member)} of the configuration changed, which needs a new start.`,
    );
  }
}
