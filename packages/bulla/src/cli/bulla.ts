#!/usr/bin/env node
// Kept free of newer syntax, so that an old Node can say what is wrong instead of failing to read the file. Node's own
// modules are taken without import, which would load all that each of them offers.
import { nodeTooOld } from '../node-version.ts';

interface Cli {
  holdProcess(): void;
  main(argv: string[]): Promise<number>;
}

const fault = nodeTooOld(process.versions.node);
if (fault !== null) {
  process.stderr.write(`bulla: ${fault}\n`);
  process.exitCode = 2;
} else {
  const { createRequire } = process.getBuiltinModule('node:module');
  const cli: Cli = createRequire(import.meta.url)('./cli.cjs');
  cli.holdProcess();
  cli.main(process.argv).then((exit) => {
    process.exitCode = exit;
  });
}
