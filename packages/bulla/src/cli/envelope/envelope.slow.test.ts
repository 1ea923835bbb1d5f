import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyId, localSigner, readPublicKey, shownKeyId } from '@bulla/core/crypto';
import { authorize, execHash, parseEnvelope, readAuthorization } from '@bulla/core/envelope';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { repo, bulla as run, temporaryFolder } from '../../../test/run.ts';

let folder = '';
const path = (name: string) => join(folder, name);
const bulla = (...args: string[]) => run(args, '', { BULLA_HOME: path('home') });
const good = (...args: string[]) => {
  const { status, stdout, stderr } = bulla(...args);
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
};
const keyOf = (who: string) => readPublicKey(readFileSync(path(`${who}.pub`), 'utf8'));
const policy = JSON.parse(readFileSync(join(repo, 'examples/payment/policy.json'), 'utf8'));

function publish(change: (document: typeof policy) => void = () => undefined): void {
  const document = structuredClone(policy);
  change(document);
  writeFileSync(path('policy.json'), JSON.stringify(document));
  good('envelope', 'policy', 'publish', path('policy.json'), '--quiet');
}

function newEnvelope(...more: string[]): string {
  return good(
    ...['envelope', 'new', '--action', 'TRANSFER', '--to', 'acct-7', '--amount', '1250', '--asset', 'EUR'],
    ...[
      '--decimals',
      '2',
      '--rail',
      'BANK',
      '--network',
      'sepa',
      '--caller',
      'agent-1',
      '--tenant-id',
      'acme',
    ],
    ...['--policy-id', 'treasury', '-o', path('envelope.json'), '--quiet', ...more],
  ).trimEnd();
}

function approve(who = 'alice', ...more: string[]): void {
  good(
    ...['envelope', 'authorize', path('envelope.json'), '--key', path(`${who}.key`), '--who', who],
    ...['-o', path('approved.json'), '--yes', '--quiet'],
    ...(more.length === 0 ? ['--audience', 'bank'] : more),
  );
}

const checked = (name: string, verb: string, ...more: string[]) =>
  bulla(
    ...['envelope', verb, path(name), '--authorization', path('approved.json'), '--audience', 'bank'],
    ...['--tenant-id', 'acme'],
    ...['alice', 'bob'].flatMap((who) => ['--approver', `${who}=${path(`${who}.pub`)}`]),
    ...more,
  );
const pay = (name = 'envelope.json', ...flags: string[]) =>
  checked(name, 'verify', ...flags, '--', process.execPath, join(repo, 'examples/payment/pay.mjs'));
const paid = () => (existsSync(path('home/paid.txt')) ? readFileSync(path('home/paid.txt'), 'utf8') : '');

let prepared = '';
beforeAll(() => {
  prepared = folder = mkdtempSync(join(tmpdir(), 'bulla-envelopes-'));
  good('keys', 'init', '--quiet');
  for (const who of ['alice', 'bob', 'eve'])
    good('keygen', '--private', path(`${who}.key`), '--public', path(`${who}.pub`), '--quiet');
});
afterAll(() => rmSync(prepared, { recursive: true, force: true }));
beforeEach(() => {
  folder = temporaryFolder();
  cpSync(prepared, folder, { recursive: true });
});

describe('a payment', () => {
  test('is made once, exactly as approved; everything else is refused and sealed', () => {
    publish();
    const hash = newEnvelope();
    expect(good('envelope', 'hash', path('envelope.json'))).toBe(`${hash}\n`);
    approve();
    const text = readFileSync(path('envelope.json'), 'utf8');
    for (const [from, to] of [
      ['"1250"', '"9999"'],
      ['acct-7', 'acct-8'],
    ] as const) {
      writeFileSync(path('other.json'), text.replace(from, to));
      const { status, stdout } = pay('other.json', '--json');
      expect(status).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        ok: false,
        status: 'blocked',
        code: 'EE_HASH_MISMATCH',
        path: '/payload/exec_hash',
        message: 'The authorization is for another envelope.',
        capsule_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        capsule_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
    }
    expect(paid()).toBe('');
    const first = pay();
    expect(first.status).toBe(0);
    expect(first.stderr).toBe('paid 12.50 EUR to acct-7\n');
    expect(first.stdout).toContain('7 permit: passed.');
    const second = pay();
    expect(second.status).toBe(1);
    expect(second.stdout).toMatch(
      /2 replay: failed\. The nonce \d+ was used by this caller\. \(EE_NONCE_REPLAY at \/constraints\/nonce\)/,
    );
    expect(paid()).toBe('paid 12.50 EUR to acct-7\n');
    const found = good('chain', 'verify');
    // The published policy, two refusals, the intent, the outcome, and the refused repetition.
    expect(found).toContain('good  6 records, unbroken from the first to the last');
  });

  test('that two people must approve waits for the second', () => {
    publish((document) => {
      document.policy_doc.actions[0].people = 2;
    });
    newEnvelope();
    approve();
    const alone = pay();
    expect([alone.status, alone.stdout]).toEqual([
      1,
      expect.stringContaining(
        'This action needs 2 people to sign, and 1 did. (EE_AO_THRESHOLD at /action_type)',
      ),
    ]);
    approve('bob', '--add', path('approved.json'));
    expect(pay().status).toBe(0);
    expect(paid()).toBe('paid 12.50 EUR to acct-7\n');
  });

  test('under a policy that has changed since is refused', () => {
    publish();
    newEnvelope();
    approve();
    publish((document) => {
      document.policy_version = 2;
    });
    const { status, stdout } = pay();
    expect(status).toBe(1);
    expect(stdout).toContain(
      '5 policy: failed. The policy now has the version 2. (EE_POLICY_DRIFT at /policy_binding/policy_version)',
    );
    expect(paid()).toBe('');
  });

  test('over the ceiling is refused, also when it is made of several', () => {
    publish();
    for (const [amount, status] of [
      ['60000', 0],
      ['60000', 1],
      ['40000', 0],
      ['1', 1],
    ] as const) {
      newEnvelope('--amount', amount);
      approve();
      expect(pay().status).toBe(status);
    }
    expect(paid()).toBe('paid 600.00 EUR to acct-7\npaid 400.00 EUR to acct-7\n');
  });
});

describe('a command', () => {
  beforeEach(() => {
    publish();
    newEnvelope();
    approve();
  });

  test('that fails is not run again', () => {
    const failing = checked('envelope.json', 'verify', '--', 'sh', '-c', 'exit 7');
    expect(failing.status).toBe(1);
    expect(failing.stdout).toContain('\nsh ended with 7.\nIt may have had an effect, and counts.\n');
    expect(pay().stdout).toContain('EE_NONCE_REPLAY');
  });

  test('that cannot be started gives its limits back, and not its nonce', () => {
    const missing = checked('envelope.json', 'verify', '--', path('no-such-program'));
    expect(missing.status).toBe(1);
    expect(missing.stdout).toContain('It surely had no effect; its limits are free again.');
    expect(pay().stdout).toContain('EE_NONCE_REPLAY');
  });

  test('must be named, and the ledger too', () => {
    expect(checked('envelope.json', 'verify')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[USAGE]'),
    });
    expect(bulla('envelope', 'explain', path('envelope.json'))).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[USAGE]'),
    });
  });
});

test('--yes asks nobody, and the signature states that', () => {
  const stated = (...more: string[]) => {
    approve('alice', '--audience', 'bank', ...more);
    const { signatures } = JSON.parse(readFileSync(path('approved.json'), 'utf8'));
    const header = Buffer.from(signatures[0].protected, 'base64url').toString('utf8');
    return JSON.parse(header).approval.how;
  };
  publish();
  newEnvelope();
  expect([stated(), stated('--how', 'human'), stated('--how', 'escalated')]).toEqual([
    ...['policy', 'human', 'escalated'],
  ]);
});

test('an authorization holds as long as its envelope, unless it is said how long', () => {
  publish();
  newEnvelope('--ttl', '2h');
  const { constraints } = parseEnvelope(readFileSync(path('envelope.json')));
  const claims = (...flags: string[]) => {
    const common = ['--key', path('alice.key'), '--audience', 'bank', '--yes', '--quiet'];
    return readAuthorization(good('envelope', 'authorize', path('envelope.json'), ...common, ...flags));
  };
  expect(claims().exp).toBe(constraints.ttl + 1);
  expect(claims().jti).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
  const { nbf, exp } = claims('--not-before', '1m', '--expires', '10m');
  expect(exp - nbf).toBe(600);
});

describe('explain', () => {
  test('says what would be done and how each step goes, and uses nothing up', () => {
    publish();
    newEnvelope();
    approve();
    for (let i = 0; i < 2; i++) {
      const { status, stdout } = checked('envelope.json', 'explain');
      expect(status).toBe(0);
      expect(stdout).toContain('amount   12.50 EUR  (1250 with 2 decimals)\nto       acct-7\n');
      expect(stdout.match(/: passed\./g)).toHaveLength(7);
      expect(stdout).toContain(
        '7 permit: not reached. Nothing was consumed, so nothing may be executed yet.',
      );
    }
    expect(pay().status).toBe(0);
  });

  test('lists all that is wrong with an envelope', () => {
    publish();
    newEnvelope();
    approve();
    const text = readFileSync(path('envelope.json'), 'utf8');
    writeFileSync(path('bad.json'), text.replace('"1250"', '1.0').replace('"version":1', '"version":2'));
    const { status, stdout } = checked('bad.json', 'explain');
    expect(status).toBe(1);
    expect(stdout).toContain('0 schema: failed. This must be the number 1. (EE_SCHEMA_INVALID at /version)');
    expect(stdout).toContain(
      'also: This must be a string of 1 to 80 digits without a leading zero. (EE_SCHEMA_INVALID at /target/amount)',
    );
  });

  test('an authorization that somebody else signed is named', () => {
    publish();
    newEnvelope();
    approve('bob');
    const { status, stdout } = bulla(
      ...['envelope', 'explain', path('envelope.json'), '--authorization', path('approved.json')],
      ...['--audience', 'bank', '--tenant-id', 'acme', '--approver', `alice=${path('alice.pub')}`],
    );
    expect(status).toBe(1);
    expect(stdout).toContain(
      'No known key signed the authorization. (EE_AO_SIGNATURE_INVALID at /signatures)',
    );
  });
});

describe('verify', () => {
  test('recognises an envelope and its authorization', () => {
    publish();
    const hash = newEnvelope();
    approve();
    const files = [path('envelope.json'), path('approved.json')];
    const { status, stdout } = bulla('verify', ...files, '--public-key', path('alice.pub'));
    expect(status).toBe(0);
    expect(stdout).toContain('Exactly this was approved by');
    expect(stdout).toContain(`for ${hash}.`);
    expect(bulla('verify', path('envelope.json'), '--public-key', path('alice.pub')).status).toBe(3);
    const stranger = bulla('verify', ...files, '--public-key', path('bob.pub'));
    expect(stranger.status).toBe(3);
    const missing = `it says that it was signed by ${shownKeyId(keyId(keyOf('alice')))}.`;
    expect(stranger.stdout.split(missing)).toHaveLength(3);
    expect(bulla('verify', files[0]!, path('missing.json'))).toMatchObject({
      status: 2,
      stdout: expect.stringContaining('[VERIFY_NO_KEY]'),
      stderr: expect.stringContaining('[INPUT_UNREADABLE]'),
    });
    // A key that the keyring knows as revoked counts for nothing, also when it is named.
    good('keys', 'register', path('alice.pub'), '--json');
    expect(bulla('verify', ...files).status).toBe(0);
    good('keys', 'revoke', keyId(keyOf('alice')), '--reason', 'stolen', '--json');
    const revoked = bulla('verify', ...files);
    expect(revoked.status).toBe(1);
    expect(revoked.stdout.match(/\[EE_AO_KEY_REVOKED\]/g)).toHaveLength(2);
    expect(pay().stdout).toContain('(EE_AO_KEY_REVOKED at /signatures/0)');
    // And where the keyring is somebody else's: what it was exported with says so.
    writeFileSync(path('alices.json'), good('keys', 'export-public', '--all'));
    const elsewhere = run(
      [
        ...['envelope', 'explain', files[0]!, '--authorization', files[1]!, '--audience', 'bank'],
        ...['--tenant-id', 'acme', '--approver', `alice=${path('alices.json')}`],
        ...['--store', path('home/store.db'), '--keys', path('none')],
      ],
      '',
      { BULLA_HOME: path('elsewhere') },
    );
    expect(elsewhere.stdout).toContain('(EE_AO_KEY_REVOKED at /signatures/0)');
    // Whoever is named as an approver gains nothing: what the keyring beside it says of the key counts.
    const named = run(
      ['verify', ...files, '--keyring', path('alices.json'), '--approver', `alice=${path('alice.pub')}`],
      '',
      { BULLA_HOME: path('elsewhere') },
    );
    expect([named.status, named.stdout.match(/\[EE_AO_KEY_REVOKED\]/g)]).toEqual([
      1,
      ['[EE_AO_KEY_REVOKED]', '[EE_AO_KEY_REVOKED]'],
    ]);
  });
});

describe('authorize', () => {
  test('lets nobody claim who approved, and shows what is signed and what stands beside it', () => {
    publish();
    newEnvelope();
    const sign = (who: string, ...more: string[]) =>
      bulla(
        ...['envelope', 'authorize', path('envelope.json'), '--key', path(`${who}.key`), '--yes'],
        ...['-o', path('approved.json'), ...more],
      );
    sign('eve', '--who', 'ceo', '--how', 'escalated', '--audience', 'bank');
    const { stderr } = sign('alice', '--add', path('approved.json'));
    const lines = stderr.split('\n').map((line) => line.replace(/\d{4}-\S+Z/g, 'TIME'));
    expect(lines.slice(-7)).toEqual([
      'ledger   bank',
      'valid    from TIME to TIME',
      expect.stringMatching(/^issued {3}by ceo as [0-9a-f-]{36}$/),
      `you      policy at the moment of signing, key ${shownKeyId(keyId(keyOf('alice')))}`,
      `beside   escalated at TIME, key ${shownKeyId(keyId(keyOf('eve')))}, not verified here`,
      `signed   written to ${path('approved.json')}`,
      '',
    ]);
    expect(pay().stdout).toContain('(EE_AO_SIGNER_UNKNOWN at /signatures)');
    sign('alice', '--who', 'ceo', '--how', 'human', '--audience', 'bank');
    expect(pay().status).toBe(0);
    const found = good('capsule', 'export');
    expect(found.match(/"approver":"[^"]*"/g)).toEqual(new Array(4).fill('"approver":"alice"'));
    expect(found).not.toContain('ceo');
  });

  test('signs nothing that has expired, and tells of letters that look like others', async () => {
    publish();
    newEnvelope();
    const sign = (...more: string[]) =>
      bulla(
        ...['envelope', 'authorize', path('envelope.json'), '--key', path('alice.key'), '--yes', ...more],
      );
    writeFileSync(
      path('envelope.json'),
      readFileSync(path('envelope.json'), 'utf8').replace('"acct-7"', '"a\u0441ct-7"'),
    );
    expect(sign('--audience', 'bank').stderr).toContain(
      'WARNING  the destination has letters that look like others: U+0441\n',
    );
    const envelope = parseEnvelope(readFileSync(path('envelope.json')));
    const claims = {
      ...{ iss: 'alice', sub: envelope.actor.caller, aud: 'bank', tenant_id: envelope.tenant_id },
      ...{ exec_hash: execHash(envelope), nbf: 1_000_000_000, exp: 1_000_000_001, jti: 'past' },
    };
    const signer = localSigner('Ed25519', new Uint8Array(32).fill(7));
    const approval = { signer, when: 1_000_000_000, how: 'human', chain: [] } as const;
    writeFileSync(path('past.json'), await authorize(claims, [approval]));
    const late = sign('--add', path('past.json'), '-o', path('late.json'));
    expect([late.status, existsSync(path('late.json'))]).toEqual([1, false]);
    expect(late.stderr).toMatch(
      /The authorization expired at \d{4}-\S+Z, and now it is \S+Z: not signed\. \[EE_AO_EXPIRED\]\n$/,
    );
  });

  test('signs nothing where nobody can be asked, unless told to', () => {
    publish();
    newEnvelope();
    const { status, stderr } = bulla(
      ...['envelope', 'authorize', path('envelope.json'), '--key', path('alice.key'), '--who', 'alice'],
      ...['--audience', 'bank'],
    );
    expect(status).toBe(2);
    expect(stderr).toContain('to       acct-7');
    expect(stderr).toContain('[USAGE]');
  });

  test('describes the request as one object of RFC 9396', () => {
    publish();
    const hash = newEnvelope();
    const details = JSON.parse(
      good(
        ...['envelope', 'authorize', path('envelope.json'), '--key', path('alice.key'), '--who', 'alice'],
        ...['--audience', 'bank', '--details'],
      ),
    );
    expect(details).toMatchObject({
      type: 'bulla.execution-envelope.v1',
      locations: ['bank'],
      actions: ['TRANSFER'],
      exec_hash: hash,
    });
  });
});
