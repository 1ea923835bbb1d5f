import type { Composable } from './composable.ts';
import type { Hashing } from './hashing.ts';
import type { SchemaSource } from './standard-schema.ts';

/** What is remembered of a composable. It cannot change, so what was computed of it once holds. */
interface State {
  readonly composable: Composable;
  /** How many levels of toolkits it has. */
  readonly level: number;
  /** The hash under the hashing that was asked for first, and under others. */
  hashing: Hashing | undefined;
  hash: string;
  others: Map<Hashing, string> | undefined;
  /** The hashed form of a tool's schema, from the source that was asked for first. */
  schemaSource: SchemaSource | undefined;
  schema: unknown;
  /** What is called, where no toolkit has hooks. */
  spec: object | undefined;
}

/** By the composable, and by each spec that was made of it. Nothing that was only copied from them is in it. */
const states = new WeakMap<object, State>();

/** Notes that a composable was made here. */
export function remember(composable: Composable, level: number): void {
  states.set(composable, {
    composable,
    level,
    hashing: undefined,
    hash: '',
    others: undefined,
    schemaSource: undefined,
    schema: undefined,
    spec: undefined,
  });
}

/** Notes that a spec was made of a tool. */
export function rememberSpec(spec: object, state: State): void {
  states.set(spec, state);
}

/** What is remembered of a composable or a spec; undefined for what was not made here. */
export function stateOf(made: object): State | undefined {
  return states.get(made);
}

export function knownHash(state: State, hashing: Hashing): string | undefined {
  return state.hashing === hashing ? state.hash : state.others?.get(hashing);
}

export function keepHash(state: State, hashing: Hashing, hash: string): void {
  if (state.hashing === undefined) {
    state.hashing = hashing;
    state.hash = hash;
  } else {
    state.others ??= new Map();
    state.others.set(hashing, hash);
  }
}
