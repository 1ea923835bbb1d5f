import { expect, test } from 'vitest';
import { type Drift, type DriftOptions, drift, type Lock, readLock, writeLock } from '../src/lock/index.ts';
import { options, type SurfaceText, surface, utf8 } from './surface.ts';

/** The lock of a surface, as it is read back from its file. */
export function lockOf(text: SurfaceText, more: Partial<typeof options> = {}): Lock {
  return readLock(utf8(writeLock(surface(text), { ...options, ...more }).text));
}

/** How a server drifted, reached as it was when it was locked. */
export function between(before: SurfaceText, after: SurfaceText, more: DriftOptions = {}): Drift {
  return drift(lockOf(before), surface(after), { identity: options.identity, ...more });
}

/** Each difference as `severity code path`, with `prose` where it is. */
export function lines({ items }: Drift): string[] {
  return items.map(
    ({ severity, code, path, prose }) => `${severity} ${code} ${path}${prose ? ' prose' : ''}`,
  );
}

/** A change, and the lines of all that is told of it. */
export type Case = readonly [
  name: string,
  before: SurfaceText,
  after: SurfaceText,
  expected: readonly string[],
];

/** Tests each change alone. */
export function check(cases: readonly Case[]): void {
  test.each(cases)('%s', (_, before, after, expected) => {
    expect(lines(between(before, after))).toEqual(expected);
  });
}

export type Members = Readonly<Record<string, unknown>>;

/** A tool as JSON text. */
export function tool(name: string, members: Members = {}): string {
  return JSON.stringify({ name, inputSchema: { type: 'object' }, ...members });
}

/** A tool with a description and one argument. */
export const READ = {
  description: 'Reads a file.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string', description: 'Where it lies' } },
    required: ['path'],
  },
};

export function read(members: Members = {}): string {
  return tool('read', { ...READ, ...members });
}
