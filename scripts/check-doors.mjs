// Keeps doors narrow: what the index of a folder exports must be used outside of the folder. A door that a package
// publishes may also export what documentation or examples name, and the types in the signatures of those names.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const FOLDERS = ['packages', 'bench', 'examples', 'scripts', 'vectors', 'docs'];
const PACKAGES = { core: '@bulla/core', bulla: 'bulla' };
const DOOR = /^packages\/(core|bulla)\/src\/(?:([\w-]+)\/)?index\.ts$/;
const NAMED = /\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from\s*['"]([^'"]+)['"]/g;
/** An import of a whole door: any word of the file counts as a name of it. */
const WHOLE = /\*\s+as\s+\w+\s+from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g;
/** Loads every door, and so uses none of its names. */
const LOADS_ALL = 'packages/core/test/doors.test.ts';
const SHOWN = /^examples\/|\.md$/;
const WORD = /\w+/g;

/** The names in `{ a, type B, c as d }`, each as it is called inside and outside. */
function namesIn(list) {
  const items = list.split(',').map((item) => item.trim().replace(/^type\s+/, ''));
  return items
    .filter((item) => item !== '')
    .map((item) => item.split(/\s+as\s+/))
    .map(([inside, outside = inside]) => ({ inside, outside }));
}

/** What a door exports: what it takes from other files, and what it declares. */
function exportsIn(text) {
  const named = [...text.matchAll(NAMED)].filter(([statement]) => statement.startsWith('export'));
  const declared = [...text.matchAll(/^export (?:async )?(?:function|const|class|interface|type) (\w+)/gm)];
  return [
    ...named.flatMap(([, list]) => namesIn(list)),
    ...declared.map(([, name]) => ({ inside: name, outside: name })),
  ];
}

/** The path of the file that an import names, if it is one of this repository. */
function pathOf(file, target) {
  if (target.startsWith('.')) return normalize(join(dirname(file), target)).replaceAll('\\', '/');
  for (const [folder, name] of Object.entries(PACKAGES)) {
    if (target === name) return `packages/${folder}/src/index.ts`;
    if (target.startsWith(`${name}/`))
      return `packages/${folder}/src/${target.slice(name.length + 1)}/index.ts`;
  }
  return undefined;
}

/** Whether a file lies inside the folder of a door. The door of a package has no folder of its own. */
const isInside = (file, door) => DOOR.exec(door)[2] !== undefined && file.startsWith(`${dirname(door)}/`);

/** The names that a file takes from doors, as `{ door, name }`. */
function usesIn(file, text) {
  const named = [...text.matchAll(NAMED)].map(([, list, target]) => ({
    door: pathOf(file, target),
    names: namesIn(list).map(({ inside }) => inside),
  }));
  const whole = [...text.matchAll(WHOLE)].map((match) => ({
    door: pathOf(file, match[1] ?? match[2]),
    names: text.match(WORD),
  }));
  return [...named, ...whole].filter(({ door = '' }) => DOOR.test(door) && !isInside(file, door));
}

/** The names in documentation: code that is a name or a call of it, and all words of programs. */
function namesInDocumentation(text) {
  const spans = [...text.matchAll(/`(\w+)(?:\([^`]*\))?`/g)].map(([, name]) => name);
  const programs = text.match(/^```(?:ts|js)\n[\s\S]*?^```/gm) ?? [];
  return [...spans, ...programs.flatMap((program) => program.match(WORD))];
}

/** The exported declarations of a folder, by name. Of a function this is the signature. */
function declarationsIn(texts) {
  const found = new Map();
  for (const part of texts.flatMap((text) => text.split(/^(?=export |\/\*\*)/m))) {
    const match = /^export (?:declare |abstract |async )*(\w+)\*? (\w+)/.exec(part);
    if (match === null) continue;
    found.set(match[2], match[1] === 'function' ? part.split(/ \{\n(?! +readonly)/)[0] : part);
  }
  return found;
}

/** Adds to the names those that their declarations mention, and so on. */
function withSignatures(names, declarations) {
  const all = new Set(names);
  for (const name of all) for (const word of declarations.get(name)?.match(WORD) ?? []) all.add(word);
  return all;
}

/** The complaints about a repository, given as a map from paths to texts. */
export function complaints(files) {
  const used = new Map();
  const shown = new Map();
  const documented = new Set();
  for (const [file, text] of files) {
    if (file === LOADS_ALL) continue;
    for (const { door, names } of usesIn(file, text))
      for (const map of SHOWN.test(file) ? [used, shown] : [used])
        map.set(door, new Set([...(map.get(door) ?? []), ...names]));
    if (file.endsWith('.md')) for (const name of namesInDocumentation(text)) documented.add(name);
  }

  const found = [];
  for (const [door, text] of files) {
    const [, packageFolder, folder] = DOOR.exec(door) ?? [];
    if (packageFolder === undefined) continue;
    const { exports } = JSON.parse(files.get(`packages/${packageFolder}/package.json`));
    const isPublished = (exports[folder === undefined ? '.' : `./${folder}`] ?? exports['./*']) !== undefined;
    const exported = exportsIn(text);
    const isShown = ({ outside }) => documented.has(outside) || shown.get(door)?.has(outside);
    const sources = [...files].filter(([file]) => file.startsWith(`${dirname(door)}/`));
    const open = isPublished
      ? withSignatures(
          exported.filter(isShown).map(({ inside }) => inside),
          declarationsIn(sources.map(([, source]) => source)),
        )
      : new Set();
    for (const { inside, outside } of exported)
      if (!used.get(door)?.has(outside) && !open.has(inside))
        found.push(`${door}: nobody outside the folder uses ${outside}`);
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const inside = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) => join(folder, path)),
  );
  const paths = ['README.md', ...inside.map((path) => path.replaceAll('\\', '/'))].filter(
    (path) => /\.(?:ts|mjs|md)$|\/package\.json$/.test(path) && !/\/(?:node_modules|dist)\//.test(path),
  );
  const all = complaints(new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')])));
  for (const complaint of all) console.error(complaint);
  process.exit(all.length === 0 ? 0 : 1);
}
