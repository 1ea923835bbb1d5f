import {
  type ChannelKind,
  ENGLISH,
  type Identity,
  type Prompt,
  type Raise,
  raisesOf,
  type Words,
} from '@bulla/core/consent';
import type { ToolReference } from '@bulla/core/evidence';
import { JsonObject } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import type { Ask, Consent, Deny, Pass } from '../../consent/index.ts';
import type { Payload } from '../../record/index.ts';
import { againMembers, goingOn, type Returned, returned } from '../approvals/again.ts';
import { consentDenial } from '../approvals/denials.ts';
import { hostAsker } from '../approvals/host.ts';
import { Questions } from '../approvals/questions.ts';
import { patient } from '../approvals/wait.ts';
import { raw } from '../wire/splice.ts';
import { Stop } from '../wire/stop.ts';
import type { Gate, GatedCall, Ruling } from './gate.ts';

/** Whose consent is asked for, and how. */
export interface ConsentGateOptions {
  readonly consent: Consent;
  /** Who calls, as our end of the transport knows it: the agent and the session are those of the guard. */
  readonly identity: Identity;
  /** Over what a person may be asked. Default: all that the rules of consent permit. */
  readonly channels?: readonly ChannelKind[] | undefined;
  /** The language of questions that the host is asked to show. Default: English. */
  readonly words?: Words | undefined;
  /** The questions that outlive their calls, of the whole process. Default: those of this gate. */
  readonly questions?: Questions | undefined;
  /** How long a call waits before the agent is told to come back, where questions outlive calls. Default 30,000 ms. */
  readonly patienceMs?: number | undefined;
  /** What raises the sensitivity of a call beside its rules. Nothing lowers it. Default: nothing. */
  raises?(call: GatedCall): readonly Raise[];
}

const PATIENCE_MS = 30_000;
/** How long a host may take to call again with the answer, where the question itself has no deadline. */
const LEAVE_MS = 600_000;

/**
 * Asks the person about calls of tools, as the agent's manifest declares them. Prompts and resources are not declared
 * in manifests, and pass.
 */
export function consentGate(options: ConsentGateOptions): Gate {
  const { consent, identity, raises, questions = new Questions(), patienceMs = PATIENCE_MS } = options;
  const isParked = consent.parkMs !== null;
  const leaveMs = consent.parkMs ?? LEAVE_MS;
  const askHost = hostAsker({ consent, identity, words: options.words ?? ENGLISH, questions, leaveMs });
  const mayAskHost = (prompt: Prompt) =>
    (options.channels ?? ['host']).includes('host') && consent.permits('host', prompt);

  return {
    name: 'consent',
    needsRecord: true,
    recall(frame, subject, server) {
      if (frame.method !== 'tools/call' || subject.name === null) return null;
      const asker = { identity, tool: { server, name: subject.name } };
      return returned(questions, asker, frame, subject, { isParked, leaveMs });
    },
    goesOn(answer, { evidence }, intent) {
      const { id, answered } = evidence.consent ?? {};
      if (id === undefined || answered === undefined) return [];
      return goingOn(questions.states, answer, id, intent, Date.now() + leaveMs);
    },
    async rule(gated) {
      const { frame, subject, call, evidence } = gated;
      if (frame.method !== 'tools/call') return { pass: {} };
      const recalled = gated.recalled && 'question' in gated.recalled ? (gated.recalled as Returned) : null;
      const stop = recalled?.question.stop ?? new Stop();
      const asked = {
        // A call of a tool has both.
        call: call as typeof call & { readonly tool: ToolReference; readonly args: Payload },
        identity,
        args: subject.args,
        lock: evidence.lock,
        raises: [...demanded(gated), ...(raises?.(gated) ?? [])],
      };
      const { approval, continues } = gated.recalled ?? {};
      const isContinued = continues !== undefined;
      const prompt = isContinued ? approval : recalled?.question.id;
      const ruling = await consent.rule(asked, { signal: stop.signal, prompt, continues: isContinued });
      // A rule that asks for a person raises the level, so that one was or is asked.
      gated.demands.delete('person');
      if (!('ask' in ruling)) {
        if (recalled !== null) questions.spent(recalled.question);
        return rulingOf(ruling);
      }
      const question =
        recalled?.question ??
        questions.add({
          id: ruling.prompt.id,
          identity,
          tool: { server: asked.call.tool.server ?? null, name: asked.call.tool.name },
          args: asked.call.args,
          again: againMembers(frame),
          stop,
        });
      const reply = mayAskHost(ruling.prompt)
        ? await askHost(gated, question, ruling, recalled?.response)
        : null;
      if (reply !== null) return { reply: { bytes: (id) => resultBytes(id, reply) } };
      const waiting = { question, questions, prompt: ruling.prompt, signal: gated.signal };
      const leaves = isParked ? { leaveMs, patienceMs } : null;
      return { ask: patient(settledRuling(ruling), waiting, leaves) };
    },
  };
}

/** A rule that asks for a person asks each time, whatever the scope says. */
function demanded({ demands }: GatedCall): Raise[] {
  return demands.has('person') ? [{ to: 'high', why: 'policy' }] : [];
}

/** The raises that the locked definition of a tool gives cause for. */
export function hintedRaises({ native }: Lock): (call: GatedCall) => readonly Raise[] {
  return ({ subject }) => {
    const definition = subject.name === null ? undefined : native?.tools.get(subject.name)?.definition;
    const annotations = definition instanceof JsonObject ? definition.get('annotations') : undefined;
    if (!(annotations instanceof JsonObject)) return [];
    const hint = (name: string) => {
      const value = annotations.get(name);
      return typeof value === 'boolean' ? { [name]: value } : {};
    };
    return raisesOf({ ...hint('readOnlyHint'), ...hint('destructiveHint'), ...hint('openWorldHint') });
  };
}

const resultBytes = (id: Uint8Array, result: Uint8Array): Uint8Array =>
  raw('{"jsonrpc":"2.0","id":', id, ',"result":', result, '}');

const settledRuling = ({ ask }: Ask): Promise<Ruling> => ask.then(rulingOf);

function rulingOf(ruling: Pass | Deny): Ruling {
  if ('pass' in ruling) return { pass: ruling.pass };
  return { deny: consentDenial(ruling), part: ruling.part };
}
