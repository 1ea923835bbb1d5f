#!/usr/bin/env node
// Kept free of newer syntax, so that an old Node can say what is wrong instead of failing to read the file. Node's own
// modules are taken without import, which would load all that each of them offers.
import { nodeTooOld } from '../node-version.ts';
import { VERSION } from '../version.ts';
import { compileCacheFolder } from './compile-cache.ts';

interface Cli {
  holdProcess(): void;
  main(argv: string[]): Promise<number>;
}

const fault = nodeTooOld(process.versions.node);
if (fault !== null) {
  process.stderr.write(`bulla: ${fault}\n`);
  process.exitCode = 2;
} else {
  const node = process.getBuiltinModule;
  const { createRequire, enableCompileCache } = node('node:module');
  const host = {
    platform: process.platform,
    env: process.env,
    uid: process.geteuid ? process.geteuid() : null,
  };
  const folder = compileCacheFolder(host, VERSION, node('node:fs'), node('node:path'));
  if (folder !== null) enableCompileCache(folder);
  const cli: Cli = createRequire(import.meta.url)('./cli.cjs');
  cli.holdProcess();
  cli.main(process.argv).then((exit) => {
    process.exitCode = exit;
  });
}
