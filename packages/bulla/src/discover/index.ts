/** The servers that the clients on this machine are configured to use, and which of them are locked. */

export { type Discovery, discover, type Problem } from './discover.ts';

export { guardOptions, type OwnProgram } from './guard.ts';
export { type CheckedServer, checkServers, isGuarded } from './locks.ts';

export { runnerOf } from './runner.ts';
export { HIDDEN, scrubbed, shownUrl, shownWords } from './secrets.ts';
