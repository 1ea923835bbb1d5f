import { type Composable, type DynamicToolkit, made, memberList, type Toolkit } from './composable.ts';
import type { ToolPipelineHooks } from './hooks.ts';
import { checkName, isText, lineList, wrongArgument } from './names.ts';
import { policyList, type SharedPolicy } from './policy.ts';
import { staticHash } from './static-hash.ts';

export interface ToolkitOptions {
  readonly name: string;
  /** Text for the model, as one piece or as lines in their order; hashed as it is given. */
  readonly instructions?: string | readonly string[] | null | undefined;
  /** They look on at all tools inside. */
  readonly hooks?: ToolPipelineHooks | undefined;
}

/**
 * Puts tools and toolkits together. Throws `CAPABILITY_ARGUMENT`,
 * `CAPABILITY_NAME_COLLISION` for two members of one name, and `CAPABILITY_VALUE`.
 */
export function toolkit<Env = unknown>(
  members: readonly Composable<Env>[],
  options: ToolkitOptions,
): Toolkit<Env> {
  const { name, instructions = null, hooks } = options;
  checkName(name, 'The name of a toolkit');
  const self: Toolkit<Env> = {
    kind: 'toolkit',
    name,
    instructions:
      instructions === null || isText(instructions) ? instructions : lineList(instructions as string[]),
    members: memberList(members, name),
    hooks,
    computeStaticHash: (hashing) => staticHash(self, hashing),
  };
  return made(self);
}

export interface DynamicToolkitOptions<Env> extends Omit<ToolkitOptions, 'instructions'> {
  readonly instructions?: readonly string[] | null | undefined;
  /** They gate `create`: where one denies, it is not called. */
  readonly policies?: readonly SharedPolicy<Env>[] | undefined;
  /** Makes the members, at every evaluation. */
  readonly create: DynamicToolkit<Env>['create'];
}

/**
 * A toolkit whose members are made at evaluation. Its static hash knows none of them; the runtime hash knows each of
 * them by its own. Throws `CAPABILITY_ARGUMENT`.
 */
export function dynamicToolkit<Env = unknown>(options: DynamicToolkitOptions<Env>): DynamicToolkit<Env> {
  const { name, instructions = null, hooks, create } = options;
  checkName(name, 'The name of a toolkit');
  if (typeof create !== 'function')
    wrongArgument('A dynamic toolkit needs a function that makes its members.', '/create');
  const self: DynamicToolkit<Env> = {
    kind: 'dynamicToolkit',
    name,
    instructions: instructions === null ? null : lineList(instructions),
    policies: policyList(options.policies),
    hooks,
    create,
    computeStaticHash: (hashing) => staticHash(self, hashing),
  };
  return made(self);
}
