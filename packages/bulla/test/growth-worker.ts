// Every reader of the shell with inputs that double in size, as that of core does it.

import { elements } from '../../core/src/verify/elements.ts';
import { printGrowth, type Reader, reader } from '../../core/test/steps.ts';
import { serverLines } from '../src/cli/lock/server-lines.ts';
import { readDocument, type Syntax } from '../src/discover/document.ts';
import { scrubbed, shownUrl, shownWords } from '../src/discover/secrets.ts';
import { matchesTemplate } from '../src/gateway/lists/uri.ts';
import { parseKeyring } from '../src/keys/keyring-file.ts';
import { readEvents } from '../src/mcp/events.ts';
import { parseFrame } from '../src/mcp/frame.ts';
import { asLine, lines } from '../src/os/index.ts';
import { readPackageLock } from '../src/pin/package-lock.ts';
import { contentsOf } from '../src/pin/untar.ts';
import { readCheckpointLines } from '../src/store/checkpoint-file.ts';
import { parseAddCheckpoint } from '../src/witness/request.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const list = (n: number, item: (i: number) => string) => Array.from({ length: n }, (_, i) => item(i));

/** Pieces as small as a hostile sender makes them, and as large as a pipe does. */
async function* pieces(text: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < text.length; i += size) yield text.subarray(i, i + size);
}

async function drained(source: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of source);
}

const STREAMS: Readonly<Record<string, (n: number) => Uint8Array>> = {
  'empty lines': (n) => bytes('\n'.repeat(n)),
  'short lines': (n) => bytes('{}\n'.repeat(n)),
  'one line': (n) => bytes('a'.repeat(n * 4)),
  'an object and empty lines': (n) => bytes(`{}${'\n'.repeat(n)}`),
  'a list': (n) => bytes(`[${list(n, () => '{"a":[1]}').join(',')}]`),
  'a list of white space': (n) => bytes(`[${' '.repeat(n)}`),
  'an open text': (n) => bytes(`["${'a'.repeat(n)}`),
  'open brackets': (n) => bytes('['.repeat(n)),
};
const both = (name: string, read: (source: AsyncIterable<Uint8Array>) => unknown, from?: number): Reader[] =>
  Object.entries(STREAMS).flatMap(([what, input]) => [
    reader(`${name}: ${what}, byte by byte`, input, (text) => read(pieces(text, 1)), from),
    reader(`${name}: ${what}, whole`, input, (text) => read(pieces(text, 1 << 16)), from),
  ]);

const SYNTAXES: readonly Syntax[] = ['json', 'jsonc', 'toml', 'yaml'];
const servers = (n: number, syntax: Syntax) => {
  if (syntax === 'toml') return list(n, (i) => `[s.s${i}]\ncommand = "x"\n`).join('');
  if (syntax === 'yaml') return `s:\n${list(n, (i) => `  s${i}:\n    command: x\n`).join('')}`;
  return `{"s":{${list(n, (i) => `"s${i}":{"command":"x"}`).join(',')}}}`;
};

const flat = (n: number, syntax: Syntax) => {
  if (syntax === 'toml') return list(n, (i) => `k${i} = 1\n`).join('');
  if (syntax === 'yaml') return list(n, (i) => `k${i}: 1\n`).join('');
  return `{${list(n, (i) => `"k${i}":1`).join(',')}}`;
};

const READERS: readonly Reader[] = [
  ...both('lines', (source) => drained(lines(source, 1 << 20))),
  ...both('elements', (source) => drained(elements(source, 1 << 20))),
  ...both(
    'serverLines',
    async (source) => {
      const shown = serverLines(() => undefined);
      for await (const chunk of source) shown.take(chunk);
      shown.end();
    },
    4000,
  ),
  ...Object.entries({
    'empty events': (n: number) => '\n\n'.repeat(n),
    'one event': (n: number) => `${'data: a\n'.repeat(n)}\n`,
    'one line': (n: number) => `data: ${'a'.repeat(n)}`,
    fields: (n: number) => 'id: a\n'.repeat(n),
  }).map(([what, text]) =>
    reader(
      `readEvents: ${what}`,
      (n) => bytes(text(n)),
      (body) => {
        const stream = new ReadableStream<Uint8Array>({
          start(controller) {
            for (let i = 0; i < body.length; i += 7) controller.enqueue(body.subarray(i, i + 7));
            controller.close();
          },
        });
        return readEvents(stream, 1 << 20, () => undefined);
      },
    ),
  ),
  ...Object.entries({
    'list of tools': (n: number) =>
      `{"jsonrpc":"2.0","id":1,"result":{"tools":[${list(n, (i) => `{"name":"t${i}"}`).join(',')}]}}`,
    members: (n: number) => `{"jsonrpc":"2.0","id":1,${list(n, (i) => `"k${i}":1`).join(',')}}`,
    'white space': (n: number) => `{"jsonrpc":"2.0","id":1,"method":"ping"${'\r'.repeat(n)}}`,
    separators: (n: number) => `{"jsonrpc":"2.0","id":1,"method":"${'\u2028'.repeat(n)}"}`,
  }).flatMap(([what, text]) => [
    reader(
      `parseFrame: ${what}`,
      (n) => bytes(text(n)),
      (frame) => parseFrame(frame, { spans: true }),
    ),
    reader(`asLine: ${what}`, (n) => bytes(text(n)), asLine),
  ]),
  ...SYNTAXES.map((syntax) =>
    reader(
      `readDocument: ${syntax}`,
      (n) => bytes(servers(n, syntax)),
      (text) => readDocument(text, syntax),
      100,
    ),
  ),
  ...SYNTAXES.map((syntax) =>
    reader(
      `readDocument: ${syntax}, many keys`,
      (n) => bytes(flat(n, syntax)),
      (text) => readDocument(text, syntax),
    ),
  ),
  reader(
    'shownWords',
    (n) => list(n, (i) => `--token=${i}`),
    (args) => shownWords('x', args),
  ),
  reader('shownUrl', (n) => `https://a@b/?${'a=b&'.repeat(n)}`, shownUrl),
  reader(
    'scrubbed',
    (n) => 'secret '.repeat(n),
    (text) => scrubbed(text, ['secret']),
  ),
  reader(
    'matchesTemplate',
    (n) => 'a/'.repeat(n),
    (uri) => matchesTemplate('file:///{+path}/{b}/{c}', `file:///${uri}`),
  ),
  reader(
    'parseKeyring',
    (n) => bytes(`{"version":1,"active_epoch":0,"epochs":[${list(n, (i) => `{"epoch":${i}}`).join(',')}]}`),
    parseKeyring,
  ),
  reader('readCheckpointLines', (n) => 'a\n'.repeat(n), readCheckpointLines),
  reader('parseAddCheckpoint', (n) => bytes(`old 1\n${'AAAA\n'.repeat(n)}\nx\n`), parseAddCheckpoint),
  reader(
    'readPackageLock',
    (n) =>
      bytes(
        `{"lockfileVersion":3,"packages":{"":{},${list(n, (i) => `"node_modules/p${i}":{"version":"1.0.0"}`).join(',')}}}`,
      ),
    (text) => readPackageLock(text, {} as never),
  ),
  reader(
    'contentsOf',
    (n) => new Uint8Array(n * 512),
    (tarball) => contentsOf(tarball),
  ),
];

await printGrowth(READERS);
