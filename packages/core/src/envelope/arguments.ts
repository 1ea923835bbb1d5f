import { BullaError } from '../error.ts';
import {
  type Check,
  JsonNumber,
  JsonObject,
  type JsonValue,
  list,
  type Path,
  parsePointer,
  pointer,
  text,
} from '../json/index.ts';
import { bindingFields, type Envelope } from './envelope.ts';

// Which arguments of a tool must be which fields of an envelope, so that the tool runs only with the approved values.

/** A place among the arguments: bound to a field, left free, or on the way to such nodes. */
type Node = { readonly field: string } | 'free' | Map<string, Node>;

declare const checked: unique symbol;

/** A mapping that was read exactly; only `readMapping` makes one. */
export interface ArgumentMapping {
  readonly nodes: Map<string, Node>;
  /** The fields whose values do not follow from the arguments, such as the action. */
  readonly fixed: ReadonlyMap<string, JsonValue>;
  readonly [checked]: true;
}

/** The pointers of all binding fields. */
const FIELDS: ReadonlySet<string> = new Set(
  Object.entries(bindingFields).flatMap(([name, field]) =>
    isCheck(field) ? [`/${name}`] : Object.keys(field).map((inner) => `/${name}/${inner}`),
  ),
);

function isCheck(field: object): field is Check {
  return 'run' in field;
}

const MAX_ARGUMENTS = 256;
const MAX_DEPTH = 16;
const MEMBERS = ['bind', 'free', 'fixed'];
const freeList = list(text(1, 4096), 0, MAX_ARGUMENTS);

/**
 * Reads a mapping: `{"bind": {"/to": "/target/to"}, "free": ["/memo"], "fixed": {"/action_type": "TRANSFER"}}`, from
 * JSON Pointers into the arguments to JSON Pointers of binding fields. Arguments under `free` may have any value or be
 * absent; `fixed` are values of fields, without which an envelope of another kind could approve the same arguments. Throws
 * `EE_ARGS_MAPPING` with the path for anything else: an unknown member, a pointer that is none, a field that does
 * not exist or is not binding, a pointer that stands there twice or leads through another.
 */
export function readMapping(value: JsonValue): ArgumentMapping {
  if (!(value instanceof JsonObject) || value.keys.some((key) => !MEMBERS.includes(key)))
    throw badMapping('A mapping is an object of bind, free and fixed.', []);
  const bind = value.get('bind');
  const free = value.get('free') ?? [];
  const fixed = value.get('fixed') ?? new JsonObject();
  if (!(bind instanceof JsonObject) || bind.size > MAX_ARGUMENTS)
    throw badMapping(`This must be an object of at most ${MAX_ARGUMENTS} pointers.`, ['bind']);
  freeList.run(free, ['free'], (_, at, sentence) => {
    throw badMapping(sentence, at);
  });
  const nodes = new Map<string, Node>();
  for (const [argument, field] of bind) {
    const at = ['bind', argument];
    if (typeof field !== 'string' || !FIELDS.has(field))
      throw badMapping('This is not the pointer of a field that binds.', at);
    setLeaf(nodes, argument, { field }, at);
  }
  for (const [i, argument] of (free as string[]).entries()) setLeaf(nodes, argument, 'free', ['free', i]);
  if (!(fixed instanceof JsonObject)) throw badMapping('This must be an object of fields.', ['fixed']);
  for (const [field, fixedValue] of fixed) {
    if (!FIELDS.has(field))
      throw badMapping('This is not the pointer of a field that binds.', ['fixed', field]);
    const isScalar =
      fixedValue === null || typeof fixedValue === 'string' || fixedValue instanceof JsonNumber;
    if (!isScalar) throw badMapping('A field is a string, a number or null.', ['fixed', field]);
  }
  return { nodes, fixed: new Map(fixed) } as unknown as ArgumentMapping;
}

function badMapping(sentence: string, at: Path): BullaError {
  return new BullaError('EE_ARGS_MAPPING', sentence, { path: pointer(at) });
}

/** Sets the leaf at a pointer (RFC 6901). */
function setLeaf(root: Map<string, Node>, argument: string, leaf: Node, at: Path): void {
  const segments = parsePointer(argument);
  if (segments === null || segments.length === 0)
    throw badMapping('This is not a JSON Pointer to an argument.', at);
  if (segments.length > MAX_DEPTH) throw badMapping(`A pointer has at most ${MAX_DEPTH} steps.`, at);
  const last = segments.pop()!;
  let node = root;
  for (const segment of segments) {
    const next = node.get(segment) ?? new Map<string, Node>();
    if (!(next instanceof Map)) throw badMapping('The pointer leads through another one.', at);
    node.set(segment, next);
    node = next;
  }
  if (node.has(last)) throw badMapping('The pointer stands here twice, or another one leads through it.', at);
  node.set(last, leaf);
}

/**
 * Checks that the fixed fields of an envelope are as the mapping says, which throws `EE_ARGS_MISMATCH` with the pointer of
 * the field, and that the arguments of a call are what the envelope says. Every argument must be bound or free. A string
 * must be the field's string, an integer the field's digits, null its null; for the amount, which is a string of
 * digits in the envelope, an integer of the same digits passes too. Throws with the pointer of the argument:
 * `EE_ARGS_UNBOUND` for one that the mapping does not name, `EE_ARGS_MISSING` for one that is not there, and
 * `EE_ARGS_MISMATCH` for another value than the approved one.
 */
export function bindArguments(mapping: ArgumentMapping, args: JsonValue, envelope: Envelope): void {
  for (const [field, value] of mapping.fixed) {
    if (!isApproved(value, field, envelope))
      throw new BullaError('EE_ARGS_MISMATCH', 'The envelope is of another kind.', { path: field });
  }
  bindNodes(mapping.nodes, args, [], envelope);
}

/** Recurses along the mapping, whose depth is limited, never along the arguments. */
function bindNodes(nodes: Map<string, Node>, args: JsonValue, at: Path, envelope: Envelope): void {
  const given = childrenOf(args);
  if (given === undefined)
    throw mismatch('This must be an object or a list, as the mapping has arguments inside it.', at);
  for (const key of given.keys()) {
    if (!nodes.has(key))
      throw new BullaError('EE_ARGS_UNBOUND', 'The approval says nothing about this argument.', {
        path: pointer([...at, key]),
      });
  }
  for (const [key, inner] of nodes) {
    if (inner === 'free') continue;
    const where = [...at, key];
    const value = given.get(key);
    if (value === undefined)
      throw new BullaError('EE_ARGS_MISSING', 'The argument is missing.', { path: pointer(where) });
    if (inner instanceof Map) bindNodes(inner, value, where, envelope);
    else if (!isApproved(value, inner.field, envelope))
      throw mismatch(`The argument is not the approved ${inner.field}.`, where);
  }
}

function mismatch(sentence: string, at: Path): BullaError {
  return new BullaError('EE_ARGS_MISMATCH', sentence, { path: pointer(at) });
}

/** The members of an object, or the elements of a list by their index. */
function childrenOf(value: JsonValue): Map<string, JsonValue> | undefined {
  if (value instanceof JsonObject) return new Map(value);
  if (Array.isArray(value)) return new Map(value.map((element, i) => [`${i}`, element]));
  return undefined;
}

function isApproved(value: JsonValue, field: string, envelope: Envelope): boolean {
  const [outer, inner] = field.slice(1).split('/') as [keyof Envelope, string | undefined];
  const part = envelope[outer] as unknown;
  const approved = inner === undefined ? part : (part as Record<string, string | number | null>)[inner];
  if (value instanceof JsonNumber)
    return (typeof approved === 'number' || field === '/target/amount') && value.lexeme === `${approved}`;
  return value === approved;
}
