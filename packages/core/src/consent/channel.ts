// Over what an answer came. Only an authenticated channel outside the host proves that a person answered.

interface Kind {
  /** Whether it goes around the host and the agent. */
  readonly outOfBand: boolean;
  /** Whether the person was authenticated for this answer. */
  readonly authenticated: boolean;
}

/**
 * `passkey` and `pin`: the console, after the person was verified. `os-user`: a terminal of an operating system user
 * other than the agent's, by the peer credentials of the socket. `device`: a device's key signed, but nobody was
 * verified. `terminal`: a terminal of the agent's own user. `host`: the host says that the person answered.
 */
export const CHANNELS = {
  passkey: { outOfBand: true, authenticated: true },
  pin: { outOfBand: true, authenticated: true },
  'os-user': { outOfBand: true, authenticated: true },
  device: { outOfBand: true, authenticated: false },
  terminal: { outOfBand: true, authenticated: false },
  host: { outOfBand: false, authenticated: false },
} as const satisfies Record<string, Kind>;

export type ChannelKind = keyof typeof CHANNELS;

/** A channel, and the device and session at its other end as far as they are known. */
export interface Channel {
  readonly kind: ChannelKind;
  readonly device: string | null;
  readonly session: string | null;
}

/** Which channels may carry an answer. */
export type ChannelRule = 'any' | 'out-of-band' | 'authenticated';

export function isChannelKind(kind: string): kind is ChannelKind {
  return Object.hasOwn(CHANNELS, kind);
}

/** Whether an answer over this channel is a person's own, by DESIGN's rule for `human_approved`. */
export function provesPerson(kind: ChannelKind): boolean {
  return CHANNELS[kind].outOfBand && CHANNELS[kind].authenticated;
}

export function satisfies(kind: string, rule: ChannelRule): boolean {
  if (!isChannelKind(kind)) return false;
  return rule === 'any' || (rule === 'out-of-band' ? CHANNELS[kind].outOfBand : provesPerson(kind));
}
