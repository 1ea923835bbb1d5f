/**
 * The nodes of a graph that lead back to themselves, each with a node that stands for its circle: its strongly connected
 * component (Tarjan). Takes linear time and never recurses.
 */
export function circles<Node>(
  nodes: Iterable<Node>,
  next: (node: Node) => readonly Node[],
): ReadonlyMap<Node, Node> {
  const circle = new Map<Node, Node>();
  const order = new Map<Node, number>();
  const low = new Map<Node, number>();
  const waiting: Node[] = [];
  const isWaiting = new Set<Node>();
  const path: { readonly node: Node; readonly steps: Node[]; loops: boolean }[] = [];
  const visit = (node: Node) => {
    low.set(node, order.size);
    order.set(node, order.size);
    waiting.push(node);
    isWaiting.add(node);
    path.push({ node, steps: [...next(node)], loops: false });
  };
  const lower = (node: Node, reached: number) => low.set(node, Math.min(low.get(node)!, reached));
  for (const root of nodes) {
    if (!order.has(root)) visit(root);
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      const { node, steps } = at;
      const target = steps.pop();
      if (target !== undefined) {
        if (target === node) at.loops = true;
        if (!order.has(target)) visit(target);
        else if (isWaiting.has(target)) lower(node, order.get(target)!);
        continue;
      }
      path.pop();
      const outer = path.at(-1)?.node;
      if (outer !== undefined) lower(outer, low.get(node)!);
      if (low.get(node) !== order.get(node)) continue;
      const members = waiting.splice(waiting.lastIndexOf(node));
      for (const member of members) {
        isWaiting.delete(member);
        if (members.length > 1 || at.loops) circle.set(member, node);
      }
    }
  }
  return circle;
}
