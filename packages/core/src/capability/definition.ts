import { pointer } from '../json/index.ts';
import type { Composable } from './composable.ts';

interface Placed {
  readonly composable: Composable;
  readonly place: string;
}

/** Everything that is defined, in the order of declaration. Never recurses. */
export function everyComposable(root: Composable): readonly Placed[] {
  const found: Placed[] = [];
  const open: Placed[] = [{ composable: root, place: pointer([root.name]) }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { composable, place } = next;
    found.push(next);
    if (composable.kind !== 'toolkit') continue;
    for (const member of composable.members.toReversed())
      open.push({ composable: member, place: place + pointer([member.name]) });
  }
  return found;
}
