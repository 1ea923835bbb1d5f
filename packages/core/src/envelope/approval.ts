import { BullaError } from '../error.ts';
import {
  anyObject,
  integer,
  type JsonNumber,
  type JsonObject,
  type JsonValue,
  list,
  type Path,
  pointer,
  record,
  word,
} from '../json/index.ts';

/** How an approval came about; capsules call the first one `human_approved`. */
export type ApprovalHow = 'human' | 'policy' | 'escalated';

/**
 * What a signer states of its own approval. It stands in the protected header of that signature, so that nobody can
 * state it for somebody else, and it names nobody: who approved follows from the key.
 */
export interface Approval {
  /** Unix time in seconds. */
  readonly when: number;
  readonly how: ApprovalHow;
  /** The steps that led to it, as they will stand in the capsule's `authority.chain`. */
  readonly chain: readonly JsonObject[];
}

/** The same before it is written; the steps may be plain objects. */
export interface ApprovalFields extends Omit<Approval, 'chain'> {
  readonly chain: readonly (JsonObject | { readonly [name: string]: unknown })[];
}

const approval = record({
  when: integer(0),
  how: word('human', 'policy', 'escalated'),
  chain: list(anyObject, 0, 100),
});

/** The approval in a protected header. Throws `EE_AO_HEADER` with the path below `at`. */
export function readApproval(value: JsonValue | undefined, at: Path): Approval {
  if (value === undefined)
    throw new BullaError('EE_AO_HEADER', 'A protected header states the approval of the signer.', {
      path: pointer(at),
    });
  approval.run(value, at, (_, where, sentence) => {
    throw new BullaError('EE_AO_HEADER', sentence, { path: pointer(where) });
  });
  const read = value as JsonObject;
  return Object.freeze({
    when: (read.get('when') as JsonNumber).toNumber(),
    how: read.get('how') as ApprovalHow,
    chain: Object.freeze(read.get('chain') as JsonObject[]),
  });
}
