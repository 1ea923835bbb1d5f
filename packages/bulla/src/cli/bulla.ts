#!/usr/bin/env node
// Kept free of newer syntax, so that an old Node can say what is wrong instead of failing to read the file.
import { nodeTooOld } from '../node-version.ts';

const fault = nodeTooOld(process.versions.node);
if (fault !== null) {
  process.stderr.write(`bulla: ${fault}\n`);
  process.exitCode = 2;
} else {
  import('./cli.js' as string)
    .then((cli: { holdProcess(): void; main(argv: string[]): Promise<number> }) => {
      cli.holdProcess();
      return cli.main(process.argv);
    })
    .then((exit) => {
      process.exitCode = exit;
    });
}
