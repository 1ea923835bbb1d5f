// The least that can stand between a host and a server: starts the server and copies bytes both ways.
import { spawn } from 'node:child_process';

const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
process.stdin.pipe(server.stdin);
server.stdout.pipe(process.stdout);
