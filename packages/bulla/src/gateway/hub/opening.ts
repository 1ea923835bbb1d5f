import { toUtf8 } from '@bulla/core/crypto';
import { type JsonObject, type JsonValue, stringify } from '@bulla/core/json';
import { type ErrorFrame, quote, type RequestFrame, type ResultFrame } from '../../mcp/index.ts';
import { isSameJson } from '../lists/pins.ts';
import { locate, replace, splice } from '../wire/splice.ts';
import type { Member } from './members.ts';
import type { HostRequest } from './requests.ts';
import { type Described, discoverResult, initializeResult, resultBytes } from './self.ts';
import type { Answer, Traffic } from './traffic.ts';

/** `initialize` and `server/discover`: every member describes itself, and the host gets one description. */
export class Opening {
  readonly #traffic: Traffic;
  #handshake: 'none' | 'asked' | 'done' = 'none';
  /** What members answered to an `initialize` that failed as a whole, and what they were asked. */
  readonly #kept = new Map<Member, { readonly params: JsonValue; readonly answer: ResultFrame }>();

  constructor(traffic: Traffic) {
    this.#traffic = traffic;
  }

  /** Whether the handshake of the initialize era is done. */
  get isEstablished(): boolean {
    return this.#handshake === 'done';
  }

  discover(request: HostRequest, frame: RequestFrame): void | Promise<void> {
    const { all } = this.#traffic.members;
    return this.#traffic.sendAll(request, frame, all, (answers) => {
      return this.#described(request, new Map(all.map((member, i) => [member, answers[i]!])), discoverResult);
    });
  }

  initialize(request: HostRequest, frame: RequestFrame): void | Promise<void> {
    // A link refuses and records a second one.
    if (this.#handshake !== 'none') return this.#traffic.pass(request, frame, null);
    this.#handshake = 'asked';
    const params = frame.params ?? null;
    const { all } = this.#traffic.members;
    const answers = new Map<Member, Answer>();
    for (const [member, kept] of this.#kept) {
      if (isSameJson(kept.params, params)) answers.set(member, kept.answer);
    }
    const asked = all.filter((member) => !answers.has(member));
    return this.#traffic.sendAll(request, frame, asked, (given) => {
      this.#handshake = 'none';
      for (const [i, member] of asked.entries()) {
        const answer = given[i]!;
        answers.set(member, answer);
        if (answer.kind === 'result') this.#kept.set(member, { params, answer });
      }
      return this.#described(request, answers, (described) => {
        this.#handshake = 'done';
        this.#kept.clear();
        return initializeResult(described);
      });
    });
  }

  #described(
    request: HostRequest,
    answers: ReadonlyMap<Member, Answer>,
    merge: (described: readonly Described[]) => object,
  ): void | Promise<void> {
    const { members, log } = this.#traffic;
    const described: (Described & { readonly member: Member })[] = [];
    const refusals: { readonly member: Member; readonly answer: ErrorFrame }[] = [];
    for (const member of members.all) {
      const answer = answers.get(member)!;
      if (answer.kind === 'result') described.push({ key: member.key, answer, member });
      else refusals.push({ member, answer });
    }
    const [refusal] = refusals;
    if (refusal !== undefined && (!members.allowMissing || described.length === 0)) {
      return request.answer(refusedBy(refusal.member, refusal.answer));
    }
    const result = resultBytes(request.idBytes, merge(described));
    for (const { member, answer } of refusals) {
      member.isMissing = true;
      const what = `it answered ${request.method} with error ${answer.error.code}`;
      log(`the server ${quote(member.key)} is missing: ${what}`);
    }
    for (const { member, answer } of described) {
      member.isMissing = false;
      member.capabilities = answer.result.get('capabilities') as JsonObject;
    }
    return request.answer(result);
  }
}

/** The refusal of a member, with the member named. */
function refusedBy({ key }: Member, answer: ErrorFrame): Uint8Array {
  const message = toUtf8(stringify(`The server ${quote(key)} refuses: ${answer.error.message}`));
  return splice(answer.bytes, [replace(locate(answer, 'error', 'message')!, message)]);
}
