import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JsonObject, parse, textAt } from '@bulla/core/json';
import { parseProof } from '@bulla/core/log';
import { counted, visible } from '@bulla/core/text';
import { type Locked, lock, open, proveStored } from '../../app/index.ts';
import { storeSource, verifyChain } from '../../chain/index.ts';
import { loadKeyring } from '../../keys/index.ts';
import type { StdioTarget } from '../../mcp/index.ts';
import { VERSION } from '../../version.ts';
import type { Command } from '../command.ts';
import { typed } from '../guard/host-config.ts';
import { colors, print } from '../terminal/io.ts';

const SERVER = '@modelcontextprotocol/server-filesystem';
const SERVER_VERSION = '2026.8.31';
/** What the person in this story approves: reading, not writing. */
const APPROVED = ['list_directory', 'read_text_file', 'search_files'];

export function define(command: Command): void {
  command
    .helpText(
      `\nIn a temporary folder: pins a real tool server, guards it, makes an allowed and a forbidden call as a host would, and verifies the record.`,
    )
    .run(demo);
}

/** Where everything of the demo lies; nothing outside is touched. */
interface Folders {
  readonly home: string;
  readonly files: string;
  readonly lock: string;
}

async function demo(): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'bulla-demo-'));
  const folders = { home: join(root, 'home'), files: join(root, 'files'), lock: join(root, 'mcp-lock.json') };
  try {
    mkdirSync(folders.files);
    writeFileSync(join(folders.files, 'notes.txt'), 'Rent is due on Friday.\n');
    const server = serverFor(folders.files);
    await print(`${await pin(server, folders)}\n\n`);
    await print(`${await guarded(server, folders)}\n\n`);
    await print(`${await verified(folders)}\n\n`);
    await print(`Next: ${colors.bold(typed(['--help']))}, or README.md for your own servers.\n`);
    return;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** The server of this workspace; where there is none, npm brings it. */
function serverFor(files: string): StdioTarget {
  try {
    const script = createRequire(import.meta.url).resolve(`${SERVER}/dist/index.js`);
    readFileSync(script);
    return { kind: 'stdio', command: process.execPath, args: [script, files], env: [] };
  } catch {
    const args = ['-y', `${SERVER}@${SERVER_VERSION}`, files];
    return { kind: 'stdio', command: 'npx', args, env: [] };
  }
}

const title = (text: string) => colors.bold(text);
const row = (name: string, text: string) => `  ${colors.dim(name.padEnd(9))} ${text}`;

async function pin(server: StdioTarget, { lock: output }: Folders): Promise<string> {
  // There is no lockfile yet, so nothing can have changed.
  const done = (await lock({ output, server: [server.command, ...server.args], only: APPROVED })) as Locked;
  const { tools, prompts, resources } = done.surface;
  return [
    title('Pin: what the server offers, and what may be used'),
    row('server', `${SERVER}, on a folder with one file`),
    row(
      'offers',
      `${tools.length + done.leftOut.size} tools, ${prompts.length} prompts, ${resources.length} resources`,
    ),
    row('approved', `${APPROVED.join(', ')}; each by its whole definition`),
  ].join('\n');
}

/** Speaks to the guarded server as any host would: it does not know that somebody stands in between. */
async function guarded(server: StdioTarget, { home, files, lock }: Folders): Promise<string> {
  const [{ Client }, { StdioClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/client'),
    import('@modelcontextprotocol/client/stdio'),
  ]);
  const client = new Client({ name: 'demo-host', version: VERSION });
  const guard = ['guard', '--quiet', '--lock', lock, '--agent', 'demo', '--', server.command, ...server.args];
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [process.argv[1]!, ...guard],
      env: { PATH: process.env.PATH ?? '', BULLA_HOME: home },
      stderr: 'ignore',
    }),
  );
  try {
    const { tools } = await client.listTools();
    const call = async (name: string, args: Record<string, unknown>) => {
      try {
        const { content } = (await client.callTool({ name, arguments: args })) as {
          content: { text: string }[];
        };
        return `${colors.green('allowed')}  ${visible(content[0]!.text.trim())}`;
      } catch (error) {
        const { message, data } = error as { message: string; data?: { code?: string } };
        return `${colors.red('denied')}   ${visible(message)} ${colors.dim(`[${data?.code ?? 'unknown'}]`)}`;
      }
    };
    const path = join(files, 'notes.txt');
    const read = await call('read_text_file', { path });
    const write = await call('write_file', { path, content: 'Rent is paid.\n' });
    return [
      title('Guard: a host calls through bulla guard'),
      row('sees', tools.map(({ name }) => name).join(', ')),
      row('reads', read),
      row('writes', write),
      row('on disk', readFileSync(path, 'utf8').trim()),
    ].join('\n');
  } finally {
    await client.close();
  }
}

/** What an auditor does, with the public key alone. */
async function verified({ home }: Folders): Promise<string> {
  const keys = loadKeyring(join(home, 'keys')).epochs.map(({ publicKey }) => publicKey);
  await using at = await open(home, { access: 'read' });
  const { chain } = at;
  const { ok, count } = await verifyChain(await storeSource(chain), { keys });
  const records = (await Array.fromAsync(chain.records())).map(({ data }) => parse(data) as JsonObject);
  const denied = records.findIndex(
    (record) =>
      textAt(record, ['outcome', 'status'])! === 'blocked' && requestOf(record).startsWith('tools/call'),
  );
  const { size, text: proof } = await proveStored(at, String(denied));
  const { hashes } = parseProof(proof);
  return [
    title('Record: every call is sealed before it is made'),
    ...recordRows(records),
    row(
      'chain',
      ok
        ? colors.green(`good: ${counted(count, 'record')}, every hash, link and signature`)
        : colors.red('BAD'),
    ),
    row(
      'proof',
      `record ${denied}, the denial, is in a tree of ${size}: ${hashes.length} hashes and one signature show it`,
    ),
  ].join('\n');
}

/** A row for each record; what was left out of a list is one row together. */
function recordRows(records: readonly JsonObject[]): string[] {
  const rows: string[] = [];
  for (let i = 0; i < records.length; i++) {
    const first = i;
    while (isRemoval(records[i]!) && i + 1 < records.length && isRemoval(records[i + 1]!)) i++;
    const record = records[i]!;
    const what =
      i === first
        ? visible(requestOf(record))
        : `tools/list, ${i - first + 1} tools that are not in the lock`;
    const place = i === first ? String(i) : `${first}–${i}`;
    rows.push(
      row(
        place,
        `${textAt(record, ['outcome', 'status'])!.padEnd(8)} ${textAt(record, ['type'])!.padEnd(6)} ${what}`,
      ),
    );
  }
  return rows;
}

function isRemoval(record: JsonObject): boolean {
  return textAt(record, ['outcome', 'status'])! === 'blocked' && requestOf(record).startsWith('tools/list');
}

function requestOf(record: JsonObject): string {
  return textAt(record, ['trigger', 'request'])!;
}
