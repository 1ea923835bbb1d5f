import type { Content, Surface as LockSurface } from '@bulla/core/lock';

/** Something that the definitions point to, as it was when the server was scanned, and how long it was. */
export type ScannedContent = Content & { readonly bytes: number };

/** Something that a reader of a lock should know, although the scan is complete. */
export interface Finding {
  /**
   * `icon_not_fetched`: fetching was not asked for; `icon_unsafe`: not https; `icon_unreadable`;
   * `content_unreadable`: a `ui://` resource that the server does not give; `stdout_noise`: the server prints what
   * is no message where only messages may stand.
   */
  readonly code:
    | 'icon_not_fetched'
    | 'icon_unsafe'
    | 'icon_unreadable'
    | 'content_unreadable'
    | 'stdout_noise';
  /** Where in the surface, as a JSON Pointer; empty for the server as a whole. */
  readonly path: string;
  readonly message: string;
}

/** Everything that a server shows to a client: what a lock holds, and what else the scan saw. */
export interface Surface extends LockSurface {
  /** What the scan said that it can do; a server may show other definitions to another client. */
  readonly clientCapabilities: object;
  readonly contents: readonly ScannedContent[];
  readonly findings: readonly Finding[];
}
