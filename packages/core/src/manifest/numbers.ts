import { isDouble, JsonNumber, JsonObject, type JsonValue, type Path } from '../json/index.ts';

/** Whether a document holds a number that a double does not hold, digit by digit. */
export function hasInexact(root: JsonValue): boolean {
  const open: JsonValue[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (value instanceof JsonNumber) {
      if (!isDouble(value.lexeme)) return true;
    } else if (typeof value === 'object' && value !== null) {
      const members = value instanceof JsonObject ? value.values : value;
      for (let i = 0; i < members.length; i++) {
        const inner = members[i]!;
        if (typeof inner === 'object' && inner !== null) open.push(inner);
      }
    }
  }
  return false;
}

/** A step on the way to a value. */
interface Step {
  readonly value: JsonValue;
  readonly key: string | number;
  readonly up: Step | null;
}

/** The numbers that doubles do not hold, in the order of the text, with the ways to them. */
export function* inexactNumbers(root: JsonValue): Generator<{ lexeme: string; at: Path }> {
  const open: Step[] = [{ value: root, key: '', up: null }];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    const { value } = step;
    if (value instanceof JsonNumber && !isDouble(value.lexeme)) {
      const at: (string | number)[] = [];
      for (let way = step; way.up !== null; way = way.up) at.push(way.key);
      yield { lexeme: value.lexeme, at: at.reverse() };
    } else if (Array.isArray(value)) {
      for (let i = value.length - 1; i >= 0; i--) open.push({ value: value[i]!, key: i, up: step });
    } else if (value instanceof JsonObject) {
      for (let i = value.size - 1; i >= 0; i--)
        open.push({ value: value.values[i]!, key: value.keys[i]!, up: step });
    }
  }
}
