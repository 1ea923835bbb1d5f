/** The gateway: a pipeline of stages between hosts and servers, which passes only what was locked, and records it. */

export { Questions } from './approvals/questions.ts';
export { consentGate, type EnvelopeGateOptions, envelopeGate, policyGate } from './gates/index.ts';
export { CLIENT_FEATURES, type ClientFeature } from './gates/methods.ts';
export { type GuardExit, type GuardOptions, guard, serveStreams } from './guard.ts';
export type { Mode } from './link.ts';
export { type Listening, type ListenOptions, listen } from './listen.ts';
export { pinsOf } from './lists/pins.ts';
export type { Preflighted } from './preflight.ts';
export { releasedPreflight } from './released.ts';
export { type GuardedServer, type Servers, serversOf } from './servers.ts';
export { openTelemetry, type Telemetry } from './telemetry.ts';
