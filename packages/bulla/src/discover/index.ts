/** The servers that the clients on this machine are configured to use, and which of them are locked. */
export { CLIENTS, type Client, type ConfigFile } from './clients.ts';
export { type Configured, type Discovery, discover, type Problem } from './discover.ts';
export { readDocument, type Syntax, type Value } from './document.ts';
export type { Entry } from './entry.ts';
export { guardOptions, type OwnProgram } from './guard.ts';
export { isGuarded, type Judged, judge, type LockPlace, type State } from './locks.ts';
export type { Place } from './place.ts';
export { type Runner, runnerOf } from './runner.ts';
export { HIDDEN, scrubbed, shownUrl, shownWords } from './secrets.ts';
