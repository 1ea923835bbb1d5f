import { Command as Commander, type Option } from 'commander';
import type { Exit } from './terminal/io.ts';

/** What a command does with its arguments and options: gives the exit code, or nothing if it ended well. */
type Action<Args extends unknown[]> = (...args: Args) => Promise<Exit> | Promise<void>;

/** Wraps an action, so that its exit code and its errors reach the process. */
export type Run = (action: Action<unknown[]>) => (...args: unknown[]) => Promise<void>;

/** A command of ours; its subcommands are of the same kind. */
export class Command extends Commander {
  declare readonly commands: readonly Command[];
  readonly #run: Run;

  constructor(name: string | undefined, run: Run) {
    super(name);
    this.#run = run;
  }

  override createCommand(name?: string): Command {
    return new Command(name, this.#run);
  }

  subcommand(name: string, description: string): Command {
    return this.command(name).description(description);
  }

  /** Refuses an option with one value that is given twice: one of the two would be ignored without a word. */
  override addOption(option: Option): this {
    if ((option.required || option.optional) && !isRepeatable(option))
      this.on(`option:${option.name()}`, () => {
        if (this.getOptionValueSource(option.attributeName()) === 'cli')
          this.error(`error: option '${option.flags}' may be given only once`);
      });
    return super.addOption(option);
  }

  /** Adds options that several commands share. */
  use(...adding: ((command: Command) => void)[]): this {
    for (const add of adding) add(this);
    return this;
  }

  /** What help says behind the options. */
  helpText(text: string): this {
    return this.addHelpText('after', text);
  }

  /** Sets the action; Commander gives it the arguments and the options. */
  run<Args extends never[]>(action: Action<Args>): this {
    return this.action(this.#run(action as Action<unknown[]>));
  }
}

/** Whether an option collects values; the default of one that does is a list. */
function isRepeatable({ variadic, defaultValue }: Option): boolean {
  return variadic || Array.isArray(defaultValue);
}
