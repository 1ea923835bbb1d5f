import { isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import type { Member } from '@bulla/core/json';
import { DURATION_FORM, MAX_TIMER_MS, parseDuration } from '@bulla/core/text';
import type { SecretRef } from '../../os/index.ts';
import { either, type Form, list, type Read, type Reading, record, required, text } from './form.ts';

// The values that several members have.

/** A text without what no path, argument or variable can hold. */
export const anyText: Form<string> = text({ what: 'a string without NUL', pattern: '^[^\\u0000]*$' });

/** The name of a person, or of something that stands for one. */
export const SOMEONE = {
  what: '1 to 128 printable characters',
  pattern: '^[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]{1,128}$',
} as const;

/** A path; it is absolute once it is read. */
export const path: Form<string> = text({
  title: 'path',
  what: 'a path',
  pattern: '^[^\\u0000]+$',
  make: (found, _, { folder }) => resolve(folder, found),
});

/** A public key: a file, or 64 hex digits. */
export const publicKey: Form<string> = text({
  title: 'public key',
  what: 'the file of a public key, or 64 hex digits',
  pattern: '^[^\\u0000]+$',
  make: (found, _, { folder }) => (/^[0-9a-f]{64}$/.test(found) ? found : resolve(folder, found)),
});

const NUMBER = '[0-9]{1,15}(?:\\.[0-9]{1,3})?';
const DURATION = `^(?=.)(?:${NUMBER}d)?(?:${NUMBER}h)?(?:${NUMBER}m)?(?:${NUMBER}s)?(?:${NUMBER}ms)?$`;

/** A duration in the grammar of the command line; it is a number of milliseconds once it is read. */
export function duration(least: '0s' | '1ms' = '1ms'): Form<number> {
  return text({
    title: 'duration',
    what: `a duration, ${DURATION_FORM}`,
    pattern: DURATION,
    isShown: true,
    make(found, at, reading) {
      const ms = parseDuration(found);
      if (ms !== null && ms >= parseDuration(least)! && ms <= MAX_TIMER_MS) return ms;
      const sentence = `It is at least ${least} and at most 24d, in whole milliseconds; this is ${found}.`;
      reading.unsound(at.at, sentence);
      return 0;
    },
  });
}

const PORT = '(?:[0-9]|[1-9][0-9]{1,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';
const BYTE = '(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])';
const V6 = '\\[[0-9a-f:.]{2,45}\\]';

/** Where connections are taken. */
export interface Listen {
  /** An address, or `localhost`; of IPv6 without brackets. */
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
}

export const listen: Form<Listen> = text({
  title: 'address',
  what: 'an address and a port, such as 127.0.0.1:8484 or [::1]:8484',
  pattern: `^(?:localhost|${BYTE}(?:\\.${BYTE}){3}|${V6}):${PORT}$`,
  isShown: true,
  make(found, at, reading) {
    const colon = found.lastIndexOf(':');
    const host = found.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
    if (found.startsWith('[')) checkAddress(host, at, reading);
    return { host, port: Number(found.slice(colon + 1)) };
  },
});

/** The value of a Host header (RFC 9110 §7.2). */
export const host: Form<string> = text({
  title: 'host',
  what: 'a host in lower case, with its port where it has one, such as gateway.internal:8484',
  pattern: `^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|${V6})(?::${PORT})?$`,
  isShown: true,
  make(found, at, reading) {
    const address = /^\[(.*)\]/.exec(found)?.[1];
    if (address !== undefined) checkAddress(address, at, reading);
    return found;
  },
});

function checkAddress(address: string, at: Member, reading: Reading): void {
  if (!isIPv6(address)) reading.unsound(at.at, 'What stands in brackets is not an IPv6 address.');
}

/** The value of an Origin header (RFC 6454 §6.2). */
export const origin: Form<string> = text({
  title: 'origin',
  what: 'an origin in lower case without a slash at its end, such as https://app.example',
  pattern: '^[a-z][a-z0-9+.-]*://[^\\s/?#@A-Z]+$',
  make(found, at, reading) {
    if (/^https?:/.test(found) && URL.parse(found)?.origin !== found)
      reading.unsound(at.at, 'A browser writes this origin in another way, or has none such.');
    return found;
  },
});

const HOW = 'write "env:NAME", "file:PATH" or {"command": ["program", "argument"]}';
const REFERENCE = 'env:[A-Za-z_][A-Za-z0-9_]*|file:(?!//|~)[^\\u0000-\\u001f]+';

function absolute(reference: string, { folder }: Reading): string {
  const file = /^file:(.*)$/s.exec(reference)?.[1];
  return file === undefined ? reference : `file:${resolve(folder, file)}`;
}

function reference(literal: string): Form<string> {
  return text({
    title: 'secret reference',
    what: 'a reference to a secret: "env:NAME", "file:PATH"',
    pattern: `^(?:${REFERENCE})$`,
    literal,
    make: (found, _, reading) => absolute(found, reading),
  });
}

const word: Form<string> = text({ what: 'a string that is not empty', pattern: '^[^\\u0000]+$' });
const program = {
  ...record({
    command: required(
      list(word, { minItems: 1 }),
      'The program that writes the secret, and its arguments; it is started without a shell.',
      ['pass', 'show', 'gateway'],
    ),
  }),
  what: '{"command": […]}',
};

export const secret: Form<SecretRef> = either(
  reference(`A secret does not stand in the configuration; ${HOW}. What is written here is not shown.`),
  program,
);

/** A value that may be a secret, or a text that is none. */
export type Setting = SecretRef | { readonly value: string };

/** A value of a variable or a header; `pattern` is what its text may be. */
export function setting(what: string, pattern: string): Form<Setting> {
  const plain = record({
    value: required(text({ what, pattern }), 'The text itself, where it is no secret.', 'text'),
  });
  const literal = `A value is a reference to a secret: ${HOW}; or, for a text that is no secret, {"value": "text"}. What is written here is not shown.`;
  return either(reference(literal), program, { ...plain, what: '{"value": "…"}' });
}

/** Where the store is: a file, or a reference to an address, which may hold a password. */
export type StoreRef = { readonly file: string } | { readonly secret: SecretRef };

const storeText: Form<StoreRef> = text<StoreRef>({
  title: 'file or secret reference',
  what: 'a file, or a reference to an address: "env:NAME", "file:PATH"',
  // A file is not what begins with a scheme of two letters or more, or has an address or the words of libpq in it.
  pattern: `^(?:${REFERENCE}|(?![A-Za-z][A-Za-z0-9+.-]+:)(?!\\s)(?![^\\u0000]*(?:://|(?:host|dbname|user|password)\\s*=))[^\\u0000]+)$`,
  literal: `The address of a database may hold a password, so it does not stand in the configuration; ${HOW}. What is written here is not shown.`,
  make: (found, _, reading) =>
    /^(?:env|file):/.test(found)
      ? { secret: absolute(found, reading) }
      : { file: resolve(reading.folder, found) },
});

const storeProgram: Form<StoreRef> = {
  ...program,
  read: (at, reading) => ({ secret: program.read(at, reading) satisfies Read<typeof program> }),
};

export const storeUrl: Form<StoreRef> = either(storeText, storeProgram);
