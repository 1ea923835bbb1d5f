/** The guard's recorder, for tests of the store that it records into. */
export { Recorder } from '../src/gateway/incidents.ts';
