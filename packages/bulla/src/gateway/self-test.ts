import { randomUUID } from 'node:crypto';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { Stage } from '@bulla/core/evidence';
import { memberAt, stringify } from '@bulla/core/json';
import { META_VERSION, parseFrame, STATELESS_VERSIONS, type Transport } from '../mcp/index.ts';
import type { Part } from '../record/index.ts';
import type { Context } from './context.ts';
import { Session } from './gates/session.ts';
import { History } from './history.ts';
import { Pipeline } from './pipeline.ts';
import type { Probed } from './record.ts';
import { UNTRACED } from './telemetry.ts';
import { Wire } from './wire/wire.ts';

/** What a link proved of itself: a forbidden call was denied, or, where it only watches, noticed. */
export type SelfTested = 'denied' | 'noticed';

const CODE = 'GATEWAY_NOT_LOCKED';

/**
 * Calls a tool that no lock can hold, through the pipeline and the gates of a session, and makes sure that the call is
 * denied, or noticed where the gateway only watches. Nothing reaches the server, the host or the record. `configured`
 * are the names of the gates that the operator asked for, in their order. Rejects with `GATEWAY_SELF_TEST`.
 */
export async function selfTest(context: Context, configured: readonly Stage[] = []): Promise<SelfTested> {
  const { gates, enforce, record } = context;
  checkGates(
    gates.map(({ name }) => name),
    configured,
  );
  const seen: Probed = { denied: null, intent: null };
  const server = new ProbeServer();
  const probe = new Pipeline(
    {
      ...context,
      // The gates behind it would ask a person, or spend a limit.
      gates: gates.slice(0, 1),
      session: new Session(),
      record: record.probe(seen),
      history: new History(''),
      wire: new Wire(server, 1000),
      telemetry: UNTRACED,
      // It would ask the server, which is not started yet.
      preflight: null,
      log: () => {},
    },
    server,
  );
  const answer = Promise.withResolvers<Uint8Array>();
  await probe.fromHost(forbiddenCall(), {
    scope: '',
    write() {},
    answer: (bytes) => answer.resolve(bytes),
    close: () => answer.reject(failed('a forbidden call got no answer')),
  });
  const told = parseFrame(await answer.promise);
  await probe.idle();
  const code = told.kind === 'error' ? memberAt(told.error.data, ['code']) : undefined;
  if (server.wasCalled) throw failed('a forbidden call was forwarded');
  if (enforce.calls) {
    if (code !== CODE || seen.denied !== CODE || seen.intent !== null)
      throw failed('a forbidden call was not denied');
    return 'denied';
  }
  if (!seen.intent?.some(isNoticed)) throw failed('a forbidden call was not noticed');
  return 'noticed';
}

/** What a lock decides comes first; what the rules demand, and the kill switch, behind everything else. */
const BEFORE: readonly Stage[] = ['pinned', 'arguments', 'uris'];
const BEHIND: readonly Stage[] = ['policy', 'kill'];

/** All gates that must be there, in their order, and no other. */
function checkGates(names: readonly Stage[], configured: readonly Stage[]): void {
  if (names[0] !== 'pinned') throw failed('the lock does not decide first');
  if (names.at(-1) !== 'kill') throw failed('the kill switch does not decide last');
  const expected = [...BEFORE, ...configured, ...BEHIND];
  const at = expected.findIndex((name, i) => name !== names[i]);
  if (at >= 0) throw failed(`the gate ${JSON.stringify(expected[at])} is missing`);
  if (names.length > expected.length) throw failed('there are more gates than were asked for');
}

function forbiddenCall() {
  const name = `bulla-self-test-${randomUUID()}`;
  const params = { name, arguments: {}, _meta: { [META_VERSION]: STATELESS_VERSIONS[0] } };
  return parseFrame(toUtf8(stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })));
}

function isNoticed({ authority = [] }: Part): boolean {
  return authority.some(({ step }) => step?.decision === 'would-block' && step.code === CODE);
}

function failed(why: string): BullaError {
  return new BullaError('GATEWAY_SELF_TEST', `The gateway failed its own test: ${why}. Nothing is served.`);
}

/** A server that must not be asked anything. */
class ProbeServer implements Pick<Transport, 'send' | 'isPerRequest'> {
  readonly isPerRequest = false;
  wasCalled = false;
  async send(): Promise<void> {
    this.wasCalled = true;
    throw failed('a forbidden call was forwarded');
  }
}
