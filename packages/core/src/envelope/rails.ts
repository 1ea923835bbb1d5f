import type { BindingPayload } from './envelope.ts';

/** Transfers on Ethereum and its like. */
export const EVM = 'EVM';
/** Calls of tools; see `toolCallEnvelope`. */
export const MCP = 'MCP';
export const TOOL_CALL = 'TOOL_CALL';

/** What is wrong with one field of an envelope. */
export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/**
 * An identifier in the form in which it is compared on a rail. An EVM address has upper and lower case digits only
 * as a checksum; taken as two addresses, one could dodge a rule about the other. All else is compared as it stands.
 */
export function comparable(railType: string, identifier: string): string {
  return railType === EVM && ADDRESS.test(identifier) ? identifier.toLowerCase() : identifier;
}

/** What must hold on every rail of a kind, whatever a policy says; a table, so that a rail adds its row. */
const invariants: ReadonlyMap<string, (envelope: BindingPayload) => FieldProblem | undefined> = new Map([
  [
    EVM,
    ({ rail, target }: BindingPayload) => {
      if (rail.chain_id === null) return at('/rail/chain_id', 'An EVM rail needs the chain id.');
      if (rail.contract !== null && !ADDRESS.test(rail.contract))
        return at('/rail/contract', 'A contract on an EVM rail is 0x and 40 hex digits.');
      if (!ADDRESS.test(target.to))
        return at('/target/to', 'A destination on an EVM rail is 0x and 40 hex digits.');
      return undefined;
    },
  ],
  [
    MCP,
    ({ action_type, rail, target }: BindingPayload) => {
      if (action_type !== TOOL_CALL) return at('/action_type', 'On an MCP rail the action is TOOL_CALL.');
      if (rail.chain_id !== null) return at('/rail/chain_id', 'A tool call has no chain id.');
      if (rail.contract === null)
        return at('/rail/contract', 'A tool call names the digest of the tool as its contract.');
      if (target.asset_class !== null) return at('/target/asset_class', 'A tool call has no asset class.');
      if (target.amount !== '0') return at('/target/amount', 'The amount of a tool call is "0".');
      if (target.decimals !== 0) return at('/target/decimals', 'The decimals of a tool call are 0.');
      return undefined;
    },
  ],
]);

function at(path: string, message: string): FieldProblem {
  return { path, message };
}

/** The first invariant of its rail that an envelope does not hold. */
export function railProblem(envelope: BindingPayload): FieldProblem | undefined {
  // Else a payment could call itself a tool call, to which destination rules do not apply.
  if (envelope.action_type === TOOL_CALL && envelope.rail.type !== MCP)
    return at('/rail/type', 'A tool call runs on an MCP rail.');
  return invariants.get(envelope.rail.type)?.(envelope);
}
