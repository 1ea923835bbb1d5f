/** The web console verifies with the same code as the command line; it comes with the server. */
export { openNote } from '@bulla/core/crypto';
