/** Unicode's name for a normalization form. */
export type Form = 'NFC' | 'NFD' | 'NFKC' | 'NFKD';

/**
 * More marks on one letter than any writing has (UAX #15 §13). The two of Japanese are letters whose compatibility
 * forms are marks.
 */
const MANY_MARKS = /[\p{M}\uff9e\uff9f]{31,}/gu;

/**
 * `text.normalize(form)` in time that grows as the text: engines sort the marks of a letter by insertion, which takes
 * quadratic time for many of them (UAX #15 §1.3). Here marks that are many are put into their order first.
 */
export function normalized(text: string, form: Form): string {
  const apart = form === 'NFC' || form === 'NFD' ? 'NFD' : 'NFKD';
  return text.replace(MANY_MARKS, (run) => ordered(run, apart)).normalize(form);
}

/** The marks decomposed, in canonical order. What has no class stays in its place, and no mark passes it. */
function ordered(run: string, form: 'NFD' | 'NFKD'): string {
  const marks = [...run].flatMap((mark) => [...mark.normalize(form)]);
  const classes = classesOf(new Set(marks));
  let out = '';
  let byClass: string[] = [];
  for (const mark of marks) {
    const rank = classes.get(mark);
    if (rank !== undefined) byClass[rank] = (byClass[rank] ?? '') + mark;
    else {
      out += byClass.join('') + mark;
      byClass = [];
    }
  }
  return out + byClass.join('');
}

/** The combining classes of marks, as numbers of their order. A pair of marks that the engine exchanges tells it. */
function classesOf(marks: ReadonlySet<string>): Map<string, number> {
  const follows = (a: string, b: string) => (a + b).normalize('NFD') === b + a && a !== b;
  // U+0345 has the highest class and is alone in it.
  const inOrder = [...marks]
    .filter((mark) => mark === '\u0345' || follows('\u0345', mark))
    .sort((a, b) => Number(follows(a, b)) - Number(follows(b, a)));
  let rank = 0;
  return new Map(
    inOrder.map((mark, i) => {
      if (i > 0 && follows(mark, inOrder[i - 1]!)) rank++;
      return [mark, rank];
    }),
  );
}
