#!/usr/bin/env node
// Kept free of newer syntax, so that an old Node can say what is wrong instead of failing to read the file.
const version = process.versions.node.split('.').map(Number);
const major = version[0] || 0;
const minor = version[1] || 0;
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`bulla: needs Node 24.15 or newer; this is Node ${process.versions.node}\n`);
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

export {};
