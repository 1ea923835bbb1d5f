// The work of action.yml (check) and publish/action.yml (publish), on nothing but Node and the built CLI. It runs on
// Node 20, because that is what runners have. Whatever servers wrote is data here: it reaches no shell and no workflow
// command, and the reports hold it only where it can be no markup. Servers run as the user of the job, so that nothing
// is trusted that a job holds in which they ran: publish runs in another one, and takes the report for a stranger's.
import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { codeBlock, MAX_COMMENT, packReport, readReport } from './action-report.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const SEVERITIES = ['critical', 'moderate', 'info', 'benign'];
const EXITS = { pass: 0, fail: 1, undecided: 3 };
/** What GitHub takes at most in a summary, with some room. */
const MAX_SUMMARY = 1_000_000;
const MAX_PAGES = 20;
const USAGE = 2;

/** Wrong use of the action. */
class Wrong extends Error {}

/** An answer of GitHub that is not what was asked for. */
class Refused extends Error {}

const lines = (text) =>
  (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

function flag(name, text) {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new Wrong(`The input ${name} is true or false.`);
}

/** The lockfiles that a line names. What is named and is not there was not checked, which is no pass. */
export function lockfiles(pattern) {
  const slash = pattern.lastIndexOf('/');
  const [folder, name] = [pattern.slice(0, slash + 1), pattern.slice(slash + 1)];
  const parts = name.split('*');
  if (folder.includes('*') || parts.length > 2)
    throw new Wrong('A lockfile is named with one * at most, in the last part of its path.');
  if (parts.length === 1) return [pattern];
  const [head, tail] = parts;
  const found = (existsSync(folder || '.') ? readdirSync(folder || '.') : []).filter(
    (file) =>
      file.startsWith(head) &&
      file.endsWith(tail) &&
      file.length >= name.length - 1 &&
      !file.endsWith('.dsse.json'),
  );
  if (found.length === 0) throw new Wrong('A pattern in the input locks fits no file.');
  return found.sort().map((file) => folder + file);
}

/** Node for the CLI: this one where it is new enough, else the one that set-up installed. */
function nodeFor() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 24 || (major === 24 && minor >= 15)) return process.execPath;
  return join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}

/** The environment without what belongs to the runner or gives rights on GitHub, whatever a lock names. */
export function withoutRights(env) {
  const isRight = (name) => /^(?:GITHUB_|RUNNER_|ACTIONS_|INPUT_|BULLA_TOKEN$|GH_)/i.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isRight(name)));
}

/** Prints what others wrote, so that the runner takes none of it for a command. */
function printSafely(text) {
  if (text === '') return;
  const fence = randomUUID();
  process.stdout.write(`::stop-commands::${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}::${fence}::\n`);
}

function setOutput(name, value) {
  const fence = randomUUID();
  appendFileSync(process.env.GITHUB_OUTPUT, `${name}<<${fence}\n${value}\n${fence}\n`);
}

/** The name of a file as code, in which a bar or a backtick does no harm. */
const codeSpan = (text) =>
  `<code>${text.replace(/[^A-Za-z0-9 ./_-]/gu, (c) => `&#${c.codePointAt(0)};`)}</code>`;

/** Joins reports while there is room, and counts the rest. */
export function joined(reports, max) {
  const kept = [];
  let used = 0;
  for (const report of reports) {
    used += Buffer.byteLength(report) + 1;
    if (used > max - 200) break;
    kept.push(report);
  }
  const left = reports.length - kept.length;
  if (left > 0)
    kept.push(`And ${left} more ${left === 1 ? 'report' : 'reports'}, for which there is no room here.\n`);
  return kept.join('\n');
}

/** The logs of all lockfiles as one, a run for each; code hosts tell runs apart by their category. */
export function mergedSarif(logs) {
  const runs = logs.flatMap(({ lock, log }) =>
    log.runs.map((run) => ({ ...run, automationDetails: { id: `bulla/${encodeURI(lock)}/` } })),
  );
  return { $schema: logs[0]?.log.$schema, version: '2.1.0', runs };
}

function checkOne(lock, folder, index, { failOn, isRequired, keys, isPinned }) {
  const [sarif, markdown] = [join(folder, `${index}.sarif`), join(folder, `${index}.md`)];
  const args = [
    'check',
    `--lock=${lock}`,
    `--fail-on=${failOn}`,
    `--report=sarif=${sarif}`,
    `--report=markdown=${markdown}`,
  ];
  if (isRequired) args.push('--require-signature');
  if (isPinned) args.push('--pinned');
  args.push(...keys.map((key) => `--key=${key}`));
  const { status, stdout, stderr, error } = spawnSync(
    nodeFor(),
    [join(root, 'packages', 'bulla', 'dist', 'bulla.js'), ...args],
    { encoding: 'utf8', env: { ...withoutRights(process.env), NO_COLOR: '1' }, maxBuffer: 1 << 28 },
  );
  if (error) throw error;
  process.stdout.write(`::group::${lock.replace(/[^\w./ -]/g, '_')}\n`);
  printSafely(stdout + stderr);
  process.stdout.write('::endgroup::\n');
  const isTold = existsSync(markdown) && existsSync(sarif);
  const outcome = status === 0 && isTold ? 'pass' : status === 1 ? 'fail' : 'undecided';
  if (isTold) {
    const log = JSON.parse(readFileSync(sarif, 'utf8'));
    return { lock, outcome, report: readFileSync(markdown, 'utf8'), log };
  }
  const mark = outcome === 'fail' ? '❌' : '⚠️';
  const word = outcome === 'fail' ? 'was refused' : 'could not be checked';
  return {
    lock,
    outcome,
    report: `### ${mark} ${codeSpan(lock)} ${word}\n\n${codeBlock(stderr || 'No reason was given.')}`,
    log: null,
  };
}

/** Checks every lockfile, each with one scan, writes the reports, and ends as the worst of them. */
function check() {
  const { BULLA_LOCKS, BULLA_FAIL_ON, BULLA_REQUIRE_SIGNATURE, BULLA_KEYS, BULLA_PINNED, GITHUB_EVENT_NAME } =
    process.env;
  // There, the job of the target repository would start what a stranger's lock names, with the repository's secrets.
  if (GITHUB_EVENT_NAME === 'pull_request_target')
    throw new Wrong(
      'This does not run on pull_request_target: a lock names programs to start. Use pull_request.',
    );
  if (!SEVERITIES.includes(BULLA_FAIL_ON))
    throw new Wrong(`The input fail-on is one of ${SEVERITIES.join(', ')}.`);
  const options = {
    failOn: BULLA_FAIL_ON,
    isRequired: flag('require-signature', BULLA_REQUIRE_SIGNATURE),
    keys: lines(BULLA_KEYS),
    isPinned: flag('pinned', BULLA_PINNED),
  };
  const locks = [...new Set(lines(BULLA_LOCKS).flatMap(lockfiles))];
  if (locks.length === 0) throw new Wrong('The input locks names no lockfile.');
  const folder = mkdtempSync(join(process.env.RUNNER_TEMP || tmpdir(), 'bulla-'));
  const results = locks.map((lock, i) => checkOne(lock, folder, i, options));
  const outcome = ['fail', 'undecided'].find((word) => results.some((one) => one.outcome === word)) ?? 'pass';
  const reports = results.map(({ report }) => report);
  const logs = results.filter(({ log }) => log !== null);
  const [sarif, markdown] = [join(folder, 'bulla.sarif'), join(folder, 'bulla.md')];
  writeFileSync(markdown, joined(reports, MAX_COMMENT));
  // Without a log of every lockfile, code scanning would take what it knows of the others for repaired.
  const isWhole = logs.length === results.length;
  if (isWhole) writeFileSync(sarif, `${JSON.stringify(mergedSarif(logs), null, 2)}\n`);
  const differences = logs.reduce((sum, { log }) => sum + log.runs[0].results.length, 0);
  if (process.env.GITHUB_STEP_SUMMARY)
    appendFileSync(process.env.GITHUB_STEP_SUMMARY, `${joined(reports, MAX_SUMMARY)}\n`);
  setOutput('outcome', outcome);
  setOutput('markdown', markdown);
  setOutput('sarif', isWhole ? sarif : '');
  const log = isWhole ? gzipSync(readFileSync(sarif)).toString('base64') : null;
  const text = readFileSync(markdown, 'utf8');
  setOutput('report', packReport({ outcome, differences, markdown: text, sarif: log }));
  process.stdout.write(outcome === 'pass' ? `${WORDS.pass}\n` : `::error title=Bulla::${WORDS[outcome]}\n`);
  process.exitCode = EXITS[outcome];
}

const WORDS = {
  pass: 'Every server is as it was locked, below the threshold.',
  fail: 'A server is not as it was locked.',
  undecided: 'A server could not be compared with its lock.',
};

/** Asks GitHub, with the job's token, which no message holds. Throws `Refused`. */
async function github(method, path, body) {
  const { GITHUB_API_URL = 'https://api.github.com', BULLA_TOKEN } = process.env;
  const response = await fetch(path.startsWith('http') ? path : `${GITHUB_API_URL}${path}`, {
    method,
    redirect: 'error',
    signal: AbortSignal.timeout(30_000),
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${BULLA_TOKEN}`,
      'user-agent': 'bulla-action',
      'x-github-api-version': '2022-11-28',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Refused(`GitHub answered ${response.status} to ${method}.`);
  return { value: await response.json(), next: nextPage(response.headers.get('link'), GITHUB_API_URL) };
}

/** The next page of a list, if it lies where the first one did. */
export function nextPage(link, base) {
  const [, url] = /<([^>]+)>;\s*rel="next"/.exec(link ?? '') ?? [];
  return url?.startsWith(`${base}/`) ? url : null;
}

/** By this line, which nobody sees, the next run finds its own comment. */
function marker() {
  const { GITHUB_WORKFLOW = '', GITHUB_JOB = '', GITHUB_ACTION = '' } = process.env;
  const id = createHash('sha256')
    .update(JSON.stringify([GITHUB_WORKFLOW, GITHUB_JOB, GITHUB_ACTION]))
    .digest('hex');
  return `<!-- bulla-check ${id.slice(0, 16)} -->`;
}

/** The comment of an earlier run. Anybody can write the marker, so that it counts only in a comment of a bot. */
async function earlierComment(repo, number, mark) {
  let page = `/repos/${repo}/issues/${number}/comments?per_page=100`;
  for (let i = 0; i < MAX_PAGES && page !== null; i++) {
    const { value, next } = await github('GET', page);
    const found = value.find(({ user, body }) => user?.type === 'Bot' && body?.startsWith(mark));
    if (found !== undefined) return found.id;
    page = next;
  }
  return null;
}

/** One comment on the pull request, the same one each time; none while there never was anything to say. */
async function comment({ outcome, differences, markdown }) {
  const { GITHUB_EVENT_NAME, GITHUB_EVENT_PATH, GITHUB_REPOSITORY: repo } = process.env;
  if (GITHUB_EVENT_NAME !== 'pull_request') return 'There is no pull request to comment on.';
  const number = JSON.parse(readFileSync(GITHUB_EVENT_PATH, 'utf8')).pull_request?.number;
  if (!Number.isSafeInteger(number) || !/^[\w.-]+\/[\w.-]+$/.test(repo ?? ''))
    throw new Wrong('The event names no pull request.');
  const mark = marker();
  const body = `${mark}\n${markdown}`;
  const id = await earlierComment(repo, number, mark);
  if (id !== null) {
    await github('PATCH', `/repos/${repo}/issues/comments/${id}`, { body });
    return 'The comment on the pull request is up to date.';
  }
  if (outcome === 'pass' && differences === 0) return 'Nothing changed: no comment is needed.';
  await github('POST', `/repos/${repo}/issues/${number}/comments`, { body });
  return 'The pull request has a comment.';
}

/** Hands the log to code scanning. */
async function upload({ sarif }) {
  const { GITHUB_REPOSITORY: repo, GITHUB_SHA, GITHUB_REF } = process.env;
  if (sarif === null) return 'There is no log of every lockfile: nothing is uploaded to code scanning.';
  await github('POST', `/repos/${repo}/code-scanning/sarifs`, {
    commit_sha: GITHUB_SHA,
    ref: GITHUB_REF,
    sarif,
    tool_name: 'Bulla',
  });
  return 'Code scanning has the result.';
}

/** Publishes as far as the token goes: what it may not do is a warning, and changes no verdict. */
async function publish() {
  const report = readReport(process.env.BULLA_REPORT ?? '');
  if (report === null) throw new Wrong('The input report is not the output of the check.');
  const wanted = [
    [flag('comment', process.env.BULLA_COMMENT), 'comment', comment],
    [flag('upload-sarif', process.env.BULLA_UPLOAD), 'upload', upload],
  ];
  for (const [isWanted, name, action] of wanted) {
    if (!isWanted) continue;
    try {
      process.stdout.write(`${await action(report)}\n`);
    } catch (error) {
      if (error instanceof Wrong) throw error;
      const reason = error instanceof Refused ? error.message : 'GitHub cannot be reached.';
      process.stdout.write(`::warning title=Bulla::The ${name} was not possible. ${reason}\n`);
    }
  }
}

const STEPS = { check, publish };

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const step = Object.hasOwn(STEPS, process.argv[2] ?? '') ? STEPS[process.argv[2]] : null;
  try {
    if (step === null) throw new Wrong(`Name one of ${Object.keys(STEPS).join(', ')}.`);
    await step();
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    process.stdout.write(`::error title=Bulla::${error.message}\n`);
    process.exitCode = USAGE;
  }
}
