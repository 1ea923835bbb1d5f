import { digest } from '../canon/index.ts';
import { BullaError } from '../error.ts';
import { type Composable, checkComposable, type Tool } from './composable.ts';
import { type Hashing, type HashOptions, hashingOf } from './hashing.ts';
import { dynamicToolkitCanonicalPayload, toolkitCanonicalPayload, toolPayload } from './payloads.ts';
import { type SchemaSource, schemaToHashInput } from './standard-schema.ts';
import { keepHash, knownHash, stateOf } from './state.ts';

/** The hashed form of a tool's schema; it is converted once. Throws as `schemaToHashInput` does. */
export function hashedSchema(tool: Tool, source: SchemaSource): unknown {
  const state = stateOf(tool)!;
  if (state.schemaSource === source) return state.schema;
  const schema = schemaToHashInput(tool.inputSchema, source);
  if (state.schemaSource === undefined) {
    state.schemaSource = source;
    state.schema = schema;
  }
  return schema;
}

/**
 * The static hash of a composable, computed once for each hashing. Throws `CAPABILITY_ARGUMENT`,
 * `CAPABILITY_SCHEMA_…`, `VALUE_…` and `CANON_…`, naming the composable that cannot be hashed. Never recurses.
 */
export function staticHash(root: Composable, options?: HashOptions): string {
  checkComposable(root);
  const hashing = hashingOf(options);
  const known = knownHash(stateOf(root)!, hashing);
  if (known !== undefined) return known;
  const open: Composable[] = [root];
  let hash = '';
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const before = open.length;
    if (top.kind === 'toolkit') {
      for (const member of top.members)
        if (knownHash(stateOf(member)!, hashing) === undefined) open.push(member);
      if (open.length > before) continue;
    }
    open.pop();
    const state = stateOf(top)!;
    const done = knownHash(state, hashing);
    hash = done ?? hashOne(top, hashing);
    if (done === undefined) keepHash(state, hashing, hash);
  }
  return hash;
}

/** The hash of a composable whose members are hashed. */
function hashOne(composable: Composable, hashing: Hashing): string {
  try {
    return digest(payloadOf(composable, hashing), hashing.profile);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const message = `The ${composable.kind} ${JSON.stringify(composable.name)} cannot be hashed: ${error.message}`;
    const where = error.path === undefined ? {} : { path: error.path };
    throw new BullaError(error.code, message, { ...where, cause: error.cause ?? error });
  }
}

/** What is hashed of a composable. Throws as `staticHash` does. */
export function staticPayload(composable: Composable, options?: HashOptions): object {
  checkComposable(composable);
  if (composable.kind === 'toolkit') staticHash(composable, options);
  return payloadOf(composable, hashingOf(options));
}

function payloadOf(composable: Composable, hashing: Hashing): object {
  const { name } = composable;
  switch (composable.kind) {
    case 'tool': {
      const { description, instructions, policies } = composable;
      const schema = hashedSchema(composable, hashing.schemaSource);
      return toolPayload({ name, description, schema, instructions, policies }, hashing.profile);
    }
    case 'toolkit': {
      const members = composable.members.map((member) => ({
        name: member.name,
        hash: knownHash(stateOf(member)!, hashing)!,
      }));
      return toolkitCanonicalPayload({ name, instructions: composable.instructions, members }, hashing);
    }
    case 'dynamicToolkit': {
      const policies = composable.policies.map(({ id }) => id);
      return dynamicToolkitCanonicalPayload(
        { name, instructions: composable.instructions, policies },
        hashing,
      );
    }
  }
}
