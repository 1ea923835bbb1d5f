// `bulla guard` from the sources: `node guard-cli.ts [option…] -- SERVER…`.
import { Command } from 'commander';
import { define } from '../src/cli/guard/guard.ts';
import { complain, exitOf } from '../src/cli/terminal/io.ts';

const command = new Command('guard');
define(command, (action) => async (...args) => {
  try {
    process.exitCode = await action(...args);
  } catch (error) {
    complain(error);
    process.exitCode = exitOf(error);
  }
});
await command.parseAsync(process.argv);
