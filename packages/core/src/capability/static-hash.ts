import { digest } from '../canon/index.ts';
import { BullaError } from '../error.ts';
import { type Composable, checkComposable, type Tool } from './composable.ts';
import { type Hashing, type HashOptions, hashingOf } from './hashing.ts';
import { dynamicToolkitPayload, toolkitPayload, toolPayload } from './payloads.ts';
import { type SchemaSource, schemaToHashInput } from './standard-schema.ts';
import { stateOf } from './state.ts';

/** The hashed form of a tool's schema; it is converted once. Throws as `schemaToHashInput` does. */
export function hashedSchema(tool: Tool, source: SchemaSource): unknown {
  const { schemas } = stateOf(tool)!;
  if (!schemas.has(source)) schemas.set(source, schemaToHashInput(tool.inputSchema, source));
  return schemas.get(source);
}

function knownHash(composable: Composable, hashing: Hashing): string | undefined {
  return stateOf(composable)!.hashes.get(hashing);
}

/**
 * The static hash of a composable, computed once for each hashing. Throws `CAPABILITY_ARGUMENT`,
 * `CAPABILITY_SCHEMA_…`, `VALUE_…` and `CANON_…`, naming the composable that cannot be hashed. Never recurses.
 */
export function staticHash(root: Composable, options?: HashOptions): string {
  checkComposable(root);
  const hashing = hashingOf(options);
  const open: Composable[] = [root];
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const before = open.length;
    if (knownHash(top, hashing) === undefined && top.kind === 'toolkit')
      for (const member of top.members) if (knownHash(member, hashing) === undefined) open.push(member);
    if (open.length > before) continue;
    open.pop();
    if (knownHash(top, hashing) === undefined) stateOf(top)!.hashes.set(hashing, hashOne(top, hashing));
  }
  return knownHash(root, hashing)!;
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
        hash: knownHash(member, hashing)!,
      }));
      return toolkitPayload({ name, instructions: composable.instructions, members }, hashing.profile);
    }
    case 'dynamicToolkit': {
      const policies = composable.policies.map(({ id }) => id);
      const { instructions } = composable;
      return dynamicToolkitPayload({ name, instructions, policies }, hashing.profile);
    }
  }
}
