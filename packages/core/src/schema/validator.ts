import type { JsonObject, JsonValue } from '../json/index.ts';
import { type Part, SchemaDocument } from './document.ts';
import { Prover } from './prover.ts';
import { quote } from './sentence.ts';

/** A schema that is read once and asked about many values. */
export interface Validator {
  /** Whether it accepts a value; undefined where it says something that is not understood, or too many steps are needed. */
  accepts(value: JsonValue): boolean | undefined;
  /**
   * What is wrong with an object that it refuses, as far as that lies in one member: names of members, never values.
   * Empty where the members are wrong only together.
   */
  faults(object: JsonObject): string[];
}

const MAX_STEPS = 100_000;
const MAX_FAULTS = 5;

export function validator(schema: JsonValue): Validator {
  const { root } = new SchemaDocument('s', schema);
  const accepts = (parts: readonly Part[], value: JsonValue) => new Prover(MAX_STEPS).accepts(parts, value);
  return {
    accepts: (value) => accepts([root], value),
    faults(object) {
      const whole = new Prover(MAX_STEPS).together([root]);
      if (whole === undefined) return [];
      const found: string[] = [];
      for (const name of whole.required) if (!object.has(name)) found.push(`${quote(name)} is missing`);
      for (const [name, value] of object) {
        if (found.length > MAX_FAULTS) break;
        const refuses = whole.views.some(({ properties, patternProperties, additional }) => {
          const own = properties.get(name);
          if (own !== undefined) return accepts([own], value) === false;
          return patternProperties.size === 0 && additional && accepts([additional], value) === false;
        });
        if (!refuses) continue;
        const isKnown = whole.views.some(({ properties }) => properties.has(name));
        found.push(isKnown ? `${quote(name)} is not as described` : `${quote(name)} is not known`);
      }
      return found.slice(0, MAX_FAULTS);
    },
  };
}
