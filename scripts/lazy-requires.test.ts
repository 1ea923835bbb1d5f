import { createRequire } from 'node:module';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { withLazyRequires } from './lazy-requires.mjs';

/** Runs a chunk, and tells what it asked for, in order. */
function run(code: string, modules: Record<string, unknown> = {}) {
  const loaded: string[] = [];
  const exports: Record<string, (...args: unknown[]) => unknown> = {};
  const require = (name: string) => {
    loaded.push(name);
    return modules[name] ?? createRequire(import.meta.url)(name);
  };
  runInNewContext(withLazyRequires(code), { require, exports });
  return { exports, loaded };
}

test('a module is loaded when it is used first, and once', () => {
  const { exports, loaded } = run(
    `
    const require_a = require("./a.cjs");
    let node_path = require("node:path");
    exports.sum = (x) => require_a.one + (0, require_a.twice)(x) + node_path.join("a", "b");`,
    {
      './a.cjs': { one: 1, twice: (x: number) => 2 * x },
    },
  );
  expect(loaded).toEqual([]);
  expect([exports.sum!(2), exports.sum!(3)]).toEqual(['5a/b', '7a/b']);
  expect(loaded).toEqual(['./a.cjs', 'node:path']);
});

test('what a chunk uses while it is loaded, it gets', () => {
  const { exports, loaded } = run(
    `
    const require_a = require("./a.cjs");
    const require_b = require("./b.cjs");
    class Own extends require_a.Base {}
    exports.make = () => [new Own().name, new require_a.Base().name, require_b.x];`,
    {
      './a.cjs': {
        Base: class {
          name = 'base';
        },
      },
      './b.cjs': { x: 'b' },
    },
  );
  expect(loaded).toEqual(['./a.cjs']);
  expect(exports.make!()).toEqual(['base', 'base', 'b']);
});

test('the wrapper of a CommonJS package waits with it', () => {
  const { exports, loaded } = run(
    `
    const require_runtime = require("./runtime.cjs");
    let pg = require("pg");
    pg = require_runtime.__toESM(pg, 1);
    exports.pool = () => new pg.default.Pool().size;`,
    {
      './runtime.cjs': {
        __toESM: (found: unknown, mode: number) => (mode === 1 ? { default: found } : null),
      },
      pg: {
        Pool: class {
          size = 3;
        },
      },
    },
  );
  expect(loaded).toEqual([]);
  expect(exports.pool!()).toBe(3);
  expect(loaded).toEqual(['./runtime.cjs', 'pg']);
});

test('and so does a package inside of the bundle', () => {
  const { exports, loaded } = run(
    `
    const require_runtime = require("./runtime.cjs");
    const require_spawn = require("./spawn.cjs");
    var import_spawn = /* @__PURE__ */ require_runtime.__toESM(require_spawn.require_spawn(), 1);
    exports.start = () => (0, import_spawn.default)("x");`,
    {
      './runtime.cjs': { __toESM: (found: unknown) => ({ default: found }) },
      './spawn.cjs': { require_spawn: () => (name: string) => `started ${name}` },
    },
  );
  expect(loaded).toEqual([]);
  expect([exports.start!(), exports.start!()]).toEqual(['started x', 'started x']);
  expect(loaded).toEqual(['./runtime.cjs', './spawn.cjs']);
});

test('a wrapper that is left alone gets its runtime', () => {
  const { exports, loaded } = run(
    `
    const require_runtime = require("./runtime.cjs");
    let path = require("path");
    path = require_runtime.__toESM(path, 1);
    exports.get = (path) => path;
    exports.join = () => path.default.join("a", "b");`,
    { './runtime.cjs': { __toESM: (found: unknown) => ({ default: found }) } },
  );
  expect(loaded).toEqual(['path', './runtime.cjs']);
  expect([exports.get!('own'), exports.join!()]).toEqual(['own', 'a/b']);
});

test.each([
  ['a parameter', 'exports.get = (path) => path;'],
  ['a parameter with a default', 'exports.get = (x, { y: [path] = [x] } = {}) => path;'],
  ['a variable', 'exports.get = (x) => { const path = x; return path; };'],
  ['a caught error', 'exports.get = (x) => { try { throw x; } catch (path) { return path; } };'],
  ['a loop', 'exports.get = (x) => { for (const path of [x]) return path; };'],
  ['a function', 'exports.get = (x) => { function path() {} return x; };'],
  ['a short property', 'exports.get = (x) => { ({ path }); return x; };'],
])('a name that %s has as well is left alone', (_, use) => {
  const { exports, loaded } = run(`let path = require("path");\n${use}`);
  expect(loaded).toEqual(['path']);
  expect(exports.get!('own')).toBe('own');
});

test('a default value, a key and a text are no names', () => {
  const { exports, loaded } = run(
    `
    const require_disk = require("./disk.cjs");
    exports.open = (disk = require_disk.real) => ({ require_disk: disk, text: "require_disk.real" }).require_disk;`,
    {
      './disk.cjs': { real: 'disk' },
    },
  );
  expect(loaded).toEqual([]);
  expect([exports.open!('other'), exports.open!()]).toEqual(['other', 'disk']);
});

test('no line moves', () => {
  const code =
    'const a = require("a");\nlet b = require("b");\nb = a.__toESM(b);\n\nexports.x = () => a.x(b);\n';
  expect(withLazyRequires(code)).toBe(
    'let a$; const a = () => a$ ??= require("a");\n' +
      'let b$; const b = () => b$ ??= a().__toESM(require("b"));\n' +
      '\n\nexports.x = () => (a()).x((b()));\n',
  );
});
