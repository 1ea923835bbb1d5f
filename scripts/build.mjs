// Builds @bulla/core as modules with their types, the library, and the CLI, which loads only what a command uses.
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { rolldown } from 'rolldown';
import { lazyRequires } from './lazy-requires.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const core = join(root, 'packages/core');
const bulla = join(root, 'packages/bulla');

rmSync(join(core, 'dist'), { recursive: true, force: true });
function tsc(project) {
  const { status } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', project],
    { stdio: 'inherit' },
  );
  if (status !== 0) process.exit(1);
}
tsc(join(core, 'tsconfig.build.json'));

rmSync(join(bulla, 'dist'), { recursive: true, force: true });
const { version } = JSON.parse(readFileSync(join(bulla, 'package.json'), 'utf8'));
const common = {
  platform: 'node',
  outdir: join(bulla, 'dist'),
  conditions: ['bulla-source'],
  define: { BULLA_VERSION: JSON.stringify(version) },
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
};
// The CLI and its helpers are CommonJS: Node loads it faster than modules, and each part can wait for its first use.
// Rolldown, unlike esbuild, gives a command only those files behind an index that it needs.
const program = await rolldown({
  input: {
    cli: join(bulla, 'src/cli/cli.ts'),
    'chain-worker': join(bulla, 'src/chain/worker.ts'),
    'capability-runner': join(bulla, 'src/app/runner.ts'),
  },
  platform: 'node',
  // Nobody imports the entries by name but our own files.
  preserveEntrySignatures: 'allow-extension',
  resolve: { conditionNames: ['bulla-source', 'node', 'import', 'default'] },
  external: ['@opentelemetry/api', 'pkcs11js', 'better-sqlite3', 'pg', 'sodium-native', 'jsonc-parser'],
  transform: { target: 'node24', define: common.define },
  tsconfig: false,
});
await program.write({
  dir: common.outdir,
  format: 'cjs',
  exports: 'named',
  banner: "'use strict';",
  entryFileNames: '[name].cjs',
  chunkFileNames: 'chunks/[name]-[hash].cjs',
  sourcemap: true,
  // What every command uses, apart from large parts that are needed by the same commands but seldom.
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      { name: 'codes', test: /\/core\/src\/codes/ },
      { name: 'options', test: /\/bulla\/src\/cli\/(?:place|receipt)\.ts$/ },
      { name: 'error', test: /\/core\/src\/error\.ts$/ },
    ],
  },
  plugins: [lazyRequires()],
});
await program.close();
// A library must know what its user made with core, and its errors must be those of core, so it brings no core of its
// own.
await build({
  ...common,
  entryPoints: [
    { in: join(bulla, 'src/index.ts'), out: 'index' },
    ...['capability', 'consent', 'envelope', 'keys', 'manifest', 'record', 'store', 'chain'].map((name) => ({
      in: join(bulla, `src/${name}/index.ts`),
      out: name,
    })),
    ...['ai-sdk', 'otel', 'mcp'].map((name) => ({
      in: join(bulla, `src/adapters/${name}.ts`),
      out: `adapters/${name}`,
    })),
  ],
  bundle: true,
  splitting: true,
  format: 'esm',
  // So that an older Node can load it, and be told which one is needed.
  target: 'node20',
  chunkNames: 'chunks/[name]-[hash]',
  packages: 'external',
});
// The entry says which Node is needed, so it must run on one that is too old.
await build({
  ...common,
  entryPoints: [join(bulla, 'src/cli/bulla.ts')],
  bundle: true,
  format: 'esm',
  target: 'node14',
  sourcemap: false,
});
chmodSync(join(bulla, 'dist/bulla.js'), 0o755);
tsc(join(bulla, 'tsconfig.build.json'));
