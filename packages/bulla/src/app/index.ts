/** Use cases: no printing, no arguments of a command line, no HTTP. */
export { type FileVerdict, type NamedLock, verifyFiles } from './verify.ts';
