// Builds @bulla/core as modules with their types, and the CLI as a bundle whose commands load when they are called.
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

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
await build({
  ...common,
  entryPoints: [
    { in: join(bulla, 'src/cli/cli.ts'), out: 'cli' },
    { in: join(bulla, 'src/chain/worker.ts'), out: 'chain-worker' },
    { in: join(bulla, 'src/app/runner.ts'), out: 'capability-runner' },
  ],
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'node24',
  chunkNames: 'chunks/[name]-[hash]',
  external: ['pkcs11js', 'better-sqlite3', 'pg', 'sodium-native', 'jsonc-parser'],
  // Bundled CommonJS packages ask for Node's own modules.
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
});
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
  target: 'node24',
  chunkNames: 'chunks/[name]-[hash]',
  packages: 'external',
});
// The entry says which Node is needed, so it must run on one that is too old.
await build({
  ...common,
  entryPoints: [join(bulla, 'src/cli/bulla.ts')],
  bundle: true,
  external: ['./cli.js'],
  format: 'esm',
  target: 'node14',
  sourcemap: false,
});
chmodSync(join(bulla, 'dist/bulla.js'), 0o755);
tsc(join(bulla, 'tsconfig.build.json'));
