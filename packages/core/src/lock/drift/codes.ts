import type { Severity } from './item.ts';

interface Row {
  /** In a few words, for a table. */
  readonly label: string;
  /** Why it is told. */
  readonly help: string;
  /** The worst that a difference of this code can be. */
  readonly severity: Severity;
}

const ADDED = 'Nobody has approved it yet.';
const REMOVED = 'Who calls it fails, and its name is free for another.';
const RENAMED = 'Who calls it by the old name fails. The definition is otherwise the same.';

/** Every code of a difference. They are stable. */
export const DRIFT_CODES = {
  'tool-added': { label: 'tool added', help: ADDED, severity: 'critical' },
  'tool-removed': { label: 'tool removed', help: REMOVED, severity: 'critical' },
  'tool-renamed': { label: 'tool renamed', help: RENAMED, severity: 'critical' },
  'tool-left-out-changed': {
    label: 'left-out tool changed',
    help: 'Nobody approved it. Read it again before you do.',
    severity: 'info',
  },
  'prompt-added': { label: 'prompt added', help: ADDED, severity: 'critical' },
  'prompt-removed': { label: 'prompt removed', help: REMOVED, severity: 'critical' },
  'prompt-renamed': { label: 'prompt renamed', help: RENAMED, severity: 'critical' },
  'resource-added': { label: 'resource added', help: ADDED, severity: 'critical' },
  'resource-removed': { label: 'resource removed', help: REMOVED, severity: 'critical' },
  'resource-renamed': { label: 'resource moved', help: RENAMED, severity: 'critical' },
  'template-added': { label: 'template added', help: ADDED, severity: 'critical' },
  'template-removed': { label: 'template removed', help: REMOVED, severity: 'critical' },
  'template-renamed': { label: 'template moved', help: RENAMED, severity: 'critical' },

  'description-changed': {
    label: 'description changed',
    help: 'A model obeys what it reads here, so this is what a poisoner edits.',
    severity: 'critical',
  },
  'title-changed': {
    label: 'title changed',
    help: 'People decide by what they read here.',
    severity: 'critical',
  },
  'name-changed': {
    label: 'display name changed',
    help: 'People decide by what they read here.',
    severity: 'critical',
  },
  'instructions-changed': {
    label: 'instructions changed',
    help: 'A host gives the instructions of a server to the model.',
    severity: 'critical',
  },
  'text-added': {
    label: 'text in a schema changed',
    help: 'A model reads sentences in values and names as well.',
    severity: 'critical',
  },

  'input-schema-changed': {
    label: 'input schema changed',
    help: 'What callers may send is not what was approved.',
    severity: 'critical',
  },
  'output-schema-changed': {
    label: 'output schema changed',
    help: 'What callers get back is not what was approved.',
    severity: 'critical',
  },
  'annotation-changed': {
    label: 'annotation changed',
    help: 'Hosts ask less for tools that call themselves harmless.',
    severity: 'critical',
  },
  'execution-changed': {
    label: 'execution changed',
    help: 'The tool asks to be run in another way.',
    severity: 'moderate',
  },
  'meta-changed': { label: 'metadata changed', help: 'Hosts may act on it.', severity: 'moderate' },
  'icons-changed': {
    label: 'icons changed',
    help: 'It looks different, and hosts fetch icons from where it says.',
    severity: 'moderate',
  },
  'mime-type-changed': {
    label: 'media type changed',
    help: 'What is read will be taken for something else.',
    severity: 'critical',
  },
  'template-changed': {
    label: 'template changed',
    help: 'The template is not the one that was locked.',
    severity: 'critical',
  },
  'member-changed': {
    label: 'member changed',
    help: 'The definition differs in a member whose meaning is not known here.',
    severity: 'critical',
  },
  'risk-changed': {
    label: 'risk level changed',
    help: 'The words by which the released program counts risk are others now.',
    severity: 'moderate',
  },

  'arguments-changed': {
    label: 'arguments changed',
    help: 'The prompt takes other arguments than those that were locked.',
    severity: 'critical',
  },
  'argument-added': { label: 'argument added', help: 'The prompt takes more.', severity: 'critical' },
  'argument-removed': {
    label: 'argument removed',
    help: 'Who gives this argument to the prompt fails, or is not heard.',
    severity: 'critical',
  },
  'argument-required': {
    label: 'argument now required',
    help: 'Who leaves it out fails.',
    severity: 'critical',
  },
  'argument-optional': {
    label: 'argument now optional',
    help: 'The prompt works without it.',
    severity: 'critical',
  },
  'argument-changed': {
    label: 'argument changed',
    help: 'An argument of the prompt is described differently.',
    severity: 'critical',
  },
  'arguments-reordered': {
    label: 'arguments reordered',
    help: 'Hosts may ask for them in this order.',
    severity: 'info',
  },

  'capability-added': { label: 'capability added', help: 'The server can do more.', severity: 'moderate' },
  'capability-removed': {
    label: 'capability removed',
    help: 'The server can do less.',
    severity: 'moderate',
  },
  'capability-changed': {
    label: 'capability changed',
    help: 'What the server says it can do differs.',
    severity: 'moderate',
  },
  'server-name-changed': {
    label: 'server name changed',
    help: 'The server calls itself something else. The name proves nothing, but people decide by it.',
    severity: 'critical',
  },
  'server-version-changed': {
    label: 'server version changed',
    help: 'The server says that it is another version of itself.',
    severity: 'info',
  },
  'protocol-changed': {
    label: 'protocol version changed',
    help: 'The server speaks another version of the protocol; an older one knows fewer safeguards.',
    severity: 'moderate',
  },
  'identity-changed': {
    label: 'server identity changed',
    help: 'The lock was made of another program or address.',
    severity: 'critical',
  },
  'command-changed': {
    label: 'server command changed',
    help: 'The lock was made with another command line, as far as its text tells.',
    severity: 'moderate',
  },
  'authorization-changed': {
    label: 'authorization changed',
    help: 'A server may show other tools to other callers, so a lock holds for one of them.',
    severity: 'moderate',
  },
  'artifact-changed': {
    label: 'artifact changed',
    help: 'The program of the server comes from elsewhere.',
    severity: 'critical',
  },
  'exclusions-changed': {
    label: 'exclusions changed',
    help: 'One of the locks watches less than the other.',
    severity: 'moderate',
  },
  'content-changed': {
    label: 'content changed',
    help: 'What lies behind an address of a definition is not what was locked.',
    severity: 'critical',
  },
  'content-unread': {
    label: 'content not readable',
    help: 'What was locked by its content cannot be read now, so nobody can say whether it changed.',
    severity: 'critical',
  },
  'content-unpinned': {
    label: 'content not pinned',
    help: 'What lies behind an address of a definition can change unnoticed.',
    severity: 'moderate',
  },

  'hidden-characters': {
    label: 'hidden characters',
    help: 'A person does not see what the model reads.',
    severity: 'critical',
  },
  'mixed-script': {
    label: 'mixed scripts',
    help: 'Letters of another alphabet that look the same hide a word from filters and people.',
    severity: 'critical',
  },
  'destination-added': {
    label: 'new destination',
    help: 'A text that names an address or a file can send a model there.',
    severity: 'critical',
  },
  'tool-referenced': {
    label: 'names another tool',
    help: 'A text about one tool that speaks of another can change how that one is used.',
    severity: 'critical',
  },
  'order-added': {
    label: 'gives orders',
    help: 'The text speaks to the model, not about the tool.',
    severity: 'critical',
  },
  'secret-named': {
    label: 'speaks of secrets',
    help: 'A text that asks for secrets, or for what was said before, can make a model hand them over.',
    severity: 'critical',
  },
  'encoded-text': {
    label: 'encoded text',
    help: 'A person cannot read what a model may decode.',
    severity: 'critical',
  },
  'confusable-name': {
    label: 'look-alike name',
    help: 'A name that is taken for another gets the calls that were meant for it.',
    severity: 'critical',
  },
  'header-mirrored': {
    label: 'argument sent as header',
    help: 'The client copies the argument into an HTTP header, which others than the server can read.',
    severity: 'critical',
  },
  'client-steered': {
    label: 'steers the client',
    help: 'The definition makes the client show a page or act beyond the call.',
    severity: 'critical',
  },
  'not-lockable': {
    label: 'cannot be locked',
    help: 'The definition cannot be read in one way only, or leans on something outside itself.',
    severity: 'critical',
  },
} as const satisfies Readonly<Record<string, Row>>;

export type DriftCode = keyof typeof DRIFT_CODES;
