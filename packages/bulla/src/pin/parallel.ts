/**
 * Does something with each item, a limited number at a time. After a failure no other item is begun; when those that
 * were begun have ended, it rejects with the first failure.
 */
export async function eachOf<Item>(
  items: Iterable<Item>,
  concurrent: number,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const failures: unknown[] = [];
  const work = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      try {
        await act(item);
      } catch (error) {
        failures.push(error);
        queue.length = 0;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrent }, work));
  if (failures.length > 0) throw failures[0];
}
