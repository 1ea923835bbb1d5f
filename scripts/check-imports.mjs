// Holds the one direction of dependencies: console and bulla stand on core; inside core each folder may use only
// those named here, and only through their index.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of core → the folders it may use. Later modules add their row; a circle cannot be written here unseen. */
const CORE = {
  json: [],
  text: [],
  crypto: ['json'],
  canon: ['json', 'crypto'],
  schema: ['json', 'canon'],
  capsule: ['json', 'crypto', 'canon'],
  cel: ['json'],
  envelope: ['json', 'crypto', 'canon', 'cel'],
  log: ['json', 'crypto', 'canon', 'capsule'],
  lock: ['json', 'crypto', 'canon', 'text', 'schema'],
  capability: ['json', 'crypto', 'canon', 'text', 'schema'],
  policy: ['json', 'crypto', 'text', 'cel', 'lock'],
  consent: ['json', 'crypto', 'canon', 'text', 'envelope', 'capsule', 'manifest'],
  manifest: ['json', 'crypto', 'canon', 'text', 'schema', 'lock'],
  evidence: ['json', 'canon', 'capsule'],
  verify: [
    ...[
      'json',
      'crypto',
      'canon',
      'capsule',
      'log',
      'lock',
      'envelope',
      'capability',
      'manifest',
      'evidence',
    ],
  ],
  'index.ts': ['json', 'crypto', 'canon', 'capsule'],
};
const PACKAGES = { core: [], bulla: ['@bulla/core'], console: ['@bulla/core'] };

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const IMPORT = /(?:import|export)\s(?:[^'"`;]*?\sfrom\s*)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g;

/** The complaints about one file, given its path in the repository and its text. */
export function complaints(file, text) {
  const found = [];
  const [, packageName, , folder] = file.split('/');
  for (const match of text.matchAll(IMPORT)) {
    const target = match[1] ?? match[2];
    if (target.startsWith('@bulla/') || target === 'bulla') {
      const name = target.split('/').slice(0, 2).join('/');
      if (!PACKAGES[packageName].includes(name))
        found.push(`${file}: ${packageName} must not import ${target}`);
      continue;
    }
    if (!target.startsWith('.')) {
      const nodeOnly = /\.(?:node\.test|test)\.ts$|(?:provider-node|sodium)\.ts$/.test(file);
      if (packageName === 'core' && target.startsWith('node:') && !nodeOnly)
        found.push(`${file}: core is pure and must not import ${target}`);
      continue;
    }
    const path = relative(join(root, 'packages', packageName, 'src'), resolve(root, dirname(file), target));
    const [targetFolder, ...rest] = path.split('/');
    if (path.startsWith('../test/') && /\.test\.ts$|\/suite\.ts$/.test(file)) continue;
    if (path.startsWith('..')) {
      found.push(`${file}: ${target} lies outside the package's sources`);
    } else if (rest.length > 0 && targetFolder !== folder) {
      if (rest.join('/') !== 'index.ts')
        found.push(`${file}: ${target} reaches past the index of ${targetFolder}`);
      if (packageName === 'core' && folder !== undefined && !CORE[folder]?.includes(targetFolder)) {
        found.push(`${file}: core/${folder} must not import core/${targetFolder}`);
      }
    }
  }
  return found;
}

function sources() {
  return ['core', 'bulla', 'console'].flatMap((name) =>
    readdirSync(join(root, 'packages', name, 'src'), { recursive: true })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => `packages/${name}/src/${file}`),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const all = sources().flatMap((file) => complaints(file, readFileSync(join(root, file), 'utf8')));
  for (const complaint of all) console.error(complaint);
  process.exit(all.length === 0 ? 0 : 1);
}
