import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Denial } from '../denial.ts';

// 2026-07-28, Multi Round-Trip Requests, Server Requirements: a `requestState` passes through the host, so that it must
// be protected against changes, be bound to who it was given to and to the request, and end soon. What it is bound to
// stands in the question that it names; that it is used once is decided with the intent.

/** What a `requestState` of ours holds. */
export interface State {
  /** The question about the call. */
  readonly prompt: string;
  /** Of a call that was begun and for which the server asked for input: its intent, and the server's own state. */
  readonly continued?: { readonly intent: string; readonly inner: string | null };
  /** Unix time in milliseconds from which it counts no longer. */
  readonly expires: number;
}

const PREFIX = 'bulla1.';
const [NONCE, TAG] = [12, 16];

/** Seals states so that only this process can make and read them. */
export class States {
  readonly #key = randomBytes(32);

  seal(state: State): string {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(PREFIX));
    const text = Buffer.concat([cipher.update(JSON.stringify(state), 'utf8'), cipher.final()]);
    return PREFIX + Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url');
  }

  /** Null for a state that is none of ours. Throws a denial for one that was altered, or is over. */
  open(text: string, now: number): State | null {
    if (!text.startsWith(PREFIX)) return null;
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
    let state: State;
    try {
      const nonce = bytes.subarray(0, NONCE);
      const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG });
      decipher.setAAD(Buffer.from(PREFIX)).setAuthTag(bytes.subarray(-TAG));
      const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()]);
      state = JSON.parse(opened.toString('utf8')) as State;
    } catch (cause) {
      throw unusable('It is not one that this gateway gave.', cause);
    }
    // One text for one state: what decodes to the same bytes is another text.
    if (PREFIX + bytes.toString('base64url') !== text)
      throw unusable('It is not one that this gateway gave.');
    if (now >= state.expires) throw unusable('It has expired. Call again without it.');
    return state;
  }
}

export function unusable(why: string, cause?: unknown): Denial {
  return new Denial('consent', 'GATEWAY_STATE', `The requestState cannot be used. ${why}`, { cause });
}
