// Holds the one direction of dependencies: console and bulla stand on core; inside a package each folder may use only
// those named here, and only through their index.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

// Inside core: json ← crypto ← canon ← text, schema, cel ← the domain modules ← evidence ← verify.
const BASE = ['json', 'crypto', 'canon'];
const TOOLS = [...BASE, 'text', 'schema', 'cel'];
const DOMAINS = ['capability', 'capsule', 'consent', 'envelope', 'lock', 'log', 'manifest', 'policy'];
// In the shell: os ← keys, mcp, store ← record ← the domain folders ← app ← gateway, server, cli.
const SHELL_BASE = ['os', 'keys', 'mcp', 'store', 'record'];
const SHELL_DOMAINS = [
  ...['adapters', 'audit', 'capability', 'chain', 'consent', 'discover', 'envelope', 'locks', 'log'],
  ...['manifest', 'pin', 'witness'],
];
const BELOW_DOORS = [...SHELL_BASE, ...SHELL_DOMAINS, 'app'];

/** Folder → the folders that it may use, by package. A circle cannot be written here unseen. */
const FOLDERS = {
  core: {
    json: [],
    crypto: ['json'],
    canon: ['json', 'crypto'],
    text: ['json'],
    schema: BASE,
    cel: ['json'],
    capability: [...BASE, 'text', 'schema'],
    capsule: BASE,
    consent: [...BASE, 'text', 'envelope', 'capsule', 'manifest'],
    envelope: [...BASE, 'cel'],
    lock: [...BASE, 'text', 'schema'],
    log: [...BASE, 'capsule'],
    manifest: [...BASE, 'text', 'schema', 'lock'],
    policy: [...BASE, 'text', 'cel', 'lock'],
    evidence: [...TOOLS, ...DOMAINS],
    verify: [...TOOLS, ...DOMAINS, 'evidence'],
    'index.ts': [...BASE, 'capsule'],
  },
  bulla: {
    os: [],
    keys: ['os'],
    mcp: ['os'],
    store: ['os', 'keys'],
    record: ['os', 'keys', 'mcp', 'store'],
    ...Object.fromEntries(SHELL_DOMAINS.map((name) => [name, SHELL_BASE])),
    adapters: [...SHELL_BASE, 'locks'],
    chain: [...SHELL_BASE, 'log'],
    consent: [...SHELL_BASE, 'manifest'],
    discover: [...SHELL_BASE, 'locks'],
    app: [...SHELL_BASE, ...SHELL_DOMAINS],
    gateway: BELOW_DOORS,
    server: BELOW_DOORS,
    cli: [...BELOW_DOORS, 'gateway', 'server'],
    'index.ts': BELOW_DOORS,
  },
};
const PACKAGES = { core: [], bulla: ['@bulla/core'], console: ['@bulla/core'] };

const TEST = /\.test\.ts$/;
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
      const table = FOLDERS[packageName];
      // A test may use what stands above what it tests.
      const isFree =
        table === undefined || folder === undefined || (packageName === 'bulla' && TEST.test(file));
      if (!isFree && !table[folder]?.includes(targetFolder))
        found.push(`${file}: ${packageName}/${folder} must not import ${packageName}/${targetFolder}`);
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
