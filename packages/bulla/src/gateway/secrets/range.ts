/** Where in a text a secret of some kind was found, in UTF-16 units. */
export interface Range {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}
