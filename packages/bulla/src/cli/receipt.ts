import { AsyncLocalStorage } from 'node:async_hooks';
import { userInfo } from 'node:os';
import type { CapsuleInput, Data, DataObject } from '@bulla/core/capsule';
import { BullaError, failureOf } from '@bulla/core/error';
import type { Command } from 'commander';
import type { Chain } from '../store/index.ts';
import { openToWrite, type PlaceOptions, placeOptions } from './place.ts';
import { complain, EXIT, type Exit, exitOf, say } from './terminal/io.ts';

/** The options of commands whose decisions can be sealed. */
export interface RecordOptions extends PlaceOptions {
  record?: boolean;
  quiet?: boolean;
}

export function recordOptions(command: Command): Command {
  return placeOptions(
    command.option(
      '--record',
      'seal what is asked and what came of it into the chain, above all when it fails',
    ),
  ).option('--keys <folder>', 'the keyring to seal with (default: BULLA_HOME/keys)');
}

const noted = new AsyncLocalStorage<Record<string, Data>>();

/** Says what a decision rests on, for its receipt: digests, names and counts, never a payload. */
export function note(facts: DataObject): void {
  Object.assign(noted.getStore() ?? {}, facts);
}

/**
 * The action of a command, with its receipt where `--record` asks for one: a capsule before anything is started and
 * one after it, also when it fails or throws. What cannot be recorded is not done.
 */
export function recorded<Args extends unknown[]>(
  name: string,
  action: (...args: Args) => Promise<Exit>,
): (...args: Args) => Promise<Exit> {
  return async (...args) => {
    // Commander gives the arguments, the options, and the command itself.
    const options = args.at(-2) as RecordOptions;
    if (!options.record) return action(...args);
    const store = await openToWrite(options);
    try {
      return await withReceipt(name, store.chain(options.chain), options.quiet ?? false, () =>
        action(...args),
      );
    } finally {
      await store.close();
    }
  };
}

async function withReceipt(
  name: string,
  chain: Chain,
  quiet: boolean,
  work: () => Promise<Exit>,
): Promise<Exit> {
  const intent = await chain.append(receipt(name, { v: 1 }, { status: 'pending' }));
  const facts: Record<string, Data> = {};
  const started = performance.now();
  let exit: Exit;
  let thrown: unknown;
  try {
    exit = await noted.run(facts, work);
  } catch (error) {
    thrown = error;
    exit = exitOf(error);
  }
  const outcome: CapsuleInput['outcome'] = {
    status: exit === EXIT.good ? 'success' : 'failure',
    error: thrown === undefined ? (exit === EXIT.good ? null : `exit ${exit}`) : failureOf(thrown),
    metrics: { exit, duration_ms: Math.round(performance.now() - started) },
  };
  try {
    const { hash } = await chain.append({
      ...receipt(name, { v: 1, ...facts }, outcome),
      parent_id: intent.id,
    });
    if (!quiet) say(`recorded  ${hash}`);
  } catch (cause) {
    if (thrown !== undefined) complain(thrown);
    throw new BullaError('OUTCOME_LOST', `${name} ended with ${exit}, but that could not be recorded.`, {
      cause,
    });
  }
  if (thrown !== undefined) throw thrown;
  return exit;
}

function receipt(name: string, bulla: DataObject, outcome: CapsuleInput['outcome']): CapsuleInput {
  return {
    type: 'auth',
    domain: 'lock',
    trigger: { type: 'user_request', source: userInfo().username, request: `bulla ${name}` },
    context: { agent_id: 'bulla', environment: { bulla } },
    outcome: { summary: `bulla ${name}`, ...outcome },
  };
}
