import type { JsonValue, Path } from '../../json/index.ts';
import { pathTo, walk } from './walk.ts';

/** A place in a definition that points to content elsewhere. */
export interface Pointed {
  readonly uri: string;
  readonly at: Path;
}

/**
 * The addresses in a definition behind which content lies that could change under an unchanged digest: `src`
 * of an icon, and every string that begins with `ui://`, which names a page that the host shows. A `data:`
 * address holds its content itself.
 */
export function pointedContent(definition: JsonValue, at: Path): Pointed[] {
  const found: Pointed[] = [];
  walk(definition, (value, key, above) => {
    if (typeof value !== 'string') return;
    const isIcon = key === 'src' && above.above?.key === 'icons' && typeof above.key === 'number';
    if (value.startsWith('ui://') || (isIcon && !value.startsWith('data:')))
      found.push({ uri: value, at: [...at, ...pathTo(key, above)] });
  });
  return found;
}
