/**
 * Pinned programs: what an npm package or an image is, exactly, and how that very program is fetched, checked and run.
 * Errors are `BullaError` with a code that starts with `PIN_`, `DOWNLOAD_` or `PROVENANCE_`.
 */
export { type Cache, openCache } from './cache.ts';
export { isExecCommand, matches, type NpmCommand, parsePinCommand, withDigest } from './command.ts';
export { type Installed, install, type NpmArtifact, npmArtifact } from './install.ts';
export { resolveOci } from './oci.ts';
export { openFolder } from './permissions.ts';
export { type Program, programOf } from './program.ts';
export type { ProvenanceFacts } from './provenance.ts';
export { type NpmSettings, networkOf, npmSettings, openRegistry, type Registry } from './registry.ts';
export { resolveNpm } from './resolve.ts';
export { commandOf, interruptible, pinnedEnvironment, runCommand } from './start.ts';
export { type Checked, checkProvenance, GITHUB_ISSUER, verifyTree } from './verify.ts';
