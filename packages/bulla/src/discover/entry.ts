import { BullaError } from '@bulla/core/error';
import { pointer } from '@bulla/core/json';
import type { Value, ValueMap } from './document.ts';

/** Under which keys a client writes what of a server. */
export interface Shape {
  readonly command: string;
  readonly args: string;
  readonly env: string;
  /** Names of variables that the client passes on from elsewhere. */
  readonly envNames: readonly string[];
  readonly url: readonly string[];
  readonly headers: string;
  /** Headers whose values are in variables. */
  readonly envHeaders: string | null;
  readonly bearerEnv: string | null;
  readonly cwd: string;
  /** What switches a server off: `disabled: true`, or `enabled: false`. */
  readonly off: 'disabled' | 'enabled' | null;
}

export const COMMON: Shape = {
  command: 'command',
  args: 'args',
  env: 'env',
  envNames: [],
  url: ['url'],
  headers: 'headers',
  envHeaders: null,
  bearerEnv: null,
  cwd: 'cwd',
  off: 'disabled',
};

/** What a client has of one server. The values of variables and headers are secrets: no output shows them. */
export interface Entry {
  /** `client` is one that the client starts in a way of its own, such as an extension. */
  readonly transport: 'stdio' | 'http' | 'client';
  readonly command: string;
  readonly args: readonly string[];
  /** Null for a value that the client takes from elsewhere. */
  readonly env: ReadonlyMap<string, string | null>;
  readonly cwd: string | null;
  readonly url: string | null;
  readonly headers: ReadonlyMap<string, string>;
  /** Headers whose values are in these variables of the environment. */
  readonly envHeaders: ReadonlyMap<string, string>;
  readonly bearerEnv: string | null;
  readonly disabled: boolean;
}

export type Path = readonly (string | number)[];

/** Reads a server's entry. Throws `DISCOVER_SHAPE` with the path for what the client would not take either. */
export function readEntry(value: Value, path: Path, shape: Shape): Entry {
  const map = asMap(value, path);
  const at = (key: string) => [...path, key];
  const { program, rest, inner } = readCommand(map, path, shape);
  const url = shape.url.map((key) => readText(map.get(key), at(key))).find((text) => text !== null) ?? null;
  const bearerEnv = shape.bearerEnv && readText(map.get(shape.bearerEnv), at(shape.bearerEnv));
  return {
    transport: program !== null ? 'stdio' : url !== null ? 'http' : 'client',
    command: program ?? '',
    args: [...rest, ...readTexts(inner.get(shape.args), at(shape.args))],
    env: new Map([
      ...shape.envNames.flatMap((key) =>
        readNames(map.get(key), at(key)).map((name) => [name, null] as const),
      ),
      ...readMap(inner.get(shape.env), at(shape.env)),
    ]),
    cwd: readText(map.get(shape.cwd), at(shape.cwd)),
    url,
    headers: readMap(map.get(shape.headers), at(shape.headers)),
    envHeaders: shape.envHeaders
      ? readMap(map.get(shape.envHeaders), at(shape.envHeaders))
      : new Map<string, string>(),
    bearerEnv: bearerEnv || null,
    disabled: shape.off !== null && map.get(shape.off) === (shape.off === 'disabled'),
  };
}

/** A program with its arguments beside it, behind it in one list, or with both in an object of their own. */
function readCommand(
  map: ValueMap,
  path: Path,
  { command }: Shape,
): { program: string | null; rest: readonly string[]; inner: ValueMap } {
  const value = map.get(command) ?? null;
  if (Array.isArray(value)) {
    const [program, ...rest] = readTexts(value, [...path, command]);
    if (!program) throw wrong([...path, command], 'a program and its arguments');
    return { program, rest, inner: map };
  }
  if (isMap(value))
    return { program: readText(value.get('path'), [...path, command]), rest: [], inner: value };
  const program = readText(value, [...path, command]);
  if (program === '') throw wrong([...path, command], 'a program');
  return { program, rest: [], inner: map };
}

export function isMap(value: Value | undefined): value is ValueMap {
  return value instanceof Map;
}

/** Throws `DISCOVER_SHAPE`. */
export function asMap(value: Value | undefined, path: Path): ValueMap {
  if (isMap(value)) return value;
  throw wrong(path, 'an object');
}

function readText(value: Value | undefined, path: Path): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  throw wrong(path, 'a text');
}

/** The texts of a list; nothing for none. Throws `DISCOVER_SHAPE`. */
export function readTexts(value: Value | undefined, path: Path): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrong(path, 'a list of texts');
  return value.map((item: Value, i) => {
    if (typeof item === 'string') return item;
    throw wrong([...path, i], 'a text');
  });
}

/** Names, or objects that hold one. */
function readNames(value: Value | undefined, path: Path): string[] {
  if (!Array.isArray(value)) return readTexts(value, path);
  return readTexts(
    value.map((item: Value) => (isMap(item) ? (item.get('name') ?? null) : item)),
    path,
  );
}

/** Values that are no texts are written as texts: clients do so too, and nobody sees them here. */
function readMap(value: Value | undefined, path: Path): Map<string, string> {
  if (value === undefined || value === null) return new Map();
  return new Map(
    [...asMap(value, path)].map(([name, text]) => {
      if (typeof text === 'object' && text !== null) throw wrong([...path, name], 'a text');
      return [name, text === null ? '' : String(text)];
    }),
  );
}

function wrong(path: Path, what: string): BullaError {
  return new BullaError('DISCOVER_SHAPE', `Here ${what} is expected.`, { path: pointer(path) });
}
