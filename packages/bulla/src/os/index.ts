/** What every other folder may use of the operating system. */
export { isThere, openFound, readFound, readUpTo } from './file.ts';
export { naming } from './naming.ts';
export { refuseOldNode } from './native.ts';
export { createPrivateFile, findLoose, type Loose, tightenCommand } from './private.ts';
export { type Snapshot, snapshot } from './snapshot.ts';
export { readStandardInput, takeStandardInput } from './stdin.ts';
