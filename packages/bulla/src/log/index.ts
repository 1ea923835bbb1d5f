export { exportTiles, type Publication } from './tile-export.ts';
export { openPublished, type PublishedLog } from './tile-folder.ts';
export { frontierAt, proveConsistency, proveInclusion, rootAt, type TileSource } from './tiles.ts';
