import { pointer } from '../json/index.ts';

interface Waiting<Node, Result> {
  readonly node: Node;
  readonly members: readonly Node[];
  readonly results: Result[];
}

/** Makes something of a tree: of each node, what was made of its members is given. Never recurses. */
export function fold<Node, Result>(
  root: Node,
  membersOf: (node: Node) => readonly Node[],
  make: (node: Node, results: readonly Result[]) => Result,
): Result {
  const waiting: Waiting<Node, Result>[] = [{ node: root, members: membersOf(root), results: [] }];
  for (;;) {
    const top = waiting.at(-1)!;
    if (top.results.length < top.members.length) {
      const node = top.members[top.results.length]!;
      waiting.push({ node, members: membersOf(node), results: [] });
      continue;
    }
    waiting.pop();
    const result = make(top.node, top.results);
    const above = waiting.at(-1);
    if (above === undefined) return result;
    above.results.push(result);
  }
}

/** A node, and the names that lead to it as a JSON Pointer. */
interface Located<Node> {
  readonly node: Node;
  readonly place: string;
}

/** Every node of a tree, in the order of declaration. Never recurses. */
export function everyNode<Node extends { readonly name: string }>(
  root: Node,
  membersOf: (node: Node) => readonly Node[],
): readonly Located<Node>[] {
  const found: Located<Node>[] = [];
  const open = [{ node: root, place: pointer([root.name]) }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, place } = next;
    found.push(next);
    for (const member of membersOf(node).toReversed())
      open.push({ node: member, place: place + pointer([member.name]) });
  }
  return found;
}
