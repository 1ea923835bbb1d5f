import { JsonObject, type JsonValue } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import {
  type ParamHeader,
  type ParamValue,
  paramHeaders,
  paramValues,
  type RequestFrame,
} from '../../mcp/index.ts';
import { badParams } from '../gates/params.ts';

/** The parameters of locked tools that stand in headers too (2026-07-28, Streamable HTTP, Custom Headers). */
export interface Mirrored {
  /** Tools whose definition marks them wrongly: they must not be used over HTTP. */
  readonly unusable: readonly string[];
  /**
   * What the `Mcp-Param-…` headers of a call must hold, by the locked definition of its tool. Throws a denial for an
   * argument that no header can carry.
   */
  valuesOf(tool: string, args: JsonValue): Readonly<Record<string, ParamValue>>;
}

const NONE: readonly ParamHeader[] = [];

/** A lock of the released program holds no definitions, so that nothing is known to be mirrored. */
export function mirroredOf({ native }: Lock): Mirrored {
  const known = new Map<string, readonly ParamHeader[] | null>();
  for (const [name, { definition }] of native?.tools ?? []) {
    const schema = definition instanceof JsonObject ? definition.get('inputSchema') : undefined;
    const headers = schema === undefined ? NONE : paramHeaders(schema);
    if (headers === null || headers.length > 0) known.set(name, headers);
  }
  return {
    unusable: [...known].flatMap(([name, headers]) => (headers === null ? [name] : [])),
    valuesOf(tool, args) {
      const headers = known.get(tool);
      if (!headers) return {};
      const values = paramValues(headers, args);
      if (values === null) throw badParams('An argument that stands in a header too is of another type.');
      return values;
    },
  };
}

/** The lock without some of its tools. Its digest stays that of the file. */
export function withoutTools(lock: Lock, names: readonly string[]): Lock {
  if (names.length === 0) return lock;
  const rest = <Value>(map: ReadonlyMap<string, Value>) =>
    new Map([...map].filter(([name]) => !names.includes(name)));
  const { native } = lock;
  return { ...lock, tools: rest(lock.tools), native: native && { ...native, tools: rest(native.tools) } };
}

/** The tool that a request calls, and its arguments; null for another request. */
export function calledTool({ method, params }: RequestFrame): { name: string; args: JsonValue } | null {
  const name = params?.get('name');
  if (method !== 'tools/call' || typeof name !== 'string') return null;
  return { name, args: params!.get('arguments') ?? null };
}
