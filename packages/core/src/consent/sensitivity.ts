import { SENSITIVITIES, type Sensitivity } from '../manifest/index.ts';

export { SENSITIVITIES, type Sensitivity };

/** A reason to ask more than the manifest says. */
export interface Raise {
  readonly to: Sensitivity;
  readonly why: (typeof RAISES)[number];
}

/** `new`: the tool came, changed or was bound after the grant, so that the person was not shown it. */
export const RAISES = ['annotations', 'risk', 'policy', 'new'] as const;

/** The highest of the declared level and all raises: nothing lowers it. A level that is none of ours counts as high. */
export function raised(declared: Sensitivity, raises: readonly Raise[]): Sensitivity {
  let level = declared;
  for (const { to } of raises) level = highest(level, to);
  return highest(level, 'low');
}

/** The higher of two levels. */
export function highest(a: Sensitivity, b: Sensitivity): Sensitivity {
  if (a === 'low' && b === 'low') return 'low';
  return (a === 'low' || a === 'medium') && (b === 'low' || b === 'medium') ? 'medium' : 'high';
}

/** What a tool server says of a tool, in MCP's words, and what our own look at it found. */
export interface Hints {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly openWorldHint?: boolean;
  readonly risk?: 'LOW' | 'MEDIUM' | 'HIGH';
}

/**
 * The raises that hints give cause for. Only what is said counts: a tool that says nothing of itself keeps the level
 * of its scope, and one that calls itself harmless keeps it too.
 */
export function raisesOf({ readOnlyHint, destructiveHint, openWorldHint, risk }: Hints): Raise[] {
  const raises: Raise[] = [];
  if (destructiveHint === true) raises.push({ to: 'high', why: 'annotations' });
  else if (openWorldHint === true || readOnlyHint === false)
    raises.push({ to: 'medium', why: 'annotations' });
  if (risk === 'HIGH') raises.push({ to: 'high', why: 'risk' });
  else if (risk === 'MEDIUM') raises.push({ to: 'medium', why: 'risk' });
  return raises;
}
