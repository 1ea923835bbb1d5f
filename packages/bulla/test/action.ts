import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { repo, temporaryFolder } from './run.ts';

/** `action.yml`, as far as it is used here. */
export interface ActionFile {
  inputs: Record<string, { default?: string }>;
  outputs?: Record<string, { value: string }>;
  runs: {
    using: string;
    steps: {
      id?: string;
      name: string;
      if?: string;
      shell?: string;
      run?: string;
      uses?: string;
      env?: Record<string, string>;
    }[];
  };
}

/** The folders of the actions, in the checkout. */
export const CHECK = '.';
export const PUBLISH = 'publish';

export function readAction(checkout: string = repo, folder: string = CHECK): ActionFile {
  return parse(readFileSync(join(checkout, folder, 'action.yml'), 'utf8')) as ActionFile;
}

/** A checkout as a runner makes it: the files of the repository, and nothing that was installed or built. */
export function freshCheckout(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-checkout-'));
  const { stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repo,
    encoding: 'utf8',
  });
  for (const file of stdout.split('\0').filter((name) => name !== '')) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    try {
      cpSync(join(repo, file), join(folder, file));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // deleted, and not yet in the index
    }
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * A folder to put before PATH, with an `npm` that installs what is installed here already. Everything else of the
 * set-up runs as it does on a runner.
 */
export function offlineNpm(): string {
  const folder = temporaryFolder();
  const script = `#!/bin/sh
case "$1" in
  ci) mkdir node_modules && cp -al ${repo}/node_modules/. node_modules/ && rm -rf node_modules/.bulla ;;
  rebuild) ;;
  *) echo "npm $*: not here" >&2; exit 1 ;;
esac
`;
  writeFileSync(join(folder, 'npm'), script, { mode: 0o755 });
  return folder;
}

interface Comment {
  id: number;
  user: { login: string; type: string };
  body: string;
}

/** Plays the part of GitHub's REST API that the action uses. */
export interface FakeGitHub {
  readonly url: string;
  readonly comments: Comment[];
  readonly uploads: { commit_sha: string; ref: string; sarif: string; tool_name: string }[];
  readonly calls: string[];
  /** From now on everything is answered with this status. */
  refuse(status: number): void;
}

export const TOKEN = 'ghs_T0kenOfTheJob0123456789';

export async function fakeGitHub(comments: Comment[] = []): Promise<FakeGitHub> {
  let refused: number | null = null;
  const uploads: FakeGitHub['uploads'] = [];
  const calls: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { method = '', url = '' } = request;
    calls.push(`${method} ${url}`);
    const answer = (status: number, value: unknown, headers: Record<string, string> = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(value));
    if (request.headers.authorization !== `Bearer ${TOKEN}`)
      return answer(401, { message: 'Bad credentials' });
    if (refused !== null) return answer(refused, { message: 'Resource not accessible by integration' });
    const body = text === '' ? null : JSON.parse(text);
    const path = new URL(url, 'http://x');
    if (method === 'GET' && path.pathname === '/repos/me/shop/issues/7/comments') {
      const page = Number(path.searchParams.get('page') ?? '1');
      const next =
        comments.length > page * 100
          ? { link: `<${address}${path.pathname}?per_page=100&page=${page + 1}>; rel="next"` }
          : {};
      return answer(200, comments.slice((page - 1) * 100, page * 100), next as Record<string, string>);
    }
    if (method === 'POST' && path.pathname === '/repos/me/shop/issues/7/comments') {
      const comment = {
        id: 1000 + comments.length,
        user: { login: 'github-actions[bot]', type: 'Bot' },
        body: body.body,
      };
      comments.push(comment);
      return answer(201, comment);
    }
    const [, id] = /^\/repos\/me\/shop\/issues\/comments\/(\d+)$/.exec(path.pathname) ?? [];
    const found = comments.find((comment) => comment.id === Number(id));
    if (method === 'PATCH' && found) {
      found.body = body.body;
      return answer(200, found);
    }
    if (method === 'POST' && path.pathname === '/repos/me/shop/code-scanning/sarifs') {
      uploads.push(body);
      return answer(202, { id: 'x', url: `${address}/x` });
    }
    return answer(404, { message: 'Not Found' });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => void server.close());
  return {
    url: address,
    comments,
    uploads,
    calls,
    refuse(status) {
      refused = status;
    },
  };
}

export interface JobResult {
  readonly isGreen: boolean;
  /** The exit codes of the steps that ran. */
  readonly exits: Record<string, number | null>;
  readonly log: string;
  readonly summary: string;
  readonly outputs: Record<string, string>;
}

export interface JobOptions {
  /** The checkout of the action. */
  readonly action: string;
  /** The checkout of the repository that uses it. */
  readonly workspace: string;
  readonly with?: Record<string, string>;
  readonly env?: Record<string, string>;
  readonly github?: FakeGitHub;
  /** Steps that are left out, by name. */
  readonly without?: readonly string[];
  readonly path?: string;
}

/**
 * Runs the two jobs of the example: the check, and then what publishes, on a machine of its own, with the report of the
 * first for its input.
 */
export async function runAction(options: JobOptions): Promise<JobResult> {
  const inputs = options.with ?? {};
  const isFor = (folder: string) => (name: string) =>
    Object.hasOwn(readAction(options.action, folder).inputs, name);
  const only = (folder: string) =>
    Object.fromEntries(Object.entries(inputs).filter(([name]) => isFor(folder)(name)));
  const checked = await runJob(CHECK, only(CHECK), options);
  const { report = '' } = checked.outputs;
  if (report === '') return checked;
  const published = await runJob(PUBLISH, { ...only(PUBLISH), report }, options);
  return {
    ...checked,
    isGreen: checked.isGreen && published.isGreen,
    exits: { ...checked.exits, ...published.exits },
    log: checked.log + published.log,
  };
}

/** Runs the steps of an action as a runner does: each `run` by its shell, expressions only where they stand. */
async function runJob(
  action: string,
  inputsGiven: Readonly<Record<string, string>>,
  options: JobOptions,
): Promise<JobResult> {
  const { inputs, outputs = {}, runs } = readAction(options.action, action);
  const folder = temporaryFolder();
  const event = join(folder, 'event.json');
  writeFileSync(event, JSON.stringify({ pull_request: { number: 7 } }));
  const steps: Record<string, Record<string, string>> = {};
  const github = { token: TOKEN };
  const given: Record<string, string> = {};
  for (const [name, { default: usual = '' }] of Object.entries(inputs))
    given[name] = inputsGiven[name] ?? filled(usual, { inputs: {}, steps, github });
  const context = { inputs: given, steps, github };
  const summary = join(folder, 'summary.md');
  writeFileSync(summary, '');
  const exits: JobResult['exits'] = {};
  let log = '';
  let isGreen = true;
  for (const [i, step] of runs.steps.entries()) {
    if (options.without?.includes(step.name)) continue;
    if (step.if === undefined ? !isGreen : !holds(step.if, context)) continue;
    const output = join(folder, `output-${i}`);
    writeFileSync(output, '');
    const env = Object.fromEntries(
      Object.entries(step.env ?? {}).map(([name, value]) => [name, filled(value, context)]),
    );
    const { status, text } = await bash(step.run!, options.workspace, {
      PATH: `${options.path ? `${options.path}:` : ''}${process.env.PATH}`,
      HOME: folder,
      GITHUB_ACTIONS: 'true',
      GITHUB_ACTION: '__me_bulla',
      GITHUB_ACTION_PATH: join(options.action, action),
      GITHUB_ENV: join(folder, 'env'),
      GITHUB_PATH: join(folder, 'path'),
      GITHUB_API_URL: options.github?.url ?? 'http://127.0.0.1:1',
      GITHUB_EVENT_NAME: 'pull_request',
      GITHUB_EVENT_PATH: event,
      GITHUB_JOB: 'bulla',
      GITHUB_OUTPUT: output,
      GITHUB_REF: 'refs/pull/7/merge',
      GITHUB_REPOSITORY: 'me/shop',
      GITHUB_SHA: '0123456789abcdef0123456789abcdef01234567',
      GITHUB_STEP_SUMMARY: summary,
      GITHUB_WORKFLOW: 'Servers',
      GITHUB_WORKSPACE: options.workspace,
      RUNNER_TEMP: folder,
      ...options.env,
      ...env,
    });
    log += text;
    exits[step.name] = status;
    if (status !== 0) isGreen = false;
    if (step.id !== undefined) steps[step.id] = readOutputs(readFileSync(output, 'utf8'));
  }
  return {
    isGreen,
    exits,
    log,
    summary: readFileSync(summary, 'utf8'),
    outputs: Object.fromEntries(
      Object.entries(outputs).map(([name, { value }]) => [name, filled(value, context)]),
    ),
  };
}

interface Context {
  readonly inputs: Record<string, string>;
  readonly steps: Record<string, Record<string, string>>;
  readonly github: { token: string };
}

function filled(text: string, context: Context): string {
  return text.replace(/\$\{\{(.*?)\}\}/g, (_, expression: string) => expressed(expression.trim(), context));
}

function expressed(expression: string, { inputs, steps, github }: Context): string {
  const [, input] = /^inputs\.([\w-]+)$/.exec(expression) ?? [];
  if (input !== undefined && Object.hasOwn(inputs, input)) return inputs[input]!;
  const [, step, output] = /^steps\.(\w+)\.outputs\.([\w-]+)$/.exec(expression) ?? [];
  if (step !== undefined) return steps[step]?.[output!] ?? '';
  if (expression === 'github.token') return github.token;
  throw new Error(`The expression ${expression} is not known here.`);
}

function holds(text: string, context: Context): boolean {
  const expression = text.replace(/^\$\{\{(.*)\}\}$/s, '$1');
  return expression.split('&&').every((part) => {
    if (part.trim() === '!cancelled()') return true;
    const [, left] = /^\s*(\S+)\s*!=\s*''\s*$/.exec(part) ?? [];
    if (left === undefined) throw new Error(`The condition ${part} is not known here.`);
    return expressed(left, context) !== '';
  });
}

function readOutputs(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name, , value] of text.matchAll(/^([\w-]+)<<(\S+)\n([\s\S]*?)\n\2$/gm)) found[name!] = value!;
  return found;
}

/** As `shell: bash` runs a step. */
function bash(
  script: string,
  cwd: string,
  env: Record<string, string>,
): Promise<{ status: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        text += chunk;
      });
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, text }));
  });
}
