// npm run -s inspector -- [FOLDER]
//
// Asks servers by the command line of the MCP Inspector, with and without `bulla guard`, in both eras, over standard
// streams and over HTTP (with a token, and with --no-token), and prints a line for each answer that differs.
// FOLDER has the Inspector in its node_modules; without it, one is installed in a folder that is removed afterwards
// (110 MB, which is why it is no dependency of this repository).
//
// Exit code: 0 all answers are equal; 1 one differs, or the Inspector fails without the guard; 2 wrong usage.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

const VERSION = '2.12.0';
const root = resolve(import.meta.dirname, '..');
const bulla = [process.execPath, join(root, 'packages/bulla/dist/bulla.js')];
const home = mkdtempSync(join(tmpdir(), 'bulla-inspector-'));
const PASS = ['roots', 'sampling', 'elicitation'];
const TOKEN = 'the-token-of-the-desk';
// The Inspector has its settings, and Bulla its keys and records, where nobody has any.
const env = { PATH: process.env.PATH, HOME: home, BULLA_HOME: join(home, 'bulla'), DESK_TOKEN: TOKEN };

/** Servers, the eras that they speak themselves, and what they are asked for; `{}` stands before names. */
const SERVERS = {
  everything: {
    words: [
      process.execPath,
      join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'),
    ],
    eras: ['legacy'],
    asks: [
      'tools/list',
      'tools/call --tool-name {}echo --tool-args-json {"message":"hello"}',
      'tools/call --tool-name {}get-structured-content --tool-arg location=Chicago',
      'tools/call --tool-name {}get-sum --tool-args-json {"a":1,"b":2}',
      'resources/list',
      'resources/templates/list',
      'resources/read --uri demo://resource/static/document/features.md',
      'prompts/list',
      'prompts/get --prompt-name {}args-prompt --prompt-args city=Bern',
    ],
  },
  modern: {
    words: [process.execPath, join(root, 'packages/bulla/test/servers/modern.ts')],
    eras: ['legacy', 'modern'],
    asks: [
      'tools/list',
      'tools/call --tool-name {}add --tool-args-json {"a":1,"b":2}',
      'resources/list',
      'resources/templates/list',
      'resources/read --uri ui://modern/page.html',
      'resources/read --uri note://7',
      'prompts/list',
      'prompts/get --prompt-name {}greet --prompt-args name=you',
    ],
  },
};

function inspectorIn(folder) {
  const file = join(folder, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
  if (existsSync(file)) return file;
  if (folder !== home) {
    process.stderr.write(`There is no Inspector in ${folder}.\nusage: npm run -s inspector -- [FOLDER]\n`);
    process.exit(2);
  }
  const words = ['install', '--ignore-scripts', '--silent', '--prefix', home];
  execFileSync('npm', [...words, `@modelcontextprotocol/inspector@${VERSION}`], { stdio: 'inherit' });
  return file;
}

/** What the Inspector prints: the result, or the error. */
function ask(inspector, era, method, to) {
  const words = [
    '--cli',
    '--format',
    'json',
    '--quiet',
    '--protocol-era',
    era,
    '--method',
    ...method.split(' '),
  ];
  return new Promise((done) => {
    execFile(process.execPath, [inspector, ...words, ...to], { env, cwd: home }, (error, stdout, stderr) =>
      done(error ? `exit ${error.code}: ${stderr}` : JSON.parse(stdout).result),
    );
  });
}

/** Starts `bulla guard` with a host behind HTTP, and gives its address. */
async function listening(words) {
  const child = spawn(bulla[0], [bulla[1], 'guard', '--listen', '127.0.0.1:0', ...words], {
    env,
    cwd: home,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const chunk of child.stderr.setEncoding('utf8')) {
    const url = /listening on (\S+)/.exec(chunk)?.[1];
    if (url !== undefined) return { url, child };
  }
  throw new Error('The guard does not listen.');
}

/** Without what only one era has, and with the names that the server gives. */
function plain(answer, prefix) {
  if (typeof answer === 'string') return answer;
  const { _meta, ttlMs, cacheScope, ...rest } = answer;
  for (const item of [...(rest.tools ?? []), ...(rest.prompts ?? [])]) {
    delete item.execution;
    if (item.name.startsWith(prefix)) item.name = item.name.slice(prefix.length);
  }
  return rest;
}

/** Of the list of several servers, the part of one. */
function partOf(answer, prefix) {
  if (prefix === '' || typeof answer === 'string') return answer;
  const own = (list) => list.filter(({ name }) => name.startsWith(prefix));
  return {
    ...answer,
    ...(answer.tools && { tools: own(answer.tools) }),
    ...(answer.prompts && { prompts: own(answer.prompts) }),
  };
}

async function run(inspector) {
  const config = join(home, 'bulla.json');
  const members = Object.entries(SERVERS).map(([key, { words }]) => {
    execFileSync(bulla[0], [bulla[1], 'lock', '--quiet', '-o', join(home, `${key}.json`), '--', ...words], {
      env,
    });
    return [key, { command: words[0], args: words.slice(1), lock: `${key}.json`, pass: PASS }];
  });
  const agents = { desk: { token: 'env:DESK_TOKEN' } };
  writeFileSync(config, JSON.stringify({ servers: Object.fromEntries(members), agents }));
  const several = await listening(['--config', config]);
  const started = [several.child];
  let [count, different] = [0, 0];
  try {
    for (const [key, { words, eras, asks }] of Object.entries(SERVERS)) {
      const guard = ['--lock', join(home, `${key}.json`), '--pass', ...PASS, '--', ...words];
      const alone = await listening(['--no-token', ...guard]);
      started.push(alone.child);
      const doors = [
        ['stdio', '', ['--', bulla[0], bulla[1], 'guard', ...guard]],
        ['http', '', ['--transport', 'http', '--server-url', alone.url]],
        [
          'several over http',
          `${key}_`,
          ['--transport', 'http', '--server-url', several.url, '--header', `Authorization: Bearer ${TOKEN}`],
        ],
      ];
      for (const method of asks) {
        const direct = {};
        for (const era of eras)
          direct[era] = plain(await ask(inspector, era, method.replace('{}', ''), ['--', ...words]), '');
        for (const era of ['legacy', 'auto', 'modern']) {
          const expected = direct[era] ?? direct[eras.at(-1)];
          for (const [door, prefix, to] of doors) {
            const answer = await ask(inspector, era, method.replace('{}', prefix), to);
            const found = plain(partOf(answer, prefix), prefix);
            count++;
            const isOwn = prefix !== '' && method.startsWith('resources/') && method.endsWith('list');
            if (isOwn ? isWithin(expected, found) : isDeepStrictEqual(expected, found)) continue;
            different++;
            console.log(
              `${key} ${era} ${door}: ${method}\n  without  ${JSON.stringify(expected)}\n  with     ${JSON.stringify(found)}`,
            );
          }
        }
        if (Object.values(direct).some((answer) => typeof answer === 'string')) different++;
      }
    }
  } finally {
    for (const child of started) {
      child.kill();
      if (child.exitCode === null) await once(child, 'close');
    }
  }
  console.log(`${count} answers, ${different} differ`);
  return different === 0 ? 0 : 1;
}

/** Resources have no prefix: those of a server are among those of all. */
function isWithin(expected, found) {
  if (typeof found === 'string') return false;
  const [own, all] = [expected, found].map((answer) => Object.values(answer).flat());
  return own.every((item) => all.some((other) => isDeepStrictEqual(item, other)));
}

try {
  process.exitCode = await run(inspectorIn(resolve(process.argv[2] ?? home)));
} finally {
  rmSync(home, { recursive: true, force: true });
}
