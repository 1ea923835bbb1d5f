/** The gateway: a pipeline of stages between a host and a server, which passes only what was locked, and records it. */
export { Denial, type Stage } from './denial.ts';
export { type GuardExit, type GuardOptions, guard, type Mode } from './guard.ts';
export type { HostStreams } from './host.ts';
export { checkIdentity } from './identity.ts';
export { type Pins, pinsOf } from './pins.ts';
export { CLIENT_FEATURES, type ClientFeature } from './stages/methods.ts';
