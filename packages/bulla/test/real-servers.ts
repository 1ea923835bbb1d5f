import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repo } from './run.ts';

type Values = Readonly<Record<string, unknown>>;

/** A server from npm, with a state of its own that can be put back. */
export interface RealServer {
  readonly key: string;
  /** Its command, as it stands after `--`. */
  readonly words: readonly string[];
  /** Variables that it sees. */
  readonly env: Readonly<Record<string, string>>;
  /** Values of arguments, by the names of properties, where any text would only lead to an error. */
  readonly values: Values;
  /** The same for single tools. */
  readonly valuesOf?: Readonly<Record<string, Values>>;
  /** Makes its state what it was in the beginning. */
  reset(): void;
}

function folderIn(home: string, name: string): string {
  const folder = join(realpathSync(home), name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

const module = (path: string) => [process.execPath, join(repo, 'node_modules', path)];

const everything = (): RealServer => ({
  key: 'everything',
  words: module('@modelcontextprotocol/server-everything/dist/index.js'),
  env: {},
  values: {
    // Without these, it waits for seconds and fetches a file from the network.
    ...{ duration: 0.02, steps: 2 },
    data: 'data:text/plain;base64,aGVsbG8=',
    ...{ resourceId: 1, resourceType: 'Text' },
  },
  reset() {},
});

function filesystem(home: string): RealServer {
  const folder = folderIn(home, 'files');
  const data = join(folder, 'data');
  const path = join(data, 'a.txt');
  return {
    key: 'files',
    words: [...module('@modelcontextprotocol/server-filesystem/dist/index.js'), folder],
    env: {},
    values: { path, paths: [path], content: 'one\nthree\n', oldText: 'one', pattern: '*.txt' },
    valuesOf: {
      create_directory: { path: join(data, 'new') },
      list_directory: { path: data },
      list_directory_with_sizes: { path: data },
      directory_tree: { path: data },
      search_files: { path: data },
      move_file: { source: join(data, 'b.txt'), destination: join(data, 'c.txt') },
    },
    reset() {
      rmSync(data, { recursive: true, force: true });
      mkdirSync(data);
      for (const name of ['a.txt', 'b.txt']) writeFileSync(join(data, name), 'one\ntwo\n');
    },
  };
}

function memory(home: string): RealServer {
  const file = join(home, 'memory.jsonl');
  const entity = { type: 'entity', name: 'first', entityType: 'thing', observations: ['old'] };
  return {
    key: 'memory',
    words: module('@modelcontextprotocol/server-memory/dist/index.js'),
    env: { MEMORY_FILE_PATH: file },
    values: { to: 'first', contents: ['new'], entityNames: ['none'] },
    reset: () => writeFileSync(file, JSON.stringify(entity)),
  };
}

const thinking = (): RealServer => ({
  key: 'thinking',
  words: module('@modelcontextprotocol/server-sequential-thinking/dist/index.js'),
  env: { DISABLE_THOUGHT_LOGGING: 'true' },
  values: {},
  reset() {},
});

function git(home: string): RealServer {
  const folder = folderIn(home, 'git');
  const path = join(folder, 'repository');
  const date = '2026-01-01T00:00:00Z';
  const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.org', GIT_AUTHOR_DATE: date };
  const by = { GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.org', GIT_COMMITTER_DATE: date };
  const run = (...args: string[]) =>
    execFileSync('git', args, { cwd: path, env: { ...process.env, ...who, ...by } });
  return {
    key: 'git',
    words: module('@cyanheads/git-mcp-server/dist/index.js'),
    env: { ...who, ...by, GIT_BASE_DIR: folder, MCP_LOG_LEVEL: 'silent' },
    values: { path, filePath: 'a.txt', object: 'HEAD', commits: ['side'], force: true },
    valuesOf: {
      git_add: { paths: ['a.txt'] },
      git_checkout: { target: 'main' },
      git_clone: { url: path, path: join(folder, 'clone') },
      git_init: { path: join(folder, 'new') },
      git_merge: { branch: 'side' },
      git_push: { force: false },
      git_rebase: { upstream: 'main' },
    },
    reset() {
      for (const name of ['repository', 'origin.git', 'clone', 'new'])
        rmSync(join(folder, name), { recursive: true, force: true });
      mkdirSync(path);
      run('init', '--quiet', '--initial-branch', 'main');
      writeFileSync(join(path, 'a.txt'), 'one\n');
      run('add', '.');
      run('commit', '--quiet', '-m', 'first');
      run('clone', '--quiet', '--bare', '.', '../origin.git');
      run('remote', 'add', 'origin', '../origin.git');
      run('fetch', '--quiet', 'origin');
      run('branch', '--quiet', '--set-upstream-to', 'origin/main');
      run('checkout', '--quiet', '-b', 'side');
      writeFileSync(join(path, 'b.txt'), 'two\n');
      run('add', '.');
      run('commit', '--quiet', '-m', 'second');
      run('checkout', '--quiet', 'main');
      writeFileSync(join(path, 'a.txt'), 'one\ntwo\n');
    },
  };
}

const context7 = (): RealServer => ({
  key: 'context7',
  words: module('@upstash/context7-mcp/dist/index.js'),
  // Nobody listens there: it must not reach the network, and what it says then is an answer as well.
  env: { CONTEXT7_API_URL: 'http://127.0.0.1:1' },
  values: {},
  reset() {},
});

/** Servers of everyday use, with their states in a folder. */
export function realServers(home: string): RealServer[] {
  return [everything(), filesystem(home), memory(home), thinking(), git(home), context7()];
}
