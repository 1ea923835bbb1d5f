import { join } from 'node:path';
import {
  type Channel,
  type Disclosure,
  disclosureLines,
  identityOf,
  type Refusal,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { type Consent, createConsent, installationId, readOperator } from '../../consent/index.ts';
import type { Store } from '../../store/index.ts';
import { home, type StoreOptions } from '../store.ts';
import {
  colors,
  complain,
  EXIT,
  type Exit,
  errorDocument,
  printJson,
  type ReportOptions,
  say,
} from '../terminal/io.ts';
import { phrasesOf } from './phrases.ts';

/** The options of the commands over what people allow. */
export interface ConsentOptions extends StoreOptions, ReportOptions {
  user?: string;
  agent?: string;
}

/** Consent over the store, under what the operator decides. */
export function consentOver(store: Store, { chain }: StoreOptions): Consent {
  return createConsent(store, { chain, rules: readOperator(home()).rules });
}

/**
 * Who sits at this terminal, as far as can be told. The store is a file, or a database with a password that the agent's
 * user may have as well, so that nothing proves who answers: it is `terminal`, and never `os-user`, which needs a
 * server that asks the socket. Throws `USAGE` where the system has no users and none is named.
 */
export function atTerminal({ user }: ConsentOptions): { who: string; channel: Channel } {
  const identity = identityOf(
    {
      transport: 'stdio',
      agent: null,
      uid: process.getuid?.() ?? null,
      installation: installationId(home()),
      process: null,
    },
    readOperator(home()).people,
  );
  const who = user ?? identity.user;
  if (who === null) throw new BullaError('USAGE', 'Say who you are, with --user.');
  return { who, channel: { kind: 'terminal', device: identity.device, session: null } };
}

/** Tells that an event was refused: nothing changed. */
export async function refused({ code, message }: Refusal, options: ReportOptions): Promise<Exit> {
  const error = new BullaError(code, message);
  complain(error);
  if (code === 'CONSENT_CHANNEL')
    say(
      `A terminal proves nobody. Answer where people sign in, or let terminals answer: "highChannels": "out-of-band" in ${join(home(), 'consent.json')}; see bulla consent allow --help.`,
    );
  if (options.json) await printJson(errorDocument(error));
  return EXIT.bad;
}

export function disclosureText(disclosure: Disclosure, digest: string): string {
  const { canDo, disclosure: named } = phrasesOf(disclosure);
  return [
    canDo(colors.bold(disclosure.agent), disclosure.version),
    ...disclosureLines(disclosure).map((line) => `  ${line}`),
    colors.dim(named(digest)),
  ].join('\n');
}
