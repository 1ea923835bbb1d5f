// What the job that checks hands to the one that publishes. Servers ran in the first, as the user of the job, so the
// second takes every byte of it for a stranger's: a comment has of Markdown only what our reports are made of.
import { gunzipSync, gzipSync } from 'node:zlib';

/** What GitHub takes at most in a comment, in characters. */
export const MAX_COMMENT = 65_000;
/** A variable of the environment, by which the report reaches the script, may have 128 KiB. */
const MAX_PACKED = 120_000;
const MAX_UNPACKED = 2_000_000;
/** A log is mostly the same words again and again. */
const MAX_LOG = 32_000_000;
const OUTCOMES = ['pass', 'fail', 'undecided'];

/** Packs a report into one word. A log for which there is no room is left out. */
export function packReport({ outcome, differences, markdown, sarif }) {
  const pack = (report) => gzipSync(JSON.stringify(report)).toString('base64');
  const whole = pack({ outcome, differences, markdown, sarif });
  return whole.length <= MAX_PACKED ? whole : pack({ outcome, differences, markdown, sarif: null });
}

/** Unpacks it; null for what no check can have packed. */
export function readReport(text) {
  let report;
  try {
    report = JSON.parse(
      gunzipSync(Buffer.from(text, 'base64'), { maxOutputLength: MAX_UNPACKED }).toString(),
    );
  } catch {
    return null;
  }
  const { outcome, differences, markdown, sarif } = report ?? {};
  const isReport =
    OUTCOMES.includes(outcome) &&
    Number.isSafeInteger(differences) &&
    typeof markdown === 'string' &&
    sarif !== undefined;
  if (!isReport) return null;
  const log = sarif === null ? null : ourLog(sarif);
  if (log === null && sarif !== null) return null;
  return { outcome, differences, markdown: shownMarkdown(markdown), sarif: log };
}

/** What our logs are made of. */
const LOG_KEYS = new Set(
  `$schema version runs tool driver name rules id shortDescription fullDescription help text defaultConfiguration level
  properties tags security-severity invocations executionSuccessful toolExecutionNotifications message columnKind results
  ruleId ruleIndex locations physicalLocation artifactLocation uri region startLine logicalLocations fullyQualifiedName
  kind partialFingerprints bullaDrift/v1 change path severity prose automationDetails`.split(/\s+/),
);

/**
 * Packs a log anew, so that what was looked at is what is uploaded; null for one that is not made as ours are. Code
 * scanning takes the name of the tool and the category from the log: one under another name would replace, and so
 * close, what another tool found.
 */
function ourLog(packed) {
  if (typeof packed !== 'string') return null;
  try {
    const text = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_LOG }).toString();
    const log = JSON.parse(text, known);
    const isOurs = ({ tool, automationDetails }) =>
      tool.driver.name === 'Bulla' && /^bulla\/.+\/$/s.test(automationDetails.id);
    if (log.version !== '2.1.0' || log.runs.length === 0 || !log.runs.every(isOurs)) return null;
    return gzipSync(`${JSON.stringify(log, null, 2)}\n`).toString('base64');
  } catch {
    return null;
  }
}

function known(key, value) {
  if (!/^\d*$/.test(key) && !LOG_KEYS.has(key)) throw new Error('a log of ours has no such key');
  // A backslash escapes what comes after it. A bracket that is not escaped would end the text of a link.
  if (key === 'text' && value.replaceAll(/\\./gs, '').includes('](')) throw new Error('a link');
  return value;
}

/** A report as it may stand in a comment: as it is if it is made as ours are, else as one block of code. */
export function shownMarkdown(text) {
  if (text.length <= MAX_COMMENT && isOurs(text)) return text;
  return codeBlock(text.slice(0, MAX_COMMENT / 3 - 100));
}

/** A block of code that nothing in it can end. */
export function codeBlock(text) {
  const plain = text.replaceAll('\r', '\n').trimEnd();
  const longest = Math.max(2, ...Array.from(plain.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${plain}\n${fence}\n`;
}

const DETAILS = /^<details><summary>\S{1,2} <code>[A-Za-z0-9 &#;\u0080-\u{10ffff}]*<\/code><\/summary>$/u;
/** What stands between pieces of code. */
const PROSE = /^(?:### )?[^<>@[\]!*_~`\\&#\0-\x1f\x7f]*$/;

/** Whether a text has only what our reports have: headings, tables, what can be opened, code, and prose of our own. */
function isOurs(text) {
  const lines = text.split('\n');
  let fence = null;
  for (const [i, line] of lines.entries()) {
    if (fence !== null) {
      // A reader takes more lines for the end of a block than we write.
      if (line === fence) fence = null;
      else if (line.includes('\r') || endsBlock(line, fence)) return false;
      continue;
    }
    [, fence = null] = /^(`{3,})text$/.exec(line) ?? [];
    if (fence !== null) continue;
    // Until a line is empty, a reader takes what follows for HTML, in which backticks are no code.
    if (DETAILS.test(line) || line === '</details>') {
      if ((lines[i + 1] ?? '') !== '') return false;
    } else if (!isProse(line)) return false;
  }
  return fence === null;
}

function endsBlock(line, fence) {
  const [, run = ''] = /^ {0,3}(`+)[ \t]*$/.exec(line) ?? [];
  return run.length >= fence.length;
}

function isProse(line) {
  const rest = withoutCode(line.replace(/<code>[A-Za-z0-9 ./_&#;-]*<\/code>/g, ''));
  return rest !== null && PROSE.test(rest) && !/:\/\/|www\./i.test(rest);
}

/** A line without its pieces of code; null where a bar in one of them would end it, as in a table. */
function withoutCode(line) {
  const pieces = line.match(/`+|[^`]+/g) ?? [];
  // Where the next run of as many backticks is.
  const next = [];
  const last = new Map();
  for (let i = pieces.length - 1; i >= 0; i--) {
    next[i] = last.get(pieces[i]);
    last.set(pieces[i], i);
  }
  let rest = '';
  for (let i = 0; i < pieces.length; i++) {
    const end = pieces[i].startsWith('`') ? next[i] : undefined;
    if (end === undefined) {
      rest += pieces[i];
      continue;
    }
    if (pieces.slice(i, end).some((piece) => piece.includes('|'))) return null;
    i = end;
  }
  return rest;
}
