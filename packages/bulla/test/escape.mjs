// Tries what a confined program must not be able to do, and prints what came of each attempt: `node escape.mjs JSON`,
// where JSON is a list of [kind, ...words].
import { execFileSync } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';

const PTRACE = { x64: 101, arm64: 117 };
const ATTACH = 16;

const TRIES = {
  read: (path) => readFileSync(path, 'utf8'),
  write: (path) => writeFileSync(path, 'written inside'),
  append: (path) => appendFileSync(path, 'written inside'),
  list: (path) => readdirSync(path).sort(),
  kill: (pid) => process.kill(pid, 'SIGKILL'),
  env: () => process.env,
  cwd: () => process.cwd(),
  run: (command, ...args) => execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe' }).trim(),
  ptrace: (pid) =>
    execFileSync('/usr/bin/perl', [
      '-e',
      `syscall(${PTRACE[process.arch]}, ${ATTACH}, ${pid}, 0, 0) == 0 and print "attached" or print "$!"`,
    ]).toString(),
  processes: () => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length,
  interfaces: () => Object.keys(networkInterfaces()),
  status: (name) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))[1],
  connect: (where) =>
    new Promise((resolve, reject) => {
      const socket = connect(where);
      socket.on('error', reject);
      socket.on('data', (data) => {
        resolve(data.toString());
        socket.destroy();
      });
    }),
};

const results = [];
for (const [kind, ...words] of JSON.parse(process.argv[2])) {
  try {
    results.push((await TRIES[kind](...words)) ?? 'done');
  } catch (error) {
    results.push({ failed: error.code ?? error.status ?? error.message });
  }
}
console.log(JSON.stringify(results));
