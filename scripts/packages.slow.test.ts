import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { extract } from 'tar';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const NAMES = ['@bulla/core', 'bulla'] as const;
/** A project of somebody else, in which the tarballs are installed. */
const project = mkdtempSync(join(tmpdir(), 'bulla-packages-'));
const modules = join(project, 'node_modules');
afterAll(() => rmSync(project, { recursive: true, force: true }));

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin?: Record<string, string>;
  readonly dependencies: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
  readonly exports: Record<string, string | Record<string, string>>;
}
const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'));
const filesOf = (name: string): string[] =>
  readdirSync(join(modules, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(modules, name).length + 1));

/** Makes a package of the workspace resolvable in the project. */
function link(name: string): void {
  const path = join(modules, name);
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(root, 'node_modules', name), path, 'junction');
}

beforeAll(() => {
  const folders = ['packages/core', 'packages/bulla'].flatMap((folder) => ['-w', folder]);
  const output = execFileSync(
    process.platform === 'win32' ? 'npm.cmd' : 'npm',
    ['pack', ...folders, '--json', '--ignore-scripts', '--pack-destination', project],
    { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const packed: { name: string; filename: string }[] = Object.values(JSON.parse(output));
  for (const { name, filename } of packed) {
    const folder = join(modules, name);
    mkdirSync(folder, { recursive: true });
    extract({
      file: join(project, filename.replace('@', '').replace('/', '-')),
      cwd: folder,
      strip: 1,
      sync: true,
    });
  }
  // What the packages say that they need, and nothing else, as npm would have it.
  for (const name of NAMES) {
    const { dependencies, optionalDependencies } = manifestOf(name);
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (!(NAMES as readonly string[]).includes(needed)) link(needed);
    }
  }
  link('@types/node');
  writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}');
});

describe.each(NAMES)('the tarball of %s', (name) => {
  test('has its README and the licence, and neither tests, sources nor maps', () => {
    const files = filesOf(name);
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    expect(readFileSync(join(modules, name, 'LICENSE'), 'utf8')).toBe(
      readFileSync(join(root, 'LICENSE'), 'utf8'),
    );
    const rest = files.filter((file) => !/^(?:LICENSE|README\.md|package\.json)$/.test(file));
    const schemas = name === 'bulla' ? ['schema/bulla.schema.json'] : [];
    expect(rest.filter((file) => !/^dist\/.*\.(?:c?js|d\.ts)$/.test(file))).toEqual(schemas);
    expect(rest.filter((file) => /\.test\.|(?:^|\/)test\//.test(file))).toEqual([]);
  });

  test('has every file that its exports and its command name, with their types', () => {
    const { exports, bin = {} } = manifestOf(name);
    const files = new Set(filesOf(name));
    for (const [path, targets] of Object.entries(exports)) {
      if (typeof targets === 'string' || path.includes('*')) continue;
      for (const condition of ['types', 'default'])
        expect(files, `${path} ${condition}`).toContain(targets[condition]!.slice(2));
    }
    for (const file of Object.values(bin)) {
      const command = join(modules, name, file);
      expect(readFileSync(command, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
      if (process.platform !== 'win32') expect(statSync(command).mode & 0o111).toBe(0o111);
    }
  });

  test('names exact versions, and that of its own kind', () => {
    const { version, dependencies } = manifestOf(name);
    expect(version).toBe(manifestOf('bulla').version);
    for (const [needed, range] of Object.entries(dependencies)) {
      if (needed === '@bulla/core') expect(range).toBe(version);
      else expect(range, needed).toMatch(/^\d+\.\d+\.\d+$/);
    }
  });
});

/** The programs in the READMEs of the packages, and all doors of the library. */
function programs(): Record<string, string> {
  const snippet = (name: string) =>
    /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(modules, name, 'README.md'), 'utf8'))![1]!;
  const doors = NAMES.flatMap((name) =>
    Object.keys(manifestOf(name).exports)
      .filter((path) => !path.includes('*') && !path.startsWith('./adapters') && !path.endsWith('.json'))
      .map((path) => name + path.slice(1)),
  );
  const core = ['canon', 'capsule', 'crypto', 'json', 'lock', 'log'].map((folder) => `@bulla/core/${folder}`);
  const all = [...doors, ...core];
  return {
    'core.ts': snippet('@bulla/core'),
    'bulla.ts': snippet('bulla'),
    'doors.ts': [
      ...all.map((door, i) => `import * as door${i} from '${door}';`),
      "import { BullaError } from 'bulla';",
      "import { BullaError as CoreError } from '@bulla/core';",
      `const doors = [${all.map((_, i) => `door${i}`).join(', ')}];`,
      `console.log(doors.filter((door) => Object.keys(door).length > 0).length); // ${all.length}`,
      'console.log(BullaError === CoreError); // true',
      '',
    ].join('\n'),
  };
}

describe('a fresh TypeScript project', () => {
  beforeAll(() => {
    for (const [file, text] of Object.entries(programs())) writeFileSync(join(project, file), text);
  });

  test.each([
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ])('compiles against the types, strictly, with module %s and resolution %s', (module, moduleResolution) => {
    // Our declarations are checked once, with those of Node; nobody needs those of a browser.
    const skipLibCheck = moduleResolution === 'bundler';
    const options = {
      ...{ module, moduleResolution, target: 'es2024', strict: true, skipLibCheck },
      ...{ noEmit: true, types: ['node'], lib: ['es2024'], exactOptionalPropertyTypes: true },
    };
    const file = join(project, `tsconfig.${moduleResolution}.json`);
    writeFileSync(file, JSON.stringify({ compilerOptions: options, files: Object.keys(programs()) }));
    const { stdout } = spawnSync(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', file],
      { encoding: 'utf8' },
    );
    expect(stdout).toBe('');
  });

  test.each(['core.ts', 'bulla.ts', 'doors.ts'])('runs %s, which prints what its comments say', (file) => {
    const text = programs()[file]!;
    const { stdout, stderr } = spawnSync(process.execPath, [join(project, file)], {
      cwd: project,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const comments = [...text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]);
    expect(stdout.trimEnd().split('\n')).toEqual(comments);
  });

  test('has the command', () => {
    const { status, stdout } = spawnSync(
      process.execPath,
      [join(modules, 'bulla', manifestOf('bulla').bin!.bulla!), 'canon'],
      { cwd: project, input: '{"b":1.0,"a":2}', encoding: 'utf8' },
    );
    expect([status, stdout]).toEqual([0, '{"a":2,"b":1}']);
  });
});
