export { exportTiles, type Publication } from './tile-export.ts';
export { openPublished, type PublishedLog } from './tile-folder.ts';
