/**
 * The manifests of agents in a store: every accepted version is kept, found by its number or its hash, and sealed.
 * The pure parts are in `@bulla/core/manifest`.
 */
export { namedOf } from './declared.ts';
export {
  type CurrentManifest,
  createManifests,
  type Manifests,
  type Pushed,
  type PushOptions,
  type Rebound,
} from './manifests.ts';
export { declaredRow, readContent, type StoredBindings, type StoredVersion } from './rows.ts';
