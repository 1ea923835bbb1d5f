import * as fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { caller, DAY, host, manifest, OTHER, Relation, tool } from '../../test/consent.ts';
import { Model, type Name, SCOPES, TOOLS, type WHERE } from '../../test/consent-model.ts';
import { type Channel, type Choice, type Decision, type Prompt, resultOf, type Step } from './index.ts';

// Random histories against a model that was written apart: it keeps a list of what happened and looks back, where the
// engine keeps rows and moves on.

const OVER: Readonly<Record<string, Channel>> = {
  passkey: { kind: 'passkey', device: 'credential:phone', session: null },
  terminal: { kind: 'terminal', device: caller.device, session: null },
  host,
};

type Op =
  | { readonly op: 'call'; readonly tool: Name; readonly where: (typeof WHERE)[number] }
  | {
      readonly op: 'answer';
      readonly nth: number;
      readonly choice: Choice;
      readonly over: string;
      readonly flaw: string;
    }
  | { readonly op: 'start'; readonly nth: number; readonly flaw: string }
  | { readonly op: 'finish'; readonly nth: number }
  | { readonly op: 'request'; readonly scope: string }
  | { readonly op: 'grant'; readonly scope: string; readonly over: string }
  | { readonly op: 'revoke'; readonly scope: string }
  | { readonly op: 'redefine'; readonly tool: Name; readonly breaking: boolean }
  | { readonly op: 'rebind'; readonly tool: Name; readonly to: string }
  | { readonly op: 'wait'; readonly ms: number }
  | { readonly op: 'relock' | 'sweep' | 'restart' };

const nth = fc.nat(5);
const ops: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('call' as const),
      tool: fc.constantFrom(...(Object.keys(TOOLS) as Name[])),
      where: fc.constantFrom<(typeof WHERE)[number]>('here', 'here', 'here', 'there', 'nowhere', 'group'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('answer' as const),
      nth,
      choice: fc.constantFrom<Choice>(
        'allow-once',
        'allow-once',
        'allow-session',
        'allow-session',
        'grant',
        'deny-once',
        'never',
      ),
      over: fc.constantFrom('passkey', 'passkey', 'terminal', 'host'),
      flaw: fc.constantFrom('', '', '', '', '', 'shown', 'person'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('start' as const),
      nth,
      flaw: fc.constantFrom('', '', '', '', 'arguments', 'definition', 'lock'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('finish' as const), nth }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('request' as const), scope: fc.constantFrom(...SCOPES) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('grant' as const),
      scope: fc.constantFrom(...SCOPES),
      over: fc.constantFrom('passkey', 'passkey', 'terminal', 'host'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('revoke' as const), scope: fc.constantFrom(...SCOPES) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('redefine' as const),
      tool: fc.constantFrom(...(Object.keys(TOOLS) as Name[])),
      breaking: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 9_999, 10_000, 29_999, 30_000, 300_000, DAY / 2, DAY - 1, DAY),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('rebind' as const),
      tool: fc.constantFrom(...(Object.keys(TOOLS) as Name[])),
      to: fc.constantFrom('files', 'files', 'disk', ''),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constantFrom('relock' as const, 'sweep' as const, 'restart' as const),
    }),
  },
);

const NOTHING = ['', ''] as const;

/** The engine beside the model: the same thing happens to both. */
class Both {
  readonly model = new Model();
  readonly engine = new Relation({ maxOpenPrompts: 1000 });
  readonly prompts: Prompt[] = [];
  readonly allowed: Decision[] = [];
  readonly editions: Record<Name, number> = { notify: 1, read_file: 1, list_files: 1, locate: 1 };
  readonly servers: Record<Name, string> = { notify: '', read_file: '', list_files: '', locate: '' };
  version = 1;
  lock = 1;

  constructor() {
    this.engine.declare(this.manifest());
  }

  tool(name: Name) {
    const { permission_scope, sensitivity } = TOOLS[name];
    const server = this.servers[name];
    const bound = server === '' ? null : { server, tool: `${name}_there` };
    return { ...tool(name, permission_scope, sensitivity, this.editions[name]), bound };
  }

  manifest() {
    return manifest(
      this.version,
      (Object.keys(TOOLS) as Name[]).map((name) => this.tool(name)),
    );
  }

  /** What the engine said, in the model's words. Remembers what was asked and allowed. */
  said(step: Step): string {
    if (step.refusal !== null) return 'refused';
    if (step.prompt !== null) {
      this.prompts.push(step.prompt);
      return 'asked';
    }
    const [decision] = step.decisions;
    if (decision === undefined) return 'done';
    if (decision.stage === 'allowed') {
      this.allowed.push(decision);
      return `allowed ${decision.by}`;
    }
    const result = resultOf(decision);
    return result === null
      ? decision.stage
      : result.status === 'ok'
        ? 'ok'
        : `${result.status} ${result.reason}`;
  }

  /** Does one thing to both, and returns what the engine and what the model say of it. */
  both(op: Op): readonly [engine: string, model: string] {
    const { model, engine } = this;
    switch (op.op) {
      case 'call': {
        const identity = {
          ...caller,
          session: op.where === 'nowhere' ? null : op.where === 'there' ? 'process:p2' : caller.session,
          conversation: op.where === 'group' ? ('group' as const) : ('direct' as const),
        };
        const pinned = { locked: `${op.tool} pinned by ${this.lock}`, lock: `lock ${this.lock}` };
        const step = engine.call(this.tool(op.tool), { identity, ...pinned });
        return [this.said(step), model.call(op.tool, op.where, this.servers[op.tool])];
      }
      case 'answer': {
        const prompt = this.prompts.at(-1 - op.nth);
        if (prompt === undefined) return NOTHING;
        const event = engine.answering(prompt, op.choice, OVER[op.over]);
        const flawed = { shown: { shown: '0'.repeat(64) }, person: { who: 'somebody else' } }[op.flaw];
        const disclosure = op.choice === 'grant' ? engine.disclose() : null;
        const step = engine.run({ ...event, ...flawed, disclosure });
        return [this.said(step), model.answer(model.questions.at(-1 - op.nth)!, op.choice, op.over, op.flaw)];
      }
      case 'start': {
        const decision = this.allowed.at(-1 - op.nth);
        if (decision === undefined) return NOTHING;
        const flawed = {
          arguments: { args: OTHER },
          definition: { declared: 'another' },
          lock: { locked: 'another' },
        }[op.flaw];
        const step = engine.start({ ...decision, ...flawed });
        return [this.said(step), model.start(model.releases.at(-1 - op.nth)!, op.flaw)];
      }
      case 'finish': {
        const decision = this.allowed.at(-1 - op.nth);
        if (decision === undefined) return NOTHING;
        const step = engine.run({ type: 'finish', at: engine.at, id: decision.id, status: 'ok' });
        return [this.said(step), model.finish(model.releases.at(-1 - op.nth)!)];
      }
      case 'request': {
        const [id, at, scope] = [engine.id(), engine.at, op.scope];
        const step = engine.run({ type: 'request', id, at, identity: caller, scope });
        return [this.said(step), model.request(scope)];
      }
      case 'grant': {
        const step = engine.grant([op.scope], OVER[op.over]);
        return [step.refusal === null ? 'done' : 'refused', model.give(op.scope, op.over)];
      }
      case 'revoke': {
        const step = engine.revoke(op.scope);
        return [step.refusal === null ? 'done' : 'refused', model.take(op.scope)];
      }
      case 'redefine': {
        this.version++;
        this.editions[op.tool]++;
        engine.declare(this.manifest(), op.breaking);
        model.facts.push({ what: 'declared' }, { what: 'defined', tool: op.tool });
        if (op.breaking) model.facts.push({ what: 'broken' });
        // Declaring sweeps.
        this.sweep();
        return NOTHING;
      }
      case 'rebind': {
        const before = this.servers[op.tool];
        this.servers[op.tool] = op.to;
        const bound = (Object.keys(TOOLS) as Name[]).flatMap((name) => {
          const to = this.tool(name).bound;
          return to === null ? [] : [[name, to] as const];
        });
        engine.bind(...bound);
        // A question for a scope stays open: its answer names a disclosure, which tells the new bindings.
        if (before !== op.to) model.facts.push({ what: 'defined', tool: op.tool });
        if (before !== '' && before !== op.to) model.facts.push({ what: 'broken' });
        this.sweep();
        return NOTHING;
      }
      case 'relock':
        this.lock++;
        model.facts.push({ what: 'locked' });
        return NOTHING;
      case 'wait':
        engine.at += op.ms;
        model.now += op.ms;
        return NOTHING;
      case 'sweep':
        engine.sweep();
        this.sweep();
        return NOTHING;
      case 'restart':
        engine.run({ type: 'restart', at: engine.at });
        model.facts.push({ what: 'restarted' });
        for (const release of model.releases) if (release.started !== null) release.ended = true;
        return NOTHING;
    }
  }

  run(op: Op): void {
    const [engine, model] = this.both(op);
    expect(engine).toBe(model);
  }

  /** The model has nothing to sweep but calls that ran too long. */
  sweep(): void {
    for (const release of this.model.releases)
      if (release.started !== null && this.model.now - release.started >= 10_000) release.ended = true;
  }
}

describe('random histories', { timeout: 120_000 * inject('soak') }, () => {
  test('the engine does what the model says, and every call starts at most once', () => {
    fc.assert(
      fc.property(fc.array(ops, { minLength: 1, maxLength: 60 }), (history) => {
        const both = new Both();
        for (const op of history) both.run(op);
        // Nothing is left open that is not open for the model.
        both.engine.sweep();
        both.sweep();
        const open = new Set(both.engine.state.rows.prompts.keys());
        expect(both.prompts.map(({ id }) => open.has(id))).toEqual(
          both.model.questions.map((question) => both.model.isOpen(question)),
        );
      }),
      { numRuns: 400 * inject('soak') },
    );
  });

  test('they reach every path to allowed, every denial and every end', () => {
    const seen = new Set<string>();
    const both = class extends Both {
      override said(step: Step): string {
        const said = super.said(step);
        seen.add(said);
        return said;
      }
    };
    fc.assert(
      fc.property(fc.array(ops, { minLength: 30, maxLength: 60 }), (history) => {
        const each = new both();
        for (const op of [...granting, ...history]) each.run(op);
      }),
      { numRuns: 150, seed: 7 },
    );
    expect([...seen].toSorted()).toEqual([
      'allowed high-allowed-once',
      'allowed low-silent',
      'allowed medium-allowed-once',
      'allowed medium-session',
      'allowed medium-window',
      'asked',
      'denied permission_revoked',
      'denied tool_not_supported_in_group',
      'denied user_rejected',
      'error timeout',
      'ok',
      'refused',
      'running',
    ]);
  });
});

const granting: readonly Op[] = SCOPES.map((scope) => ({ op: 'grant', scope, over: 'passkey' }));
