import type { Composable } from './composable.ts';
import type { Hashing } from './hashing.ts';
import type { SchemaSource } from './standard-schema.ts';

/** What is remembered of a composable. It cannot change, so what was computed of it once holds. */
interface State {
  readonly composable: Composable;
  /** How many levels of toolkits it has. */
  readonly level: number;
  readonly hashes: Map<Hashing, string>;
  /** The hashed forms of a tool's schema. */
  readonly schemas: Map<SchemaSource, unknown>;
  /** What is called, where no toolkit has hooks. */
  spec: object | undefined;
}

/** By the composable, and by each spec that was made of it. Nothing that was only copied from them is in it. */
const states = new WeakMap<object, State>();

/** Notes that a composable was made here. */
export function remember(composable: Composable, level: number): void {
  states.set(composable, { composable, level, hashes: new Map(), schemas: new Map(), spec: undefined });
}

/** Notes that a spec was made of a tool. */
export function rememberSpec(spec: object, state: State): void {
  states.set(spec, state);
}

/** What is remembered of a composable or a spec; undefined for what was not made here. */
export function stateOf(made: object): State | undefined {
  return states.get(made);
}
