/** The gateway: a pipeline of stages between a host and a server, which passes only what was locked, and records it. */
export { Denial, RPC } from './denial.ts';
export {
  type ConsentGateOptions,
  consentGate,
  type EnvelopeGateOptions,
  envelopeGate,
  type Gate,
  type GatedCall,
  policyGate,
  type Ruling,
} from './gates/index.ts';
export { CLIENT_FEATURES, type ClientFeature } from './gates/methods.ts';
export { type GuardExit, type GuardOptions, guard, type Mode } from './guard.ts';
export { type Pins, pinsOf } from './lists/pins.ts';
export type { HostStreams } from './peer/host.ts';
