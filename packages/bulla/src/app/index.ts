/**
 * Use cases, one a file: typed inputs, typed results, errors with codes. Nothing here reads a command line, prints or
 * speaks HTTP: commands, routes and programs call these.
 */
export { type AuthorizeInput, type Proposed, proposeAuthorization } from './authorize.ts';
export { type ExecuteInput, executeEnvelope, explainSteps, type LedgerInput } from './execute.ts';
export { publishEnvelopePolicy } from './publish.ts';
