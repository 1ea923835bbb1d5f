import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { localSigner, privateKey, toUtf8, writePrivateKey, writePublicKey } from '@bulla/core/crypto';
import { type JsonObject, parse } from '@bulla/core/json';
import { signLock, writeLock } from '@bulla/core/lock';
import { isOwnProcess, type Result, run } from './command-host.ts';
import { repo, temporaryFolder } from './run.ts';

/** What a test's server shows; a list that is a string is sent as it is. */
export interface TestSurface {
  serverInfo?: object;
  instructions?: string;
  capabilities?: object;
  tools?: object[] | string;
  prompts?: object[] | string;
  resources?: object[] | string;
  resourceTemplates?: object[] | string;
  contents?: Record<string, string>;
}

export interface TestServer {
  /** What stands after `--`. */
  readonly words: readonly string[];
  /** From now on the server shows this. */
  show(surface: TestSurface): void;
}

/** A server in a process of its own that shows what the test says. */
export function surfaceServer(surface: TestSurface): TestServer {
  const file = join(temporaryFolder(), 'surface.json');
  const show = (next: TestSurface) => writeFileSync(file, JSON.stringify(next));
  show(surface);
  return { words: [process.execPath, join(repo, 'packages/bulla/test/servers/surface.mjs'), file], show };
}

/** Runs the built CLI in a folder, with a home of its own there; the first call of each command in a file by itself. */
export function bullaIn(
  folder: string,
  args: readonly string[],
  env: Record<string, string> = {},
  before = '',
): Promise<Result> {
  const call = {
    ...{ args, cwd: folder },
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      BULLA_HOME: join(folder, 'home'),
      ...env,
    },
  };
  if (before === '' && !isOwnProcess(call)) return run(call);
  const program = [process.execPath, join(repo, 'packages/bulla/dist/bulla.js')];
  const [file, ...words] =
    before === ''
      ? [...program, ...args]
      : ['/bin/sh', '-c', `${before}; exec "$0" "$@"`, ...program, ...args];
  return new Promise((resolve, reject) => {
    const child = spawn(file!, words, { cwd: folder, env: call.env, stdio: ['ignore', 'pipe', 'pipe'] });
    const result = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => {
      result.stdout += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      result.stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, ...result }));
  });
}

export function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** A surface with a little of everything. */
export const SHOP: TestSurface = {
  serverInfo: { name: 'shop', version: '1.0.0' },
  instructions: 'Ask before you order.',
  tools: [
    {
      name: 'search',
      description: 'Finds articles by their name.',
      inputSchema: {
        type: 'object',
        properties: { query: { type: 'string', maxLength: 100 } },
        required: ['query'],
      },
      annotations: { readOnlyHint: true },
    },
    {
      name: 'order',
      description: 'Orders an article.',
      inputSchema: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
    },
  ],
  prompts: [{ name: 'advise', description: 'Advises.', arguments: [{ name: 'topic', required: true }] }],
  resources: [{ uri: 'shop://terms', name: 'terms' }],
  resourceTemplates: [{ uriTemplate: 'shop://article/{id}', name: 'article' }],
};

/** A lock of a surface, as `bulla lock` writes it. */
export function lockOf(
  surface: TestSurface,
  words: readonly string[] = ['shop-server'],
  env: readonly string[] = [],
): Uint8Array {
  const json = (value: unknown) => parse(JSON.stringify(value));
  const list = (items: object[] | string | undefined) => json(items ?? []) as JsonObject[];
  const { text } = writeLock(
    {
      protocolVersion: '2025-11-25',
      era: 'initialize',
      serverInfo: json(surface.serverInfo ?? { name: 'surface', version: '1.0.0' }) as JsonObject,
      instructions: surface.instructions ?? null,
      capabilities: json(surface.capabilities ?? { tools: {}, prompts: {}, resources: {} }) as JsonObject,
      tools: list(surface.tools),
      prompts: list(surface.prompts),
      resources: list(surface.resources),
      resourceTemplates: list(surface.resourceTemplates),
      contents: [],
    },
    {
      generator: 'bulla test',
      updatedAt: new Date(1_700_000_000_000),
      identity: { transport: 'stdio', command: words[0]!, args: words.slice(1), env },
    },
  );
  return toUtf8(text);
}

/** A folder with a lock, and two pairs of keys: `private.key` and `public.key`, `other.key` and `other.pub`. */
export function lockedFolder(surface: TestSurface = SHOP, words?: readonly string[]): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'mcp-lock.json'), lockOf(surface, words));
  for (const [seed, secret, open] of [
    [1, 'private.key', 'public.key'],
    [2, 'other.key', 'other.pub'],
  ] as const) {
    const key = privateKey('Ed25519', new Uint8Array(32).fill(seed)); // test keys
    writeFileSync(join(folder, secret), writePrivateKey(key, 'lock-pem'), { mode: 0o600 });
    writeFileSync(join(folder, open), writePublicKey(key.publicKey, 'lock-pem'));
  }
  return folder;
}

/** Signs the lock of a folder with its `private.key`, in the released program's form. */
export async function signFolder(folder: string): Promise<void> {
  const lock = readFileSync(join(folder, 'mcp-lock.json'));
  const signer = localSigner('Ed25519', new Uint8Array(32).fill(1));
  writeFileSync(join(folder, 'mcp-lock.json.sig'), await signLock(new Uint8Array(lock), signer));
}
