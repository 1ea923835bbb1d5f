import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, test } from 'vitest';
import { repo, bulla as run, temporaryFolder } from '../../../test/run.ts';

let folder = '';
const bulla = (args: string[], input = '') => run(args, input, { BULLA_HOME: join(folder, 'home') });
const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const seal = (summary: string, more = {}) => {
  const { status, stdout, stderr } = bulla(
    ['capsule', 'seal'],
    JSON.stringify({ type: 'tool', ...more, outcome: { status: 'success', summary } }),
  );
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
};

beforeEach(() => {
  folder = temporaryFolder();
  expect(bulla(['keys', 'init', '--pq']).status).toBe(0);
});

describe('capsule', () => {
  test('seal appends to the store and prints what verify accepts', () => {
    const first = JSON.parse(seal('one'));
    const text = seal('two');
    expect(JSON.parse(text)).toMatchObject({ sequence: 1, previous_hash: first.hash });
    const verified = bulla(['capsule', 'verify', '--json', '--require-pq', '-'], text);
    expect([verified.status, JSON.parse(verified.stdout)]).toEqual([
      0,
      expect.objectContaining({
        ok: true,
        code: 'ok',
        profile: 'cps-python',
        form: '12',
        warnings: [],
        unauthenticated: ['signed_at', 'signed_by'],
      }),
    ]);
    const key = bulla(['keys', 'export-public']).stdout.trim();
    expect(bulla(['capsule', 'verify', '--public-key', key, '-'], text).status).toBe(0);
  });

  test('verify: a changed word, another key, a stripped signature', () => {
    const text = seal('one');
    expect(
      JSON.parse(bulla(['capsule', 'verify', '--json', '-'], text.replace('"one"', '"won"')).stdout).code,
    ).toBe('hash_mismatch');
    const other = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
    expect(bulla(['capsule', 'verify', '--public-key', other, '-'], text)).toMatchObject({
      status: 3,
      stdout: expect.stringContaining('[unknown_key]'),
    });
    const stripped = text.replace(/"signature_pq":"[0-9a-f]+"/, '"signature_pq":""');
    expect(bulla(['capsule', 'verify', '--require-pq', '-'], stripped)).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('[pq_missing]'),
    });
    expect(bulla(['capsule', 'verify', '-'], text.replace('{', '{"id":"x",')).stdout).toContain(
      '[JSON_DUPLICATE_KEY]',
    );
  });

  test('seal refuses what must not be sealed, and what only the sealer gives', () => {
    expect(bulla(['capsule', 'seal'], '{"authority":{"type":"policy"}}')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('[CAPSULE_LINT]'),
    });
    expect(bulla(['capsule', 'seal'], '{"hash":"x"}').stderr).toContain('[CAPSULE_INVALID]');
    expect(bulla(['chain', 'head']).status).toBe(3);
  });

  test('seal keeps the digits that were written, and warns of what others hash differently', () => {
    const metrics = '{"big":12345678901234567890,"cost_usd":0.00002,"one":1.0}';
    const content = `{"outcome":{"metrics":${metrics}}}`;
    const sealed = bulla(['capsule', 'seal'], content);
    expect(sealed.status).toBe(0);
    expect(sealed.stdout).toContain('"metrics":{"big":12345678901234567890,"cost_usd":2e-05,"one":1.0}');
    expect(sealed.stderr.trimEnd().split('\n')).toEqual(
      ['big', 'cost_usd', 'one'].map((name) =>
        expect.stringMatching(
          `^bulla: warning: /outcome/metrics/${name}: Other implementations .* \\[interop\\]$`,
        ),
      ),
    );
    expect(bulla(['capsule', 'verify', '-'], sealed.stdout).status).toBe(0);

    const json = bulla(['capsule', 'seal', '--json'], content);
    expect([json.status, json.stderr]).toEqual([0, '']);
    const document = JSON.parse(json.stdout);
    expect(document.capsule.sequence).toBe(1);
    expect(document.warnings.map(({ path, code }: Record<string, string>) => `${path} ${code}`)).toEqual([
      '/outcome/metrics/big interop',
      '/outcome/metrics/cost_usd interop',
      '/outcome/metrics/one interop',
    ]);
    expect(json.stdout).toContain('"big":12345678901234567890');

    expect(bulla(['capsule', 'seal', '--strict-interop'], content)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('[CAPSULE_LINT]'),
    });
    expect(bulla(['capsule', 'seal', '--strict-interop', '--quiet'], '{}')).toMatchObject({
      status: 0,
      stdout: '',
      stderr: '',
    });

    const exported = bulla(['capsule', 'export']).stdout;
    const { BULLA_OPERATOR } = {
      BULLA_OPERATOR: /"origin":"([^"]+)\/default"/.exec(exported)![1]!.replace(/\/-$/, ''),
    };
    const path = file('odd.jsonl', exported);
    const store = join(folder, 'odd.db');
    const moved = run(['capsule', 'import', path, '--store', store], '', {
      BULLA_HOME: join(folder, 'home'),
      BULLA_OPERATOR,
    });
    expect([moved.status, moved.stderr]).toEqual([0, expect.stringContaining('imported 3 records')]);
    expect(bulla(['capsule', 'export', '--store', store]).stdout).toBe(exported);
    expect(bulla(['chain', 'verify', '--store', store]).status).toBe(0);
  });

  test('seal writes the two float fields with a decimal', () => {
    const options = [{ id: 'a', description: 'go', feasibility: 1, selected: true }];
    const text = bulla(
      ['capsule', 'seal'],
      JSON.stringify({ reasoning: { options, selected_option: 'go', confidence: 1 } }),
    ).stdout;
    expect(text).toContain('"confidence":1.0');
    expect(text).toContain('"feasibility":1.0');
    expect(bulla(['capsule', 'verify', '-'], text).status).toBe(0);
  });

  test('an array with one capsule is one capsule, with two it is a chain', () => {
    const [one, two] = [seal('one'), seal('two')];
    expect(bulla(['capsule', 'verify', '-'], `[${one}]`).status).toBe(0);
    expect(bulla(['capsule', 'verify', '-'], `[${one},${two}]`)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[CAPSULE_SEVERAL]'),
    });
  });

  test('show is for people, and shows what is invisible', () => {
    const text = seal('a\u202eb');
    expect(bulla(['capsule', 'show', '-'], text).stdout).toContain('a⟨U+202E⟩b');
  });

  test('export, and import into another store', () => {
    const sealed = ['one', 'two', 'three\u2028\u2029\u0085'].map(seal);
    const exported = bulla(['capsule', 'export']);
    const { hash } = JSON.parse(sealed[2]!);
    const resolved = bulla(['capsule', 'resolve', `capsule://sha3_${hash}`]);
    // Whatever its reader takes for the end of a line.
    for (const text of [sealed.join(''), exported.stdout, resolved.stdout.repeat(3)]) {
      expect(text.trimEnd().split(/[\n\r\u0085\u2028\u2029]/).length).toBe(3);
    }
    const path = file('chain.jsonl', exported.stdout);
    const store = join(folder, 'other.db');
    const foreign = bulla(['capsule', 'import', path, '--store', store]);
    expect([foreign.status, foreign.stderr]).toEqual([1, expect.stringContaining('[STORE_FOREIGN]')]);
    const BULLA_OPERATOR = /set BULLA_OPERATOR=(\S+)/.exec(foreign.stderr)![1]!;
    const moved = { BULLA_HOME: join(folder, 'home'), BULLA_OPERATOR };
    expect(run(['capsule', 'import', path, '--store', store], '', moved).status).toBe(0);
    expect(bulla(['capsule', 'export', '--store', store]).stdout).toBe(exported.stdout);
    expect(bulla(['capsule', 'seal', '--store', store], '{}').status).toBe(0);
    const whole = bulla(['chain', 'verify', '--store', store, '--json']);
    expect([whole.status, JSON.parse(whole.stdout).anchors.failures]).toEqual([0, []]);
    const tampered = file('bad.jsonl', exported.stdout.replace('"two"', '"too"'));
    expect(bulla(['capsule', 'import', tampered, '--store', join(folder, 'third.db')])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('[IMPORT_NOT_VERIFIED]'),
    });
    // A label that names another key would become the word of the next checkpoint.
    const label = JSON.parse(exported.stdout.split('\n')[1]!).signed_by as string;
    const misnamed = file('misnamed.jsonl', exported.stdout.replace(label, '0'.repeat(16)));
    expect(bulla(['capsule', 'import', misnamed, '--store', join(folder, 'third.db')]).stderr).toBe(
      'bulla: The chain is not imported: the signed_by of 1 record names another key than the one that signed. [IMPORT_NOT_VERIFIED]\n',
    );
    expect(existsSync(join(folder, 'third.db'))).toBe(false);
  });

  test('import goes on behind a chain that matches, and refuses one that differs', () => {
    for (const summary of ['one', 'two', 'three']) seal(summary);
    const lines = run(['capsule', 'export'], '', { BULLA_HOME: join(folder, 'home') })
      .stdout.trimEnd()
      .split('\n');
    const whole = file('whole.jsonl', `${lines.join('\n')}\n`);
    const store = join(folder, 'other.db');
    const { environment } = JSON.parse(lines[0]!).context;
    const moved = {
      BULLA_HOME: join(folder, 'home'),
      BULLA_OPERATOR: environment.bulla.origin.split('/')[0],
    };
    const bulla = (args: string[], input = '') => run(args, input, moved);
    // What an import that was cut off has left.
    expect(bulla(['capsule', 'import', file('part.jsonl', `${lines[0]}\n`), '--store', store]).status).toBe(
      0,
    );
    expect(bulla(['capsule', 'import', whole, '--store', store])).toMatchObject({
      status: 0,
      stderr: 'bulla: imported 2 records into default\n',
    });
    expect(bulla(['capsule', 'import', whole, '--store', store])).toMatchObject({
      status: 0,
      stderr: 'bulla: imported 0 records into default\n',
    });
    expect(bulla(['capsule', 'export', '--store', store]).stdout).toBe(`${lines.join('\n')}\n`);
    expect(bulla(['capsule', 'seal', '--store', join(folder, 'third.db')], '{}').status).toBe(0);
    expect(bulla(['capsule', 'import', whole, '--store', join(folder, 'third.db')])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('[IMPORT_DIFFERS]'),
    });
    expect(bulla(['capsule', 'seal', '--store', join(folder, 'third.db')], '{}').status).toBe(0);
    const shorter = ['capsule', 'import', join(folder, 'part.jsonl'), '--store', join(folder, 'third.db')];
    expect(bulla(shorter).stderr).toContain('[IMPORT_DIFFERS]');
  });

  test('resolve finds by hash, by chain and sequence, and by id, with a fragment', () => {
    const capsule = JSON.parse(seal('one'));
    expect(JSON.parse(bulla(['capsule', 'resolve', `capsule://sha3_${capsule.hash}`]).stdout)).toEqual(
      capsule,
    );
    expect(bulla(['capsule', 'resolve', 'capsule://default/0#outcome/summary']).stdout).toBe('"one"\n');
    expect(bulla(['capsule', 'resolve', `capsule://${capsule.id}#reasoning/confidence`]).stdout).toBe(
      '0.0\n',
    );
    expect(bulla(['capsule', 'resolve', 'capsule://default/7']).stderr).toContain('[CAPSULE_NOT_FOUND]');
    expect(bulla(['capsule', 'resolve', 'http://x']).stderr).toContain('[CAPSULE_URI]');
  });
});

describe('chain', () => {
  test('verify: the store, a file, and what is wrong with it', () => {
    for (const summary of ['one', 'two', 'three']) seal(summary);
    const good = bulla(['chain', 'verify']);
    expect([good.status, good.stdout.split('\n')[0]]).toEqual([
      0,
      'good  3 records, unbroken from the first to the last',
    ]);
    expect(good.stdout).toContain('anchored    records 0 to 2, locally only: no witness saw them');
    expect(good.stdout).toContain('not proven: that no records followed the last checkpoint');
    const lines = bulla(['capsule', 'export']).stdout.trimEnd().split('\n');
    const missing = file('missing.jsonl', [lines[0], lines[2]].join('\n'));
    const bad = bulla(['chain', 'verify', missing, '--json']);
    expect([
      bad.status,
      JSON.parse(bad.stdout).failures.map((failure: { code: string }) => failure.code),
    ]).toEqual([1, ['sequence_gap']]);
    const cut = file('cut.jsonl', lines.slice(0, 2).join('\n'));
    expect(bulla(['chain', 'verify', cut]).status).toBe(0);
    expect(bulla(['chain', 'verify', cut, '--expect-length', '3'])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('[length_mismatch]'),
    });
    const { hash } = JSON.parse(bulla(['chain', 'head', '--json']).stdout);
    expect(bulla(['chain', 'verify', cut, '--expect-head', hash]).status).toBe(1);
  });

  test('verify --hashes needs no key, and claims nothing about signatures', () => {
    for (const summary of ['one', 'two']) seal(summary);
    const text = bulla(['capsule', 'export']).stdout;
    const chain = file('chain.jsonl', text);
    const stranger = { BULLA_HOME: temporaryFolder() };
    const hashes = (path: string, ...more: string[]) =>
      run(['chain', 'verify', path, '--hashes', ...more], '', stranger);
    const good = hashes(chain);
    expect([good.status, good.stdout.split('\n')[0]]).toEqual([
      0,
      'good  2 records, unbroken from the first to the last; signatures were NOT checked',
    ]);
    expect(good.stdout).toContain('checked     order, links and hashes, and no signature\n');
    expect(good.stdout).toContain('not proven: that anyone signed it: no signature was checked;');
    expect(JSON.parse(hashes(chain, '--json').stdout)).toMatchObject({ ok: true, mode: 'hashes', keys: {} });
    const forged = text.replace(/("signature":"[0-9a-f]{120})[0-9a-f]{8}/, '$1deadbeef');
    expect(hashes(file('forged.jsonl', forged)).status).toBe(0);
    const changed = hashes(file('changed.jsonl', text.replace('"one"', '"0ne"')));
    expect([changed.status, changed.stdout]).toEqual([1, expect.stringContaining('[hash_mismatch]')]);
    expect(hashes(file('empty.json', '[]')).status).toBe(3);
    for (const flag of ['--require-pq', '--by-checkpoint', '--structural'])
      expect(hashes(chain, flag).status, flag).toBe(2);
    // A state of one level says nothing to another.
    const saved = join(folder, 'hashes.json');
    expect(hashes(chain, '--resume', saved).status).toBe(0);
    expect(bulla(['chain', 'verify', chain, '--resume', saved])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[CAPSULE_CHAIN_STATE]'),
    });
  });

  test('verify goes on from where it stopped', () => {
    seal('one');
    seal('two');
    const saved = join(folder, 'state.json');
    expect(bulla(['chain', 'verify', '--resume', saved]).status).toBe(0);
    seal('three');
    const report = JSON.parse(
      bulla(['chain', 'verify', '--resume', saved, '--json', '--expect-length', '3']).stdout,
    );
    expect([report.ok, report.count, report.resumed]).toEqual([true, 3, { file: saved, count: 2 }]);
    expect(report.not_proven[0]).toBe(`the first 2 records, but for the word of ${saved}`);
    expect(bulla(['chain', 'verify', '--resume', saved]).stdout).toContain(
      `  resumed     the first 3 records were not verified again: ${saved} says what they are\n`,
    );
    expect(JSON.parse(readFileSync(saved, 'utf8'))).toMatchObject({ v: 2, count: 3, head: { sequence: 2 } });
    expect(bulla(['chain', 'verify', '--threads', '100000000'])).toMatchObject({
      ...{ status: 2, stdout: '' },
      stderr: expect.stringContaining('[USAGE]'),
    });
    const state = JSON.parse(readFileSync(saved, 'utf8'));
    for (const [forged, code] of [
      [{ ...state, count: 1000 }, 'truncated'],
      [{ ...state, head: { sequence: 2, hash: '00' } }, 'rewritten'],
    ]) {
      writeFileSync(saved, JSON.stringify(forged));
      expect(bulla(['chain', 'verify', '--resume', saved])).toMatchObject({
        status: 1,
        stdout: expect.stringContaining(`[${code}]`),
      });
    }
    writeFileSync(saved, '{"v":2}');
    expect(bulla(['chain', 'verify', '--resume', saved])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[CAPSULE_CHAIN_STATE]'),
    });
  });

  test('nothing to verify, or nothing to verify with, is exit 3', () => {
    expect(bulla(['chain', 'verify']).status).toBe(3);
    expect(bulla(['chain', 'verify', join(folder, 'none.json')])).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('[CHAIN_SOURCE_MISSING]'),
    });
    expect(bulla(['chain', 'verify', file('empty.json', '')]).status).toBe(3);
    expect(bulla(['chain', 'verify', file('list.json', '[]')]).status).toBe(3);
    const text = seal('one');
    const elsewhere = run(['chain', 'verify', file('one.json', text)], '', {
      BULLA_HOME: join(folder, 'nobody'),
    });
    expect(elsewhere).toMatchObject({ status: 3, stdout: expect.stringContaining('No key is known') });
    expect(existsSync(join(folder, 'nobody'))).toBe(false);
    // What is not there is told before what it would be verified with.
    const nobody = (...args: string[]) =>
      run(['chain', 'verify', ...args], '', { BULLA_HOME: join(folder, 'nobody') });
    expect(nobody()).toMatchObject({ status: 3, stderr: expect.stringContaining('[STORE_MISSING]') });
    expect(nobody(join(folder, 'none.json')).stderr).toContain('[CHAIN_SOURCE_MISSING]');
  });

  test.skipIf(process.platform === 'win32')(
    'what is there and cannot be read is not taken for missing',
    () => {
      const text = seal('one');
      const home = join(folder, 'closed');
      mkdirSync(home);
      // Nobody can follow it, not even who may read everything.
      symlinkSync('loop', join(home, 'loop'));
      const told = (...args: string[]) => {
        const { status, stderr } = run(args, '', { BULLA_HOME: home });
        return [status, stderr];
      };
      const store = join(home, 'loop', 'store.db');
      expect(told('chain', 'verify', '--store', store)).toEqual([
        3,
        `bulla: ${store} cannot be read (ELOOP). [STORE_UNREADABLE]\n`,
      ]);
      expect(told('chain', 'verify', join(home, 'loop'))).toEqual([
        2,
        `bulla: ${join(home, 'loop')} cannot be read (ELOOP). [INPUT_UNREADABLE]\n`,
      ]);
      symlinkSync('loop', join(home, 'keys'));
      const keyring = join(home, 'keys', 'keyring.json');
      const closed = [2, `bulla: ${keyring} cannot be read (ELOOP). [KEYRING_UNREADABLE]\n`];
      expect(told('chain', 'verify', file('one.json', text))).toEqual(closed);
      expect(told('verify', file('one.json', text))).toEqual(closed);
    },
  );

  test('a revoked key proves nothing any more', () => {
    const text = seal('one');
    expect(bulla(['keys', 'revoke', JSON.parse(text).signed_by, '--reason', 'stolen']).status).toBe(0);
    expect(bulla(['capsule', 'verify', '-'], text)).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('[key_revoked]'),
    });
    expect(bulla(['chain', 'verify'])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('[key_revoked]'),
    });
  });

  test('a checkpoint of a revoked key is told as that', () => {
    const text = seal('one');
    expect(bulla(['checkpoint', 'create']).status).toBe(0);
    expect(bulla(['keys', 'revoke', JSON.parse(text).signed_by, '--reason', 'stolen']).status).toBe(0);
    expect(bulla(['chain', 'verify']).stdout).toContain(
      ' 1 checkpoint of the store was left out: signed by a key that is revoked, and not witnessed before that\n',
    );
    expect(JSON.parse(bulla(['chain', 'verify', '--json']).stdout).anchors).toMatchObject({
      unverified: 1,
      revoked: 1,
    });
  });

  test('what is wrong with a file is told with its name, and a keyring is told from what is verified', () => {
    const capsule = file('capsule.json', seal('one'));
    const keyring = file('keyring.json', bulla(['keys', 'export-public', '--all']).stdout);
    const told = (...args: string[]) => {
      const { status, stderr } = bulla(args);
      return [status, stderr];
    };
    expect(told('verify', keyring)).toEqual([
      2,
      `bulla: This is a keyring, which other files are verified with; name it with --keyring. (${keyring}) [VERIFY_UNRECOGNISED]\n`,
    ]);
    const empty = file('empty', '');
    expect(told('verify', empty)).toEqual([
      2,
      `bulla: The file is empty. (${empty}) [VERIFY_UNRECOGNISED]\n`,
    ]);
    for (const command of ['verify', 'chain verify'])
      expect(told(...command.split(' '), capsule, '--keyring', capsule)[1]).toMatch(
        new RegExp(`^bulla: ${capsule} is no keyring that can be read\\. There is no member ".*\\[KEYRING_`),
      );
    const broken = file('broken.json', '{x');
    expect(told('check', '-l', broken)).toEqual([
      2,
      `bulla: ${broken}: A key in double quotes was expected here. (byte 1) [JSON_SYNTAX]\n`,
    ]);
    expect(told('chain', 'verify', '--policy', broken)[1]).toMatch(
      /^bulla: .*broken\.json: .*\[LOG_POLICY\]\n$/,
    );
  });

  test('a chain goes on over a rotation', () => {
    seal('before');
    expect(bulla(['keys', 'rotate']).status).toBe(0);
    seal('after');
    const report = JSON.parse(bulla(['chain', 'verify', '--json', '--require-pq']).stdout);
    expect([report.ok, Object.keys(report.keys).length]).toEqual([true, 2]);
  });

  test('stats', () => {
    seal('one', { execution: { tool_calls: [{ tool: 'deploy', success: true }] } });
    expect(JSON.parse(bulla(['chain', 'stats', '--json']).stdout)).toMatchObject({
      records: 1,
      type: { tool: 1 },
      status: { success: 1 },
      tool: { deploy: 1 },
    });
  });
});

describe('kill', () => {
  test('refuses an option that would be ignored', () => {
    expect(bulla(['kill', '--agent', 'a', '--agent', 'b', '--reason', 'x'])).toEqual({
      status: 2,
      stdout: '',
      stderr: "error: option '--agent <id>' may be given only once\n(see 'bulla kill --help')\n",
    });
    expect(bulla(['kill', '--lift', '--list'])).toEqual({
      status: 2,
      stdout: '',
      stderr: "error: option '--list' cannot be used with option '--lift'\n(see 'bulla kill --help')\n",
    });
  });

  test('is sealed, stands, and is lifted', () => {
    expect(bulla(['kill']).stderr).toContain('[USAGE]');
    expect(bulla(['kill', '--lift', '--reason', 'x']).stderr).toContain('[KILL_NOT_STANDING]');
    expect(bulla(['kill', '--agent', 'bot', '--reason', 'it ran away']).status).toBe(0);
    expect(JSON.parse(bulla(['kill', '--list', '--json']).stdout).standing).toMatchObject([
      { agent: 'bot', reason: 'it ran away', capsule_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    ]);
    expect(bulla(['kill', '--agent', 'bot', '--lift', '--reason', 'caught']).status).toBe(0);
    expect(bulla(['kill', '--list']).stdout).toBe('No kill switch stands.\n');
    const kinds = bulla(['capsule', 'export'])
      .stdout.trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map((capsule) => [capsule.type, capsule.outcome.status]);
    expect(kinds).toEqual([
      ['kill', 'blocked'],
      ['kill', 'success'],
    ]);
  });
});

describe('verify', () => {
  test('recognises capsules and chains', () => {
    const one = file('one.json', seal('one'));
    seal('two');
    const two = file('two.jsonl', bulla(['capsule', 'export']).stdout);
    const { status, stdout } = bulla(['verify', '--json', one, two]);
    expect([
      status,
      JSON.parse(stdout).files.map((entry: { kind: string; ok: boolean }) => [entry.kind, entry.ok]),
    ]).toEqual([
      0,
      [
        ['capsules', true],
        ['capsules', true],
      ],
    ]);
    expect(
      bulla(['verify', file('bad.json', readFileSync(one, 'utf8').replace('"one"', '"1"'))]).status,
    ).toBe(1);
  });
});

const vectors = process.env.BULLA_VECTORS && resolve(repo, process.env.BULLA_VECTORS, 'capsule');
describe.skipIf(!vectors)('what the references sealed', () => {
  test('their capsules verify one by one, those with NaN when it is allowed', () => {
    const { pub, cases } = JSON.parse(readFileSync(join(vectors!, 'python-sealed-cases.json'), 'utf8'));
    const named = (name: string) => cases.find((one: { name: string }) => one.name === name).export as string;
    const verify = (text: string, ...more: string[]) =>
      JSON.parse(bulla(['capsule', 'verify', '-', '--json', '--public-key', pub, ...more], text).stdout);
    expect(verify(named('metrics 1.0'))).toMatchObject({
      ok: true,
      code: 'ok',
      profile: 'cps-python',
      form: '13',
    });
    expect(verify(named('metrics NaN'))).toMatchObject({ ok: false, code: 'JSON_SYNTAX' });
    expect(verify(named('metrics NaN'), '--allow-nan')).toMatchObject({
      ok: true,
      warnings: [{ code: 'non_finite' }],
    });
    const path = file('nan.json', named('metrics NaN'));
    const imported = ['capsule', 'import', path, '--public-key', pub, '--store', join(folder, 'nan.db')];
    expect(bulla(imported).status).toBe(1);
    expect(bulla([...imported, '--allow-nan']).status).toBe(0);
    expect(bulla(['capsule', 'export', '--store', join(folder, 'nan.db')]).stdout).toContain('"v":NaN');
  });

  test('their chains verify with their keys', () => {
    const legacy = [
      'chain',
      'verify',
      join(vectors!, 'legacy-1.5.2-chain.json'),
      '--json',
      '--public-key',
      readFileSync(join(vectors!, 'legacy-1.5.2-chain.pub'), 'utf8').trim(),
    ];
    expect(JSON.parse(bulla(legacy).stdout)).toMatchObject({
      ok: true,
      count: 3,
      profiles: { 'cps-python/12': 3 },
    });
    const epochs = [
      'chain',
      'verify',
      join(vectors!, 'python-1.5.3-chain-two-epochs.json'),
      '--json',
      '--keyring',
      join(vectors!, 'python-keyring-3-epochs.json'),
    ];
    expect(JSON.parse(bulla(epochs).stdout)).toMatchObject({ ok: true, count: 4 });
  });
});

describe('what was changed in the store', () => {
  test('is not resolved, proved, shown or exported as if it were good', () => {
    const { hash, id } = JSON.parse(seal('one'));
    const db = new Database(join(folder, 'home/store.db'));
    db.prepare(`UPDATE record SET data = replace(data, '"one"', '"two"')`).run();
    db.close();
    const refused = { status: 1, stderr: expect.stringContaining('[CAPSULE_HASH]') };
    expect(bulla(['capsule', 'resolve', `capsule://sha3_${hash}`])).toMatchObject({ ...refused, stdout: '' });
    for (const meant of [hash, id, '0']) expect(bulla(['prove', meant, '--out', '-'])).toMatchObject(refused);
    const exported = bulla(['capsule', 'export']);
    expect([exported.status, exported.stdout.split('\n').length]).toEqual([1, 2]);
    expect(exported.stderr).toContain(
      'The content of 1 of 1 records was changed in the store. [CAPSULE_HASH]',
    );
    expect(bulla(['capsule', 'show', '-'], exported.stdout)).toMatchObject(refused);
    expect(bulla(['tiles', 'export', join(folder, 'tiles')])).toMatchObject(refused);
  });
});

describe('which keys count', () => {
  test('when, whether revoked, with which post-quantum key: the local keyring knows, also of a key that is named', () => {
    const text = seal('one');
    const key = bulla(['keys', 'export-public']).stdout.trim();
    const auditor = { BULLA_HOME: join(folder, 'auditor') };
    const verify = (record: string, ...args: string[]) => {
      const { status, stdout } = run(['capsule', 'verify', '--json', ...args], record, auditor);
      return [status, JSON.parse(stdout).code];
    };
    const auditing = (...args: string[]) => expect(run(args, '', auditor).status).toBe(0);
    expect(verify(text, '--public-key', key)).toEqual([0, 'ok']);
    auditing('keys', 'init');
    expect(verify(text)).toEqual([3, 'unknown_key']);
    auditing('keys', 'register', key, '--not-after', '2020-01-01T00:00:00Z');
    expect(verify(text)).toEqual([1, 'key_not_valid']);
    expect(verify(text, '--public-key', key)).toEqual([1, 'key_not_valid']);
    const all = file('keyring.json', bulla(['keys', 'export-public', '--all']).stdout);
    expect(verify(text, '--keyring', all)).toEqual([1, 'key_not_valid']);
    const elsewhere = { BULLA_HOME: join(folder, 'elsewhere') };
    const stripped = text.replace(/"signature_pq":"[^"]*"/, '"signature_pq":""');
    const judge = (record: string) =>
      JSON.parse(run(['capsule', 'verify', '--json', '--keyring', all], record, elsewhere).stdout).code;
    expect([judge(text), judge(stripped)]).toEqual(['ok', 'pq_missing']);
    expect(bulla(['keys', 'revoke', key.slice(0, 16), '--reason', 'stolen']).status).toBe(0);
    const here = bulla(['capsule', 'verify', '--json', '--public-key', key, '-'], text);
    expect([here.status, JSON.parse(here.stdout).code]).toEqual([1, 'key_revoked']);
  });

  test('missing keys are undecided and named; all of them are exported together', () => {
    const { signed_by } = JSON.parse(seal('one'));
    const old = bulla(['keys', 'export-public']).stdout.trim();
    expect(bulla(['keys', 'rotate']).status).toBe(0);
    seal('two');
    const chain = file('chain.jsonl', bulla(['capsule', 'export']).stdout);
    const auditor = { BULLA_HOME: join(folder, 'auditor') };
    const current = bulla(['keys', 'export-public']).stdout.trim();
    const undecided = run(['chain', 'verify', chain, '--public-key', current], '', auditor);
    expect(undecided.status).toBe(3);
    const said = `Signatures by unknown keys could not be checked: signed_by ${signed_by} (1 record). Name the key with --public-key or --keyring.`;
    expect(undecided.stdout).toContain(`undecided  ${said}`);
    // It is said once, and nothing is called a failure.
    expect(undecided.stdout.match(/could not be checked|✗|failed/g)).toEqual(['could not be checked']);
    const any = run(['verify', chain, '--public-key', current], '', auditor);
    expect([any.status, any.stdout]).toEqual([
      3,
      `undecided  ${chain} (capsules): ${said} "bulla keys export-public --all" writes those of a keyring. [unknown_key]\n`,
    ]);
    expect(
      run(['chain', 'verify', chain, '--public-key', current, '--public-key', old], '', auditor).status,
    ).toBe(0);
    const all = file('keyring.json', bulla(['keys', 'export-public', '--all']).stdout);
    expect(run(['chain', 'verify', chain, '--keyring', all], '', auditor).status).toBe(0);
  });

  test('what no seal covers is named with its path', () => {
    seal('one');
    seal('two');
    const lines = bulla(['capsule', 'export']).stdout;
    const chain = file('chain.jsonl', lines.replace('}\n', ',"note":"evil"}\n'));
    const words = 'not sealed  /signed_at (every record), /signed_by (every record), /note (record 0)';
    const sorted = (text: string) => /not sealed +(.*)/.exec(text)?.[1]?.split(', ').sort();
    for (const command of [['chain', 'verify'], ['verify']])
      expect(sorted(bulla([...command, chain]).stdout)).toEqual(sorted(words));
    const one = file('one.json', lines.split('\n')[0]!.replace(/}$/, ',"note":"evil"}'));
    expect(bulla(['capsule', 'verify', one]).stdout).toContain('not sealed: /note, /signed_at, /signed_by');
    expect(bulla(['verify', one]).stdout).toContain('The seal does not cover /note, /signed_at, /signed_by.');
    expect(JSON.parse(bulla(['capsule', 'verify', '--json', one]).stdout).not_sealed).toEqual([
      ...['/note', '/signed_at', '/signed_by'],
    ]);
  });

  test.each([
    'zz',
    '/nonexistent/key',
    'D75A980182B10AB7D54BFED3C964073A0EE172F3DAA62325AF021A68F707511A',
    '',
  ])('%j is no key: a code, and exit 2', (key) => {
    const text = seal('one');
    for (const option of ['--public-key', '--pq-key', '--keyring']) {
      const { status, stderr } = bulla(['capsule', 'verify', option, key, '-'], text);
      expect([status, stderr]).toEqual([
        2,
        expect.stringMatching(/^bulla: .* \[(?:INPUT|KEY|KEYRING)_\w+\]\n$/),
      ]);
    }
  });
});
