/** The gateway: a pipeline of stages between a host and a server, which passes only what was locked, and records it. */

export { consentGate, envelopeGate, policyGate } from './gates/index.ts';
export { CLIENT_FEATURES, type ClientFeature } from './gates/methods.ts';
export { type GuardExit, type GuardOptions, guard, type Mode } from './guard.ts';
export { pinsOf } from './lists/pins.ts';
