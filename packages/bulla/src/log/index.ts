export { exportTiles } from './tile-export.ts';
export { openPublished, type PublishedLog } from './tile-folder.ts';
