/** The known name that somebody may have meant by a misspelt one; undefined where none is near. */
export function similar(name: string, known: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 3));
  const [nearest] = known
    .map((candidate) => ({
      candidate,
      distance: distance(name.toLowerCase(), candidate.toLowerCase(), most),
    }))
    .filter((one) => one.distance <= most)
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.candidate;
}

/** How many letters were added, left out, replaced or swapped with their neighbour; beyond `most` only that it is more. */
function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        row[j]! + 1,
        next[j - 1]! + 1,
        row[j - 1]! + (isSame ? 0 : 1),
        isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
