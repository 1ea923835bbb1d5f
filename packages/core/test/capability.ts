import type { StandardSchema } from '../src/capability/index.ts';
import { BullaError } from '../src/error.ts';

/** A schema that accepts everything and can only say who made it. */
export function stub(vendor = 'test'): StandardSchema {
  return { '~standard': { version: 1, vendor, validate: (value) => ({ value }) } };
}

/** A schema that accepts everything and gives this as its JSON Schema. */
export function described(jsonSchema: unknown): StandardSchema & { toJSONSchema(): unknown } {
  return { ...stub(), toJSONSchema: () => jsonSchema };
}

/** What was thrown: its code, and its path where it has one. */
export function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return told(error);
  }
  return 'ok';
}

/** The same for a promise. */
export async function rejection(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return told(error);
  }
  return 'ok';
}

function told(error: unknown): string {
  if (!(error instanceof BullaError)) throw error;
  return error.path === undefined ? error.code : `${error.code} at ${error.path}`;
}

/** Everything that a stream gives. */
export async function drain(stream: unknown): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of stream as AsyncIterable<unknown>) values.push(value);
  return values;
}
