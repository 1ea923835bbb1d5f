/** What of the calls of a tool is kept beside the chain, where it can be erased. */
export interface RecordRules {
  readonly arguments?: boolean | undefined;
  readonly result?: boolean | undefined;
  /** JSON Pointers into both: what they lead to is not kept, nor what looks like a secret anywhere else. */
  readonly redact?: readonly string[] | undefined;
}

/** What the operator says of one tool. */
export interface ToolRules {
  /** Default: only commitments are kept. */
  readonly record?: RecordRules | undefined;
}
