// A command starts fast when it loads only what it uses. Rolldown writes the imports of a CommonJS chunk as calls of
// `require` at its top, and each use as a member of the result; this plugin lets each of them wait for its first use.
// So it decides when a module runs, and is only for sources that have no side effects when they are loaded.
import { parseAst } from 'rolldown/parseAst';

/** A plugin for Rolldown; it goes with `format: 'cjs'`. */
export function lazyRequires() {
  return {
    name: 'lazy-requires',
    renderChunk: (code) => ({ code: withLazyRequires(code), map: null }),
  };
}

/**
 * The same chunk, in which `const a = require("./a.cjs")` runs when `a` is used first. What follows as
 * `a = __toESM(a, 1)` becomes part of it. A name that stands for something else as well is left alone. No line moves.
 */
export function withLazyRequires(code) {
  const { body } = parseAst(code, { lang: 'js', sourceType: 'commonjs' });
  const required = new Map();
  for (const statement of body) {
    const found = requireOf(statement);
    if (found !== null) required.set(found.name, { statement, init: found.init });
    const wrapped = required.get(wrappedBy(statement));
    if (wrapped !== undefined) wrapped.wrapper = statement;
  }
  const all = [...required.entries()];
  const own = new Set(all.flatMap(([, { statement, wrapper }]) => [statement, wrapper]));
  const uses = [];
  const collect = (node) => collectUses(node, null, required, uses);
  for (const statement of body) if (!own.has(statement)) collect(statement);
  for (const { name, isPlain } of uses) if (!isPlain) required.delete(name);

  const edits = [];
  for (const [name, { statement, init, wrapper }] of all) {
    collect(init);
    if (required.has(name)) {
      const [before, after] = wrapper === undefined ? ['', ''] : around(code, wrapper, required);
      const text = `let ${name}$; const ${name} = () => ${name}$ ??= ${before}`;
      edits.push({ start: statement.start, end: init.start, text });
      if (wrapper === undefined) continue;
      edits.push({ start: init.end, end: init.end, text: after });
      edits.push({ start: wrapper.start, end: wrapper.end, text: '' });
    } else if (wrapper !== undefined) collect(wrapper);
  }
  // In parentheses, because of `new`.
  for (const { name, start, end } of uses)
    if (required.has(name)) edits.push({ start, end, text: `(${name}())` });
  return spliced(code, edits);
}

/** `const NAME = require("…")`, or `= runtime.__toESM(…)`, which is a package inside of the bundle, else null. */
function requireOf(statement) {
  if (statement.type !== 'VariableDeclaration' || statement.declarations.length !== 1) return null;
  const [{ id, init }] = statement.declarations;
  if (id.type !== 'Identifier' || init?.type !== 'CallExpression') return null;
  const { name, property } = init.callee;
  return name === 'require' || property?.name === '__toESM' ? { name: id.name, init } : null;
}

/** The name in `NAME = runtime.__toESM(NAME, 1)`, else null. */
function wrappedBy(statement) {
  const { type, left, right } = statement.expression ?? {};
  const isWrapper =
    type === 'AssignmentExpression' &&
    left.type === 'Identifier' &&
    right.type === 'CallExpression' &&
    right.callee.property?.name === '__toESM' &&
    right.arguments[0]?.name === left.name;
  return isWrapper ? left.name : null;
}

/** What stands before and after the call of `require` in `runtime().__toESM(require("…"), 1)`. */
function around(code, wrapper, required) {
  const { callee, arguments: given } = wrapper.expression.right;
  const runtime = callee.object.name;
  const rest = given.slice(1).map(({ start, end }) => `, ${code.slice(start, end)}`);
  return [`${runtime}${required.has(runtime) ? '()' : ''}.__toESM(`, `${rest.join('')})`];
}

/** Collects the identifiers with a name of what was required; `isPlain` are those that only read it. */
function collectUses(node, parent, required, found, isBinding = false) {
  if (node.type === 'Identifier') {
    if (!required.has(node.name) || isKey(node, parent)) return;
    const { name, start, end } = node;
    found.push({ name, start, end, isPlain: !isBinding && !parent.shorthand });
    return;
  }
  for (const [key, value] of Object.entries(node)) {
    const binds = BINDING[node.type]?.includes(key) || (isBinding && PATTERN[node.type] === key);
    for (const child of Array.isArray(value) ? value : [value])
      if (typeof child?.type === 'string') collectUses(child, node, required, found, binds);
  }
}

function isKey(node, { type, key, property, computed, shorthand }) {
  if (computed || shorthand) return false;
  if (type === 'MemberExpression') return property === node;
  return /^(?:Property|MethodDefinition|PropertyDefinition|AccessorProperty)$/.test(type) && key === node;
}

/** Where a syntax tree gives a name to something, or something to a name. */
const BINDING = {
  VariableDeclarator: ['id'],
  FunctionDeclaration: ['id', 'params'],
  FunctionExpression: ['id', 'params'],
  ArrowFunctionExpression: ['params'],
  ClassDeclaration: ['id'],
  ClassExpression: ['id'],
  CatchClause: ['param'],
  AssignmentExpression: ['left'],
  UpdateExpression: ['argument'],
  ForInStatement: ['left'],
  ForOfStatement: ['left'],
  LabeledStatement: ['label'],
  BreakStatement: ['label'],
  ContinueStatement: ['label'],
};
const PATTERN = {
  ObjectPattern: 'properties',
  ArrayPattern: 'elements',
  Property: 'value',
  AssignmentPattern: 'left',
  RestElement: 'argument',
};

function spliced(code, edits) {
  let text = '';
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    text += code.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + code.slice(at);
}
