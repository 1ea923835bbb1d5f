import { type Lock, matchNames } from '@bulla/core/lock';
import type { Surface } from '../mcp/index.ts';

/** Which of the tools are approved. */
export interface ToolChoice {
  /** These alone; `*` stands for any text. */
  readonly only?: readonly string[] | undefined;
  readonly except?: readonly string[] | undefined;
  /** Asks a person which of the tools may be used; `before` are those that were left out so far. */
  readonly choose?:
    | ((tools: Surface['tools'], before: ReadonlySet<string>) => Promise<ReadonlySet<string>>)
    | undefined;
}

/** Whether a choice was asked for; without one, that of the lockfile stands. */
export function isChoosing({ only, except, choose }: ToolChoice): boolean {
  return only !== undefined || except !== undefined || choose !== undefined;
}

/** The names of the tools that are left out on purpose. Throws `LOCK_SELECTION` for a name that no tool has. */
export async function leftOutOf(
  { tools }: Surface,
  old: Lock | null,
  choice: ToolChoice,
): Promise<ReadonlySet<string>> {
  const names = tools.map((tool) => tool.get('name') as string);
  const before = new Set(names.filter((name) => old?.native?.leftOut.has(name)));
  if (!isChoosing(choice)) return before;
  const { only = ['*'], except = [], choose } = choice;
  const named = names.length === 0 && choice.only === undefined ? new Set<string>() : matchNames(only, names);
  for (const name of matchNames(except, names)) named.delete(name);
  const kept =
    choose === undefined
      ? named
      : await choose(
          tools.filter((tool) => named.has(tool.get('name') as string)),
          before,
        );
  return new Set(names.filter((name) => !kept.has(name)));
}
