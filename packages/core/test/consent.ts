/** One person, one agent with a tool of each level, and a store that is written and read back after every step. */
import { type Commitment, commit } from '../src/canon/index.ts';
import {
  applyChanges,
  type Bound,
  type Channel,
  type ChannelKind,
  type Choice,
  type ConsentEvent,
  type ConsentState,
  DEFAULT_RULES,
  type Decision,
  type Declared,
  decide,
  disclose,
  disclosureDigest,
  ENGLISH,
  emptyState,
  type Identity,
  identityOf,
  type Prompt,
  type Raise,
  type Rules,
  rowsOf,
  type Sensitivity,
  type Step,
  stateOf,
  type Tool,
} from '../src/consent/index.ts';
import { sha256Hex } from '../src/crypto/index.ts';

export const START = 1_790_000_000_000;
export const SECOND = 1000;
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const AGENT = 'desk';
export const SALT: Uint8Array = new Uint8Array(32).fill(7);
export const ARGS = { path: '/tmp/a' };
export const COMMITMENT: Commitment = commit('args', ARGS, SALT);

export const caller: Identity = identityOf({
  transport: 'stdio',
  agent: AGENT,
  uid: 1000,
  installation: 'laptop',
  process: 'p1',
});
export const USER: string = caller.user!;

/** A commitment to other arguments. */
export const OTHER: Commitment = { commitment: 'ab'.repeat(32), of: 'jcs' };
/** A lock, and a tool as it pins it. */
export const LOCK: string = `sha256:${'1c'.repeat(32)}`;
export const PINNED: string = `sha256:${'9d'.repeat(32)}`;
export const UNBOUND: string = sha256Hex('{}');

export function tool(name: string, scope: string, sensitivity: Sensitivity, edition = 1): Tool {
  const digest = `sha256:${sha256Hex(`${name} ${edition}`)}`;
  return { name, permission_scope: scope, sensitivity, digest, timeout_ms: 10_000, bound: null };
}

export const NOTIFY = tool('notify', 'notification:send', 'low');
export const READ = tool('read_file', 'filesystem:read', 'medium');
export const LIST = tool('list_files', 'filesystem:read', 'medium');
export const LOCATE = tool('locate', 'location:read', 'high');

export const SCOPES: Declared['scopes'] = [
  { id: 'notification:send', sensitivity: 'low' },
  { id: 'filesystem:read', sensitivity: 'medium' },
  { id: 'location:read', sensitivity: 'high' },
];

export const FLAGS = {
  supports_streaming: true,
  supports_artifacts: false,
  supports_voice: false,
  supports_group_chat: true,
};

export function manifest(
  version: number,
  tools: readonly Tool[] = [NOTIFY, READ, LIST, LOCATE],
  scopes = SCOPES,
) {
  return { agent: AGENT, version, hash: `manifest-${version}`, bindings: UNBOUND, scopes, tools };
}

export const passkey: Channel = { kind: 'passkey', device: 'credential:phone', session: null };
export const host: Channel = { kind: 'host', device: caller.device, session: caller.session };
export function channel(kind: ChannelKind): Channel {
  return kind === 'host' ? host : { kind, device: caller.device, session: null };
}

/** Runs events one after another. Every state that it holds was written as JSON and read back, if it is stored. */
export class Relation {
  state: ConsentState = emptyState(USER, AGENT);
  at: number = START;
  #ids = 0;
  readonly rules: Rules;

  readonly stored: boolean;

  constructor(rules: Partial<Rules> = {}, stored = true) {
    this.rules = { ...DEFAULT_RULES, ...rules };
    this.stored = stored;
  }

  run(event: ConsentEvent): Step {
    const step = decide(this.state, event, this.rules);
    const after = applyChanges(this.state, step.changes);
    this.state = this.stored ? stateOf(JSON.parse(JSON.stringify(rowsOf(after)))) : after;
    return step;
  }

  /** The code of a refusal, after which nothing changed. */
  refusal(event: ConsentEvent): string | undefined {
    const before = JSON.stringify(rowsOf(this.state));
    const step = this.run(event);
    if (step.refusal !== null && (step.decisions.length > 0 || JSON.stringify(rowsOf(this.state)) !== before))
      throw new Error('a refusal changed something');
    return step.refusal?.code;
  }

  id(): string {
    return `id-${++this.#ids}`;
  }

  declare(next = manifest(1), breaking = false): Step {
    return this.run({ type: 'manifest', at: this.at, manifest: next, breaking });
  }

  /** Shows the person what the agent declares now. */
  disclose(who = USER): string {
    const disclosure = disclose({ ...this.state.rows.manifests.get(AGENT)!, flags: FLAGS }, ENGLISH);
    this.run({ type: 'disclose', at: this.at, disclosure, who, channel: passkey });
    return disclosureDigest(disclosure);
  }

  grant(scopes: readonly string[] = SCOPES.map(({ id }) => id), over: Channel = passkey): Step {
    const disclosure = this.disclose();
    const grants = scopes.map((scope) => ({ scope, id: `grant-${this.id()}` }));
    return this.run({ type: 'grant', at: this.at, grants, disclosure, who: USER, channel: over });
  }

  call(
    called: Tool,
    more: {
      identity?: Identity;
      raises?: readonly Raise[];
      args?: Commitment;
      locked?: string;
      lock?: string;
      call_id?: string;
    } = {},
  ): Step {
    const { name, digest, bound } = called;
    return this.run({
      type: 'call',
      id: this.id(),
      at: this.at,
      identity: caller,
      server: bound?.server ?? null,
      tool: bound?.tool ?? name,
      declared: digest,
      locked: null,
      lock: null,
      args: COMMITMENT,
      ...more,
    });
  }

  answer(prompt: Prompt, choice: Choice, over: Channel = passkey): Step {
    return this.run(this.answering(prompt, choice, over));
  }

  answering(prompt: Prompt, choice: Choice, over: Channel = passkey): ConsentEvent & { type: 'answer' } {
    const { id, shown } = prompt;
    return { type: 'answer', at: this.at, prompt: id, shown, choice, who: USER, channel: over };
  }

  start({ id, declared, locked, args }: Decision): Step {
    return this.run({ type: 'start', at: this.at, id, declared: declared!, locked, args: args! });
  }

  /** Binds tools to those of a server; the others to nothing. */
  bind(...bindings: readonly (readonly [name: string, bound: Bound])[]): Step {
    const digest = sha256Hex(JSON.stringify(bindings));
    return this.run({ type: 'bind', at: this.at, bound: new Map(bindings), bindings: digest });
  }

  revoke(...scopes: string[]): Step {
    return this.run({ type: 'revoke', at: this.at, scopes, who: USER, channel: passkey });
  }

  sweep(): Step {
    return this.run({ type: 'sweep', at: this.at });
  }
}

/** An agent that was added, all of its scopes granted. */
export function added(rules: Partial<Rules> = {}): Relation {
  const relation = new Relation(rules);
  relation.declare();
  relation.grant();
  return relation;
}
