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
    if (found !== null) required.set(found.name, { statement, call: textOf(code, found.call) });
    const wrapped = required.get(wrappedBy(statement));
    if (wrapped !== undefined) wrapped.wrapper = statement;
  }
  const own = new Set([...required.values()].flatMap(({ statement, wrapper }) => [statement, wrapper]));
  const uses = [];
  for (const statement of body) if (!own.has(statement)) collectUses(statement, null, required, uses);
  for (const { name, isPlain } of uses) if (!isPlain) required.delete(name);

  // In parentheses, because of `new`.
  const edits = uses
    .filter(({ name }) => required.has(name))
    .map(({ name, start, end }) => ({ start, end, text: `(${name}())` }));
  for (const [name, { statement, call, wrapper }] of required) {
    const value = wrapper === undefined ? call : wrappedCall(code, wrapper.expression.right, call, required);
    edits.push({ ...statement, text: `let ${name}$; const ${name} = () => ${name}$ ??= ${value};` });
    if (wrapper !== undefined) edits.push({ ...wrapper, text: '' });
  }
  return spliced(code, edits);
}

/** `const NAME = require("…")`, else null. */
function requireOf(statement) {
  if (statement.type !== 'VariableDeclaration' || statement.declarations.length !== 1) return null;
  const [{ id, init }] = statement.declarations;
  const isRequire =
    id.type === 'Identifier' &&
    init?.type === 'CallExpression' &&
    init.callee.type === 'Identifier' &&
    init.callee.name === 'require';
  return isRequire ? { name: id.name, call: init } : null;
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

/** `runtime().__toESM(require("…"), 1)`. */
function wrappedCall(code, { callee, arguments: given }, call, required) {
  const runtime = callee.object.name;
  const rest = given.slice(1).map((argument) => `, ${textOf(code, argument)}`);
  return `${runtime}${required.has(runtime) ? '()' : ''}.__toESM(${call}${rest.join('')})`;
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

function textOf(code, { start, end }) {
  return code.slice(start, end);
}

function spliced(code, edits) {
  let text = '';
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    text += code.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + code.slice(at);
}
