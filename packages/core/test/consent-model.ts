/** The reference model of consent: a list of what happened, and looking back at it. It knows nothing of the engine. */
import type { Choice } from '../src/consent/index.ts';
import { DAY, LIST, LOCATE, NOTIFY, READ } from './consent.ts';

export const TOOLS = { notify: NOTIFY, read_file: READ, list_files: LIST, locate: LOCATE } as const;
export type Name = keyof typeof TOOLS;
export const SCOPES = ['notification:send', 'filesystem:read', 'location:read'] as const;
export const WHERE = ['here', 'there', 'nowhere', 'group'] as const;
/** What happened to a scope, a tool or a window, in the order in which it did. */
type Fact =
  | { readonly what: 'given' | 'taken' | 'never'; readonly scope: string }
  | { readonly what: 'broken' | 'restarted' | 'declared' | 'locked' }
  | { readonly what: 'defined'; readonly tool: Name }
  | {
      readonly what: 'opened' | 'used';
      readonly scope: string;
      readonly where: string;
      readonly server: string;
      readonly lock: number;
      readonly at: number;
    };

interface Question {
  readonly about: Name | null;
  readonly scope: string;
  readonly where: string;
  readonly server: string;
  /** How often the lock had changed when it was asked. */
  readonly lock: number;
  readonly since: number;
  readonly at: number;
  closed: boolean;
}

interface Release {
  readonly about: Name;
  readonly scope: string;
  readonly since: number;
  readonly at: number;
  started: number | null;
  ended: boolean;
}

/** The reference: `now` and the list of facts say everything. */
export class Model {
  now = 0;
  readonly facts: Fact[] = [];
  readonly questions: Question[] = [];
  readonly releases: Release[] = [];

  level(scope: string): 'low' | 'medium' | 'high' {
    return scope === 'notification:send' ? 'low' : scope === 'filesystem:read' ? 'medium' : 'high';
  }

  /** The place of the grant under which a scope may be used now, or what is in the way. */
  grant(scope: string): number | 'none' | 'taken' | 'never' | 'broken' {
    const place = this.facts.findLastIndex(
      (fact) =>
        'scope' in fact &&
        fact.scope === scope &&
        (fact.what === 'given' || fact.what === 'taken' || fact.what === 'never'),
    );
    const fact = this.facts[place];
    if (fact === undefined) return 'none';
    if (fact.what !== 'given') return fact.what as 'taken' | 'never';
    return this.after(place).some(({ what }) => what === 'broken') ? 'broken' : place;
  }

  after(place: number): Fact[] {
    return this.facts.slice(place + 1);
  }

  /** Whether what rested on the facts up to `since` still does. */
  rests(scope: string, tool: Name, since: number): boolean {
    const place = this.grant(scope);
    return (
      typeof place === 'number' &&
      place < since &&
      !this.facts.slice(since).some((fact) => fact.what === 'defined' && fact.tool === tool)
    );
  }

  isSilent(scope: string, tool: Name, where: string, server: string): boolean {
    const place = this.grant(scope) as number;
    const isHere = (fact: Fact, what: string) =>
      fact.what === what &&
      (fact as { scope: string }).scope === scope &&
      (fact as { where: string }).where === where &&
      (fact as { server: string }).server === server;
    const opened = this.facts.findLastIndex((fact) => isHere(fact, 'opened'));
    if (opened <= place || this.after(opened).some((fact) => fact.what === 'defined' && fact.tool === tool))
      return false;
    // What was allowed for the session was asked under a lock; under another one nothing is covered.
    if ((this.facts[opened] as { lock: number }).lock !== this.locks()) return false;
    const times = this.facts
      .slice(opened)
      .flatMap((fact) =>
        isHere(fact, 'opened') || isHere(fact, 'used') ? [(fact as { at: number }).at] : [],
      );
    return this.now - Math.max(...times) < DAY;
  }

  isDefinedSince(place: number, tool: Name): boolean {
    return this.after(place).some((fact) => fact.what === 'defined' && fact.tool === tool);
  }

  locks(): number {
    return this.facts.filter(({ what }) => what === 'locked').length;
  }

  /** What would come of a call now. */
  would(tool: Name, where: string, server = ''): string {
    if (where === 'group') return 'denied tool_not_supported_in_group';
    const scope = TOOLS[tool].permission_scope;
    const [level, grant] = [this.level(scope), this.grant(scope)];
    if (typeof grant !== 'number') return 'denied permission_revoked';
    if (level === 'low' && !this.isDefinedSince(grant, tool)) return 'allowed low-silent';
    const silent = level !== 'high' && where !== 'nowhere' && this.isSilent(scope, tool, where, server);
    return silent ? 'allowed medium-window' : 'asked';
  }

  call(tool: Name, where: string, server = ''): string {
    const said = this.would(tool, where, server);
    const scope = TOOLS[tool].permission_scope;
    if (said === 'allowed medium-window')
      this.facts.push({ what: 'used', scope, where, server, lock: this.locks(), at: this.now });
    if (said === 'asked')
      this.questions.push({
        about: tool,
        scope,
        where,
        server,
        lock: this.locks(),
        since: this.facts.length,
        at: this.now,
        closed: false,
      });
    if (said.startsWith('allowed')) this.release(tool, scope, '');
    return said;
  }

  release(about: Name, scope: string, by: string): string {
    this.releases.push({ about, scope, since: this.facts.length, at: this.now, started: null, ended: false });
    return `allowed ${by}`;
  }

  isOpen(question: Question): boolean {
    const { about, scope, since, at, closed } = question;
    if (closed || this.facts.slice(since).some(({ what }) => what === 'restarted')) return false;
    if (about === null)
      return !this.facts
        .slice(since)
        .some(
          (fact) =>
            fact.what === 'declared' ||
            (fact.what !== 'defined' &&
              'scope' in fact &&
              fact.scope === scope &&
              fact.what !== 'opened' &&
              fact.what !== 'used'),
        );
    if (this.level(scope) === 'high' && this.now - at >= 30_000) return false;
    return this.rests(scope, about, since);
  }

  answer(question: Question, choice: Choice, over: string, flaw: string): string {
    const level = this.level(question.scope);
    if (!this.isOpen(question) || flaw !== '') return 'refused';
    if (level === 'high' && over !== 'passkey') return 'refused';
    if (over === 'host' && question.where !== 'here') return 'refused';
    if ((choice === 'grant') !== (question.about === null) && choice !== 'deny-once' && choice !== 'never')
      return 'refused';
    if (choice === 'grant' && over === 'host' && this.grant(question.scope) !== 'none') return 'refused';
    if (choice === 'allow-session' && (level === 'high' || question.where === 'nowhere')) return 'refused';
    question.closed = true;
    const { scope, where, server, about } = question;
    if (choice === 'deny-once') return 'denied user_rejected';
    if (choice === 'never') {
      this.facts.push({ what: 'never', scope });
      return 'denied user_rejected';
    }
    if (choice === 'grant') {
      this.facts.push({ what: 'given', scope });
      return 'ok';
    }
    if (choice === 'allow-session')
      this.facts.push({ what: 'opened', scope, where, server, lock: question.lock, at: this.now });
    return this.release(
      about!,
      scope,
      level === 'high'
        ? 'high-allowed-once'
        : choice === 'allow-session'
          ? 'medium-session'
          : 'medium-allowed-once',
    );
  }

  request(scope: string): string {
    const grant = this.grant(scope);
    if (typeof grant === 'number') return 'refused';
    if (grant === 'never') return 'denied user_rejected';
    if (
      this.questions.some(
        (question) => question.about === null && question.scope === scope && this.isOpen(question),
      )
    )
      return 'refused';
    this.questions.push({
      about: null,
      scope,
      where: 'here',
      server: '',
      lock: this.locks(),
      since: this.facts.length,
      at: this.now,
      closed: false,
    });
    return 'asked';
  }

  give(scope: string, over: string): string {
    const grant = this.grant(scope);
    // Only a low scope has to be given again for the tools that came or changed since.
    const isOld = (name: Name) =>
      TOOLS[name].permission_scope !== scope || !this.isDefinedSince(grant as number, name);
    if (
      typeof grant === 'number' &&
      (this.level(scope) !== 'low' || (Object.keys(TOOLS) as Name[]).every(isOld))
    )
      return 'done';
    if (
      typeof grant !== 'number' &&
      ((over === 'host' && grant !== 'none') || (over !== 'passkey' && this.level(scope) === 'high'))
    )
      return 'refused';
    this.facts.push({ what: 'given', scope });
    return 'done';
  }

  take(scope: string): string {
    const grant = this.grant(scope);
    if (grant === 'none') return 'refused';
    if (grant !== 'never') this.facts.push({ what: 'taken', scope });
    return 'done';
  }

  start(release: Release, flaw: string): string {
    if (release.started !== null || release.ended || flaw !== '') return 'refused';
    if (this.now - release.at >= 300_000 || !this.rests(release.scope, release.about, release.since))
      return 'refused';
    release.started = this.now;
    return 'running';
  }

  finish(release: Release): string {
    if (release.started === null || release.ended) return 'refused';
    release.ended = true;
    return this.now - release.started >= 10_000 ? 'error timeout' : 'ok';
  }
}
