// `bulla guard` from the sources: `node guard-cli.ts [option…] -- SERVER…`.
import { Command } from '../src/cli/command.ts';
import { define } from '../src/cli/guard/guard.ts';
import { complain, exitOf } from '../src/cli/terminal/io.ts';

const command = new Command('guard', (action) => async (...args) => {
  try {
    process.exitCode = (await action(...args)) ?? 0;
  } catch (error) {
    complain(error);
    process.exitCode = exitOf(error);
  }
});
define(command);
await command.parseAsync(process.argv);
