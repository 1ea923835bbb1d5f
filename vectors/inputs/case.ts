import type { Leniency } from '@bulla/core/json';

/** One JSON text: `input` stands for its UTF-8 bytes, `input_hex` gives bytes that are not valid UTF-8. */
export type Case = {
  readonly name: string;
  /** One sentence that names the rule. */
  readonly why: string;
  /** Rules of the strict parser that are lifted for this case. */
  readonly allow?: readonly Leniency[];
  /** Only for the parser: the limit on the size of the text. */
  readonly max_bytes?: number;
} & ({ readonly input: string } | { readonly input_hex: string });

/** A text that is refused; the code is stated here by hand, path and offset are computed. */
export type Refusal = Case & { readonly code: string };

export interface Suite {
  readonly valid: readonly Case[];
  readonly refused: readonly Refusal[];
}
