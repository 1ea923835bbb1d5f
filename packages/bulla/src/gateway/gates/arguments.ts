import { JsonObject } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import { type Validator, validator } from '@bulla/core/schema';
import { Denial } from '../denial.ts';
import type { Gate } from './gate.ts';

/**
 * The arguments of a tool are what its locked definition says. Where the schema cannot decide, because it says something
 * that is not understood, the server decides as it would without us. A lock of the released program holds no schemas.
 */
export function argumentsGate({ native }: Lock): Gate {
  const validators = new Map<string, Validator>();
  const validatorOf = (tool: string): Validator | null => {
    const known = validators.get(tool);
    if (known !== undefined) return known;
    const definition = native?.tools.get(tool)?.definition;
    const schema = definition instanceof JsonObject ? definition.get('inputSchema') : undefined;
    if (schema === undefined) return null;
    const made = validator(schema);
    validators.set(tool, made);
    return made;
  };
  return {
    name: 'arguments',
    rule({ frame, subject: { name, args } }) {
      const schema = frame.method === 'tools/call' && name !== null ? validatorOf(name) : null;
      if (schema === null || schema.accepts(args) !== false) return { pass: {} };
      const faults = schema.faults(args as JsonObject).join('; ');
      const message = `The arguments are not as the tool's input schema says${faults && `: ${faults}`}.`;
      // The names of arguments may be values that somebody made up; a record is for ever.
      const failure = { stage: 'arguments', code: 'GATEWAY_ARGUMENTS' } as const;
      return { deny: new Denial('arguments', 'GATEWAY_ARGUMENTS', message, { failure }) };
    },
  };
}
