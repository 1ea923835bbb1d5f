/** Whether a change makes people review what they allow, and why; and what it asks of whom. */
interface ChangeRule {
  readonly breaking: boolean;
  /** Where the decision comes from: the specification says so, or it leaves the case open and we decided. */
  readonly by: 'specification' | 'decision';
  readonly reason: string;
  /** What callers, or the people who allowed the agent, have to do; empty where it is nothing. */
  readonly todo: string;
}

const rule = (breaking: boolean, by: ChangeRule['by'], reason: string, todo = ''): ChangeRule => ({
  breaking,
  by,
  reason,
  todo,
});

/** Every change that is told, and its decision. Nothing else decides what is breaking. */
export const CHANGE_CODES = {
  'tool-removed': rule(true, 'specification', 'Calls of it fail from now on.', 'Callers: stop calling it.'),
  'tool-renamed': rule(
    true,
    'decision',
    'The old name is gone, which is a removal to callers; one body under two names is told once.',
    'Callers: use the new name.',
  ),
  'input-schema-changed': rule(
    true,
    'specification',
    'Any change of `input_schema` is breaking, also one that accepts the same.',
  ),
  'tool-scope-raised': rule(
    true,
    'specification',
    'The tool now needs a graver permission.',
    'People: allow the graver scope, or the tool is not called.',
  ),
  'tool-scope-lowered': rule(
    true,
    'decision',
    'The tool now runs with fewer questions, and nobody was asked whether it may.',
    'People: decide whether it may run with fewer questions.',
  ),
  'tool-scope-moved': rule(
    true,
    'decision',
    'The new scope may have been allowed for other tools; that permission would cover this one unasked.',
    'People: decide whether the other scope may cover this tool.',
  ),
  'tool-required': rule(
    true,
    'decision',
    'The agent now says that it cannot do without; people who refused the tool must know.',
    'People: decide whether to keep the agent.',
  ),
  'scope-removed': rule(
    true,
    'specification',
    'It can no longer be allowed.',
    'People: permissions for it end.',
  ),
  'scope-renamed': rule(
    true,
    'decision',
    'Permissions are kept by the id: the old one is gone, which is a removal, and the new one is not allowed yet.',
    'People: allow the new scope; permissions for the old one end.',
  ),
  'sensitivity-raised': rule(
    true,
    'specification',
    'Every tool of the scope now needs a graver permission.',
    'People: expect to be asked more often.',
  ),
  'sensitivity-lowered': rule(
    true,
    'decision',
    'Every tool of the scope now runs with fewer questions: silence would follow, so people decide first.',
    'People: decide whether its tools may run with fewer questions.',
  ),
  'flag-withdrawn': rule(
    true,
    'specification',
    'A capability that was announced is gone.',
    'Clients: stop offering it.',
  ),
  'tool-added': rule(false, 'specification', 'What was there is as it was.'),
  'scope-added': rule(false, 'specification', 'A new scope is not allowed until a person allows it.'),
  'tool-description-changed': rule(false, 'specification', 'Only words changed.'),
  'scope-label-changed': rule(false, 'specification', 'Only words changed.'),
  'scope-description-changed': rule(false, 'decision', 'Only words changed, as with a label.'),
  'flag-announced': rule(false, 'specification', 'A capability was added.'),
  'agent-version-changed': rule(false, 'specification', 'It is a note of the developer to themselves.'),
  'timeout-changed': rule(
    false,
    'decision',
    'How long a call may take is no permission; what may be called is as it was.',
  ),
  'tool-not-required': rule(false, 'decision', 'The agent now asks for less.'),
  'required-written': rule(
    false,
    'decision',
    'What was meant by leaving `required` out is now written, or the reverse.',
  ),
  'tools-reordered': rule(false, 'decision', 'The order of tools has no meaning.'),
  'scopes-reordered': rule(false, 'decision', 'The order of scopes has no meaning.'),
} as const satisfies Readonly<Record<string, ChangeRule>>;

/** The stable names of changes. */
export type ChangeCode = keyof typeof CHANGE_CODES;
