// Before the tests: makes the programs that tests start often from the sources, each one file with what they share
// beside it, because Node takes five times as long to load the sources one by one.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the programs; `x-worker.ts` is `x-worker.mjs` there. */
    programs: string;
  }
}

const here = dirname(fileURLToPath(import.meta.url));

let folder = '';

export async function setup(project: TestProject): Promise<void> {
  // Inside the repository, so that packages which are not bundled are found.
  const cache = join(here, '../../../node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, 'bulla-programs-'));
  await build({
    entryPoints: [
      ...readdirSync(here).filter((name) => name.endsWith('-worker.ts')),
      'guard-cli.ts',
      'servers/toolkit.ts',
    ].map((name) => join(here, name)),
    outdir: folder,
    entryNames: '[name]',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    conditions: ['bulla-source'],
    external: ['pkcs11js', 'better-sqlite3', 'pg', 'sodium-native'],
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    logLevel: 'error',
  });
  project.provide('programs', folder);
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
