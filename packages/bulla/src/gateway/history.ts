import type { SessionFacts } from '@bulla/core/policy';
import type { Call } from '../record/index.ts';

/** Limit on the names of tools that are kept of a session. */
const MAX_TOOLS = 256;

/** What was done in a session, for rules: the calls of tools in the order of their intents, and the denials. */
export class History {
  readonly #id: string;
  #calls = 0;
  #denials = 0;
  #tools: readonly string[] = [];

  constructor(sessionId: string) {
    this.#id = sessionId;
  }

  get facts(): SessionFacts {
    return { id: this.#id, calls: this.#calls, denials: this.#denials, tools: this.#tools };
  }

  /** A call begins. Returns what was done before it. */
  began({ tool, request }: Call): SessionFacts {
    const before = this.facts;
    if (tool !== undefined && request.startsWith('tools/call ')) {
      this.#calls++;
      this.#tools = [...this.#tools.slice(1 - MAX_TOOLS), tool.name];
    }
    return before;
  }

  denied(): void {
    this.#denials++;
  }
}
