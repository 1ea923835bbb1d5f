import { AsyncLocalStorage } from 'node:async_hooks';
import type { DataObject } from '@bulla/core/capsule';
import { type Decided, type Unrecorded, withReceipt } from '../app/index.ts';
import { OutcomeLostError } from '../record/index.ts';
import type { Command } from './command.ts';
import { openFor, type StoreOptions, sealOptions } from './store.ts';
import { complain, EXIT, type Exit, say } from './terminal/io.ts';

/** The options of commands whose decisions can be sealed. */
export interface RecordOptions extends StoreOptions {
  record?: boolean;
  quiet?: boolean;
}

export function recordOptions(command: Command): Command {
  return command
    .option('--record', 'seal what is decided and what came of it into the chain, above all when it fails')
    .use(sealOptions);
}

const listeners = new AsyncLocalStorage<(facts: DataObject) => void>();

/** Says what a decision rests on, for its receipt: digests, names and counts, never a payload. */
export function note(facts: DataObject): void {
  listeners.getStore()?.(facts);
}

/** The action of a command, with its receipt where `--record` asks for one. */
export function recorded<Args extends unknown[]>(
  name: string,
  action: (...args: Args) => Promise<Exit>,
): (...args: Args) => Promise<Exit> {
  return async (...args) => {
    // Commander gives the arguments, the options, and the command itself.
    const options = args.at(-2) as RecordOptions;
    if (!options.record) return action(...args);
    await using at = await openFor(options, 'write');
    try {
      const { value, hash } = await withReceipt(at.record, `bulla ${name}`, async (onFacts) =>
        decided(await listeners.run(onFacts, () => action(...args))),
      );
      if (!options.quiet) say(`recorded  ${hash}`);
      return value;
    } catch (error) {
      if (error instanceof OutcomeLostError) tell(error.result as Unrecorded<Exit>);
      throw error;
    }
  };
}

const NAMES = { [EXIT.bad]: 'BAD', [EXIT.usage]: 'USAGE', [EXIT.undecided]: 'UNDECIDED' } as const;

function decided(exit: Exit): Decided<Exit> {
  const failure = exit === EXIT.good ? null : { stage: 'action' as const, code: NAMES[exit] };
  return { value: exit, failure, metrics: { exit } };
}

/** How it ended is said all the same, where the record of it is lost. */
function tell(ended: Unrecorded<Exit>): void {
  if ('thrown' in ended) complain(ended.thrown);
}
