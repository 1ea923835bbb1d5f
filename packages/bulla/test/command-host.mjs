// Runs commands of the built CLI one after another in one process: reads a command from descriptor 3, answers with its
// exit code on descriptor 4; if the command ends the process, `!` and the end of the file follow. Whoever started it
// owns the files behind standard output and standard error.
import { readSync, writeSync } from 'node:fs';
import { Readable } from 'node:stream';
import cli from '../dist/cli.cjs';

const { main, takeStandardInput } = cli;
const COMMANDS = 3;
const ANSWERS = 4;
/** The listeners of the process before the command that runs now; none runs if it is null. */
let before = null;

function nextCommand() {
  const chunks = [];
  const chunk = Buffer.alloc(1 << 16);
  for (;;) {
    const size = readSync(COMMANDS, chunk);
    if (size === 0) process.exit();
    const isWhole = chunk[size - 1] === 0x0a;
    chunks.push(Buffer.from(chunk.subarray(0, isWhole ? size - 1 : size)));
    if (isWhole) return JSON.parse(Buffer.concat(chunks).toString());
  }
}

/** What the command registered on the process ends with it, as if the process ended. */
function dropListeners(code) {
  for (const name of process.eventNames()) {
    for (const listener of process.rawListeners(name)) {
      if (before.get(name)?.includes(listener)) continue;
      process.removeListener(name, listener);
      if (name === 'exit') listener.call(process, code);
    }
  }
}

// A process ends when nothing is left to wait for; so does a command.
process.on('beforeExit', () => {
  if (before !== null) {
    const code = process.exitCode ?? 0;
    dropListeners(code);
    writeSync(ANSWERS, `${code}\n`);
    before = null;
  }
  const { args, env, cwd, stdin } = nextCommand();
  const input = Buffer.from(stdin, 'base64');
  takeStandardInput(new Uint8Array(input));
  const stream = Readable.from(input.length === 0 ? [] : [input], { objectMode: false });
  Object.defineProperty(process, 'stdin', { configurable: true, value: stream });
  for (const name of Object.keys(process.env)) if (!Object.hasOwn(env, name)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.exitCode = undefined;
  process.argv.splice(2, Infinity, ...args);
  before = new Map(process.eventNames().map((name) => [name, process.rawListeners(name)]));
  setImmediate(async () => {
    process.exitCode = await main(process.argv);
  });
});
process.on('exit', (code) => {
  if (before !== null) writeSync(ANSWERS, `${code}!`);
});
