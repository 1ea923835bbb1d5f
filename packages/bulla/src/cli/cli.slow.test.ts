import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { profiles } from '@bulla/core/canon';
import { describe, expect, test } from 'vitest';
import { bulla, repo, temporaryFolder } from '../../test/run.ts';

describe('the program', () => {
  test('lists its commands and exit codes', () => {
    const { status, stdout } = bulla(['--help']);
    expect(status).toBe(0);
    for (const name of ['canon', 'hash', 'profiles', 'lint', 'verify', 'keys', 'demo'])
      expect(stdout).toContain(`  ${name} `);
    expect(stdout).toContain('Exit codes: 0 good, 1 what was checked is bad');
    expect(stdout).toContain('Keys and records lie in BULLA_HOME (default: ~/.local/share/bulla');
  });

  test('helps with a command and with its subcommands', () => {
    expect(bulla(['help', 'chain']).stdout).toContain('Usage: bulla chain [options] [command]');
    const { status, stdout } = bulla(['help', 'chain', 'verify']);
    expect(stdout).toContain('Usage: bulla chain verify [options] [file]');
    expect(status).toBe(0);
  });

  test('tells its version', () => {
    expect(bulla(['--version'])).toEqual({ status: 0, stdout: '0.1.0\n', stderr: '' });
  });

  test('wrong usage exits with 2 and says so on standard error', () => {
    expect(bulla(['nonsense'])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining("unknown command 'nonsense'"),
    });
    // What is quoted of the command line may hold a password.
    expect(bulla(['chain', 'verify', '--stroe=postgres://u:hunter2@h/db']).stderr).toContain(
      "unknown option '--stroe=postgres://***@h/db'",
    );
    expect(bulla(['canon', '--profile', 'nope'])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('There is no profile "nope".'),
    });
    expect(bulla(['canon', '--allow', 'anything'])).toMatchObject({ status: 2, stdout: '' });
    expect(bulla(['canon', '--max-depth', '0'])).toMatchObject({ status: 2, stdout: '' });
    expect(bulla([]).status).toBe(2);
  });

  test('on a Node that is too old, the entry says which one is needed', () => {
    const entry = join(repo, 'packages/bulla/dist/bulla.js');
    const script = `Object.defineProperty(process.versions, 'node', { value: '20.19.0' }); await import(${JSON.stringify(entry)});`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([2, 'bulla: needs Node 24.15 or newer; this is Node 20.19.0\n']);
  });

  const oldNode = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .find((node) =>
      /^v(?:18|20|22)\./.test(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout ?? ''),
    );

  test.skipIf(oldNode === undefined)('and so does the library, before it loads SQLite', () => {
    const folder = temporaryFolder();
    const script = `
      const [root, chain] = await Promise.all(['bulla', 'bulla/chain'].map((name) => import(name)));
      const told = (error) => console.log(error instanceof root.BullaError, error.code, error.message);
      await root.open(process.argv[1] + '/new', { agentId: 'a' }).catch(told);
      try { chain.openSource(process.argv[1] + '/chain.db'); } catch (error) { told(error); }`;
    writeFileSync(join(folder, 'chain.db'), `SQLite format 3\0${'x'.repeat(100)}`);
    const { status, stdout } = spawnSync(oldNode!, ['--input-type=module', '-e', script, folder], {
      encoding: 'utf8',
      cwd: repo,
    });
    const version = spawnSync(oldNode!, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.trim();
    const line = `true RUNTIME_TOO_OLD Bulla needs Node 24.15 or newer; this is Node ${version}.\n`;
    expect([status, stdout]).toEqual([0, line + line]);
    expect(readdirSync(folder)).toEqual(['chain.db']);
  });

  test('the demonstration runs', () => {
    const { status, stdout, stderr } = bulla(['demo']);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('sees      read_text_file, list_directory, search_files\n');
    expect(stdout).toContain('reads     allowed  Rent is due on Friday.\n');
    expect(stdout).toMatch(
      /writes {4}denied {3}Bulla: The tool "write_file" is not in the lock\..* \[GATEWAY_NOT_LOCKED\]\n/,
    );
    expect(stdout).toContain('on disk   Rent is due on Friday.\n');
    expect(stdout).toContain('4         blocked  tool   tools/call secure-filesystem-server/write_file\n');
    expect(stdout).toContain('chain     good: 6 records, every hash, link and signature\n');
    expect(stdout).toContain('proof     record 4, the denial, is in a tree of 6: ');
  });

  test('colours follow NO_COLOR, FORCE_COLOR and the terminal', () => {
    const coloured = (env: Record<string, string>) => bulla(['profiles'], '', env).stdout.includes('\u001b[');
    expect([
      coloured({}),
      coloured({ FORCE_COLOR: '1' }),
      coloured({ FORCE_COLOR: '1', NO_COLOR: '1' }),
      coloured({ CI: 'true' }),
    ]).toEqual([false, true, false, false]);
  });
});

describe('canon and hash', () => {
  test('canon writes the bytes and nothing else', () => {
    expect(bulla(['canon'], '{"b":1.0,"a":"é"}\n')).toEqual({
      status: 0,
      stdout: '{"a":"é","b":1}',
      stderr: '',
    });
    expect(bulla(['canon', '--profile', 'cps', '-'], '{"b":1.0,"a":"é"}').stdout).toBe('{"a":"é","b":1.0}');
  });

  test('say that an empty input is empty', () => {
    const empty = { status: 2, stdout: '', stderr: 'bulla: The input is empty. [JSON_UNEXPECTED_END]\n' };
    for (const command of [['canon'], ['hash'], ['capsule', 'seal', '-']])
      for (const input of ['', ' \n']) expect(bulla(command, input)).toEqual(empty);
  });

  test('hash prints the digest', () => {
    const digest = '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a';
    expect(bulla(['hash'], '{}')).toEqual({ status: 0, stdout: `${digest}\n`, stderr: '' });
    expect(JSON.parse(bulla(['hash', '--json', '-p', 'khora'], '{}').stdout)).toEqual({
      ok: true,
      profile: 'khora',
      digest,
    });
  });

  test('a file can be named', () => {
    const file = join(temporaryFolder(), 'a.json');
    writeFileSync(file, '[1e2]');
    expect(bulla(['canon', '-p', 'mcptrust-v2', file]).stdout).toBe('[100]');
  });

  test('what is refused exits with 2, with code, sentence and place', () => {
    expect(bulla(['canon'], '{"a":1,"a":2}')).toEqual({
      status: 2,
      stdout: '',
      stderr: 'bulla: The key "a" occurs twice in one object. (byte 7) [JSON_DUPLICATE_KEY]\n',
    });
    expect(bulla(['hash', '-p', 'envelope-v1'], '{"a":[1.5]}')).toEqual({
      status: 2,
      stdout: '',
      stderr: 'bulla: 1.5 is not a base-10 integer. (at /a/0) [CANON_NUMBER]\n',
    });
    expect(bulla(['canon', '/nonexistent/file'])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('[INPUT_UNREADABLE]'),
    });
    expect(bulla(['canon'], Uint8Array.of(0x22, 0xff, 0x22)).stderr).toContain(
      '(byte 1) [JSON_INVALID_UTF8]',
    );
  });

  test('single rules can be lifted by name', () => {
    expect(bulla(['canon', '--allow', 'duplicate-keys'], '{"a":1,"a":2}').stdout).toBe('{"a":2}');
    expect(bulla(['canon', '-p', 'cps-python', '--allow', 'non-finite', 'bom'], '\ufeff[NaN]').stdout).toBe(
      '[NaN]',
    );
    expect(bulla(['canon', '--max-bytes', '3'], '[10]').stderr).toContain('[JSON_TOO_LARGE]');
    expect(bulla(['canon', '--max-depth', '1'], '[[]]').stderr).toContain('[JSON_TOO_DEEP]');
  });

  test('--lines answers each line with a line', () => {
    const input = Buffer.concat([
      Buffer.from('{"b":1,"a":2}\n{"a":1,"a":2}\n\r\n'),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from('"no newline at the end"'),
    ]);
    const { status, stdout, stderr } = bulla(['canon', '--lines', '--profile', 'jcs'], input);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').map((line) => (line === '' ? '' : JSON.parse(line)))).toEqual([
      {
        ok: true,
        canonical: '{"a":2,"b":1}',
        digest: 'd3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772',
      },
      {
        ok: false,
        code: 'JSON_DUPLICATE_KEY',
        message: 'The key "a" occurs twice in one object.',
        offset: 7,
      },
      { ok: false, code: 'JSON_UNEXPECTED_END', message: 'A value was expected here.', offset: 1 },
      { ok: false, code: 'JSON_INVALID_UTF8', message: 'The text is not valid UTF-8.', offset: 1 },
      {
        ok: true,
        canonical: '"no newline at the end"',
        digest: '3de12ea9e5ee7c82e5de8d710a0cc5e2755819e069b6c5c4c0443d1100f7125e',
      },
      '',
    ]);
  });

  test('--lines keeps order and count over many lines, and cuts off what is too long', () => {
    const lines = Array.from({ length: 5000 }, (_, i) =>
      i === 77 ? `"${'x'.repeat(200_000)}"` : `{"i":${i}}`,
    );
    const { stdout } = bulla(['canon', '--lines', '--max-bytes', '1000'], `${lines.join('\n')}\n`);
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers.length).toBe(5000);
    expect(answers[77]).toMatchObject({ ok: false, code: 'JSON_TOO_LARGE' });
    expect(answers[4999].canonical).toBe('{"i":4999}');
  });
});

describe('profiles', () => {
  test('lists the whole table, for people and for programs', () => {
    const { status, stdout } = bulla(['profiles', '--json']);
    const table = JSON.parse(stdout);
    expect(status).toBe(0);
    expect(table.map((row: { id: string }) => row.id)).toEqual(Object.keys(profiles));
    expect(table[5]).toMatchObject({
      id: 'envelope-v1-nul',
      hash: 'sha256',
      domain: 'CryptoCardia.ExecutionEnvelope.v1\u0000',
      digest: '0xhex',
      not_hashed: ['metadata'],
    });
    expect(table[1].float_paths).toEqual(['/reasoning/confidence', '/reasoning/options/*/feasibility']);
    for (const id of Object.keys(profiles)) expect(bulla(['profiles']).stdout).toContain(id);
    expect(bulla(['profiles', '--quiet'])).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});

describe('lint', () => {
  test('exits with 1 and tells what differs', () => {
    const { status, stdout } = bulla(['lint', '--family', 'mcptrust', '--json'], '{"a":1.0}');
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      families: ['mcptrust'],
      findings: [
        {
          family: 'mcptrust',
          rule: 'number',
          path: '/a',
          forms: { 'mcptrust-v1': '1.0', 'mcptrust-v1-go': '1', 'mcptrust-v2': '1' },
        },
      ],
    });
    expect(bulla(['lint', '--family', 'mcptrust'], '{"a":1.0}').stdout).toContain(
      'mcptrust /a: the number is written differently',
    );
  });

  test('exits with 0 when all agree', () => {
    expect(bulla(['lint', '--family', 'jcs', 'mcptrust'], '{"a":1}')).toEqual({
      status: 0,
      stdout: 'Every family agrees on this document.\n',
      stderr: '',
    });
    expect(bulla(['lint', '--quiet', '--family', 'jcs'], '9007199254740993')).toEqual({
      status: 1,
      stdout: '',
      stderr: '',
    });
  });

  test('an unreadable document is an error, also as JSON', () => {
    const { status, stdout } = bulla(['lint', '--json'], '{');
    expect([status, JSON.parse(stdout)]).toEqual([
      2,
      {
        ok: false,
        code: 'JSON_UNEXPECTED_END',
        message: 'A key in double quotes was expected here.',
        offset: 1,
      },
    ]);
  });
});

test('what a library warns of is told in one line, and sslmode=require is not warned of', () => {
  const told = (mode: string) => {
    const store = `postgres://127.0.0.1:1/x?sslmode=${mode}`;
    const { stderr } = spawnSync(join(repo, 'bin/bulla'), ['chain', 'head', '--store', store]);
    return stderr.toString();
  };
  const refused = 'bulla: Nothing listens at the address of the server (ECONNREFUSED). [STORE_UNAVAILABLE]\n';
  expect(told('require')).toBe(refused);
  const [warned, ...rest] = told('%72equire').split('\n');
  expect(warned).toMatch(/^bulla: SECURITY WARNING: The SSL modes .*⟨U\+000A⟩/);
  expect(rest.join('\n')).toBe(refused);
});
