import { BullaError } from '../error.ts';
import {
  type Check,
  integer,
  list,
  orNull,
  type Path,
  pointer,
  record,
  anyText as text,
  word,
} from '../json/index.ts';
import { CHANNELS } from './channel.ts';
import {
  ALLOWED_BY,
  CHOICES,
  DETAILS,
  GRANT_STATUSES,
  STAGES,
  type Subject,
  type Table,
  type Tables,
} from './rows.ts';
import { RAISES, SENSITIVITIES } from './sensitivity.ts';

// Rows come from a store, and stored files are not trusted: what is not exactly a row is refused, never guessed.

type Columns<Row> = { readonly [Name in keyof Required<Row>]: Check };

const natural = integer(0);

const level = word(...SENSITIVITIES);
const channel = word(...Object.keys(CHANNELS));
const rev = natural;
const commitment = record({ commitment: text, of: word('jcs', 'exact') });
const previous = {
  decision: text,
  server: orNull(text),
  declared: text,
  locked: orNull(text),
  args: commitment,
  at: natural,
};
const subject: Columns<Subject> = {
  id: text,
  call_id: orNull(text),
  kind: word('call', 'grant'),
  user: text,
  agent: text,
  scope: orNull(text),
  sensitivity: orNull(level),
  tool: orNull(text),
  server: orNull(text),
  server_tool: orNull(text),
  declared: orNull(text),
  locked: orNull(text),
  lock: orNull(text),
  args: orNull(commitment),
  timeout_ms: orNull(natural),
  manifest: orNull(text),
  grant: orNull(text),
  device: orNull(text),
  session: orNull(text),
  holder: orNull(text),
};

const TABLES: { readonly [T in Table]: Columns<Tables[T]> } = {
  manifests: {
    agent: text,
    version: natural,
    hash: text,
    bindings: text,
    breaking: natural,
    scopes: list(record({ id: text, sensitivity: level })),
    tools: list(
      record({
        name: text,
        permission_scope: text,
        sensitivity: level,
        digest: text,
        timeout_ms: natural,
        bound: orNull(record({ server: text, tool: text })),
        since: natural,
      }),
    ),
    rev,
  },
  disclosures: {
    digest: text,
    manifest: text,
    bindings: text,
    locale: text,
    who: text,
    channel,
    at: natural,
    rev,
  },
  grants: {
    id: text,
    scope: text,
    status: word(...GRANT_STATUSES),
    sensitivity: level,
    declared: natural,
    disclosure: orNull(text),
    who: text,
    channel,
    at: natural,
    rev,
  },
  silences: {
    scope: text,
    device: text,
    session: text,
    server: orNull(text),
    lock: orNull(text),
    tool: text,
    locked: orNull(text),
    grant: text,
    decision: text,
    shown: text,
    declared: natural,
    used_at: natural,
    until: natural,
    rev,
  },
  prompts: {
    ...subject,
    scope: text,
    sensitivity: level,
    manifest: text,
    raised: list(word(...RAISES)),
    asked: text,
    escalation: orNull(text),
    choices: list(word(...CHOICES)),
    devices: orNull(list(text)),
    previous: orNull(record(previous)),
    shown: text,
    opened_at: natural,
    expires_at: orNull(natural),
    rev,
  },
  decisions: {
    ...subject,
    stage: word(...STAGES),
    by: orNull(word(...ALLOWED_BY)),
    reason: orNull(text),
    detail: orNull(word(...DETAILS)),
    answer: orNull(
      record({
        who: text,
        choice: word(...CHOICES),
        channel,
        device: orNull(text),
        session: orNull(text),
        at: natural,
        escalation: orNull(text),
      }),
    ),
    shown: orNull(text),
    rests_on: orNull(text),
    decided_at: natural,
    start_before: orNull(natural),
    exec_hash: orNull(text),
    started_at: orNull(natural),
    ended_at: orNull(natural),
    rev,
  },
  approvals: { tool: text, ...previous, rev },
};

export const TABLE_NAMES = Object.keys(TABLES) as Table[];

const checks = Object.fromEntries(
  Object.entries(TABLES).map(([table, columns]) => [table, record({ ...columns })]),
) as Record<Table, Check>;

/** Throws `CONSENT_STATE` with the path below `at` unless the value is a row of the table. */
export function checkRow(table: Table, row: unknown, at: Path): void {
  checks[table].run(row, at, (_, where, sentence) => {
    throw new BullaError('CONSENT_STATE', sentence, { path: pointer(where) });
  });
}

export function isRow(table: Table, row: unknown): boolean {
  try {
    checkRow(table, row, []);
    return true;
  } catch {
    return false;
  }
}
