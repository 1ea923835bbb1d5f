import type { Severity } from './item.ts';

/** A row of the table: a label of a few words, why it is reported, and the worst that such a difference can be. */
const row = (severity: Severity) => (label: string, help: string) => ({ label, help, severity });
const [critical, moderate, info] = [row('critical'), row('moderate'), row('info')];

const ADDED = 'Nobody has approved it yet.';
const REMOVED = 'Who calls it fails, and its name is free for another.';
const RENAMED = 'Who calls it by the old name fails. The definition is otherwise the same.';

/** Every code of a difference. They are stable. */
export const DRIFT_CODES = {
  'tool-added': critical('tool added', ADDED),
  'tool-removed': critical('tool removed', REMOVED),
  'tool-renamed': critical('tool renamed', RENAMED),
  'tool-left-out-changed': info('left-out tool changed', 'Nobody approved it. Read it again before you do.'),
  'prompt-added': critical('prompt added', ADDED),
  'prompt-removed': critical('prompt removed', REMOVED),
  'prompt-renamed': critical('prompt renamed', RENAMED),
  'resource-added': critical('resource added', ADDED),
  'resource-removed': critical('resource removed', REMOVED),
  'resource-renamed': critical('resource moved', RENAMED),
  'template-added': critical('template added', ADDED),
  'template-removed': critical('template removed', REMOVED),
  'template-renamed': critical('template moved', RENAMED),

  'description-changed': critical(
    'description changed',
    'A model obeys what it reads here, so this is what a poisoner edits.',
  ),
  'title-changed': critical('title changed', 'People decide by what they read here.'),
  'name-changed': critical('display name changed', 'People decide by what they read here.'),
  'instructions-changed': critical(
    'instructions changed',
    'A host gives the instructions of a server to the model.',
  ),
  'text-added': critical('text in a schema changed', 'A model reads sentences in values and names as well.'),

  'input-schema-changed': critical('input schema changed', 'What callers may send is not what was approved.'),
  'output-schema-changed': critical(
    'output schema changed',
    'What callers get back is not what was approved.',
  ),
  'annotation-changed': critical(
    'annotation changed',
    'Hosts ask less for tools that call themselves harmless.',
  ),
  'execution-changed': moderate('execution changed', 'The tool asks to be run in another way.'),
  'meta-changed': moderate('metadata changed', 'Hosts may act on it.'),
  'icons-changed': moderate('icons changed', 'It looks different, and hosts fetch icons from where it says.'),
  'mime-type-changed': critical('media type changed', 'What is read will be taken for something else.'),
  'template-changed': critical('template changed', 'The template is not the one that was locked.'),
  'member-changed': critical(
    'member changed',
    'The definition differs in a member whose meaning is not known here.',
  ),
  'risk-changed': moderate(
    'risk level changed',
    'The words by which the released program counts risk are others now.',
  ),

  'arguments-changed': critical(
    'arguments changed',
    'The prompt takes other arguments than those that were locked.',
  ),
  'argument-added': critical('argument added', 'The prompt takes more.'),
  'argument-removed': critical(
    'argument removed',
    'Who gives this argument to the prompt fails, or is not heard.',
  ),
  'argument-required': critical('argument now required', 'Who leaves it out fails.'),
  'argument-optional': critical('argument now optional', 'The prompt works without it.'),
  'argument-changed': critical('argument changed', 'An argument of the prompt is described differently.'),
  'arguments-reordered': info('arguments reordered', 'Hosts may ask for them in this order.'),

  'capability-added': moderate('capability added', 'The server can do more.'),
  'capability-removed': moderate('capability removed', 'The server can do less.'),
  'capability-changed': moderate('capability changed', 'What the server says it can do differs.'),
  'server-name-changed': critical(
    'server name changed',
    'The server calls itself something else. The name proves nothing, but people decide by it.',
  ),
  'server-version-changed': info(
    'server version changed',
    'The server says that it is another version of itself.',
  ),
  'protocol-changed': moderate(
    'protocol version changed',
    'The server speaks another version of the protocol; an older one knows fewer safeguards.',
  ),
  'identity-changed': critical('server identity changed', 'The lock was made of another program or address.'),
  'command-changed': moderate(
    'server command changed',
    'The lock was made with another command line, as far as its text tells.',
  ),
  'authorization-changed': moderate(
    'authorization changed',
    'A server may show other tools to other callers, so a lock holds for one of them.',
  ),
  'artifact-changed': critical('artifact changed', 'The program of the server comes from elsewhere.'),
  'exclusions-changed': moderate('exclusions changed', 'One of the locks watches less than the other.'),
  'content-changed': critical(
    'content changed',
    'What lies behind an address of a definition is not what was locked.',
  ),
  'content-unread': critical(
    'content not readable',
    'What was locked by its content cannot be read now, so nobody can say whether it changed.',
  ),
  'content-unpinned': moderate(
    'content not pinned',
    'What lies behind an address of a definition can change unnoticed.',
  ),

  'hidden-characters': critical('hidden characters', 'A person does not see what the model reads.'),
  'mixed-script': critical(
    'mixed scripts',
    'Letters of another alphabet that look the same hide a word from filters and people.',
  ),
  'destination-added': critical(
    'new destination',
    'A text that names an address or a file can send a model there.',
  ),
  'tool-referenced': critical(
    'names another tool',
    'A text about one tool that speaks of another can change how that one is used.',
  ),
  'order-added': critical('gives orders', 'The text speaks to the model, not about the tool.'),
  'secret-named': critical(
    'speaks of secrets',
    'A text that asks for secrets, or for what was said before, can make a model hand them over.',
  ),
  'encoded-text': critical('encoded text', 'A person cannot read what a model may decode.'),
  'confusable-name': critical(
    'look-alike name',
    'A name that is taken for another gets the calls that were meant for it.',
  ),
  'header-mirrored': critical(
    'argument sent as header',
    'The client copies the argument into an HTTP header, which others than the server can read.',
  ),
  'client-steered': critical(
    'steers the client',
    'The definition makes the client show a page or act beyond the call.',
  ),
  'not-lockable': critical(
    'cannot be locked',
    'The definition cannot be read in one way only, or leans on something outside itself.',
  ),
};

export type DriftCode = keyof typeof DRIFT_CODES;
