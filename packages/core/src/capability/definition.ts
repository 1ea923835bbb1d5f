import { pointer } from '../json/index.ts';
import { type Composable, checkComposable } from './composable.ts';
import { type HashOptions, hashingOf } from './hashing.ts';
import { isOpaqueSchema } from './standard-schema.ts';
import { staticHash } from './static-hash.ts';

/** The static hashes of all tools of a definition, in the order of declaration; twins each have their own row. */
export function collectToolStaticHashes(
  root: Composable,
  options?: HashOptions,
): readonly {
  readonly place: string;
  readonly toolKey: string;
  readonly toolHash: string;
  readonly opaque: boolean;
}[] {
  checkComposable(root);
  const { schemaSource } = hashingOf(options);
  return everyComposable(root).flatMap(({ composable, place }) => {
    if (composable.kind !== 'tool') return [];
    const opaque = isOpaqueSchema(composable.inputSchema, schemaSource);
    return [{ place, toolKey: composable.name, toolHash: staticHash(composable, options), opaque }];
  });
}

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
