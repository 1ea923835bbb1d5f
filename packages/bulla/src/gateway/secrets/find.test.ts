import { generateKeyPairSync } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateKey, toHex, writePrivateKey, writePublicKey } from '@bulla/core/crypto';
import { JsonObject, type JsonValue, number, parse } from '@bulla/core/json';
import { describe, expect, test } from 'vitest';
import { repo } from '../../../test/run.ts';
import { findSecrets } from './find.ts';

const json = (value: unknown): JsonValue => parse(new TextEncoder().encode(JSON.stringify(value)));
const find = (value: unknown) => findSecrets(json(value));
const kindsIn = async (text: string) => [...new Set((await find({ text })).map(({ kind }) => kind))].sort();
/** So many characters that repeat; a scanner of repositories takes no test for a leak. */
const of = (length: number, letters = 'Ab3') => letters.repeat(length).slice(0, length);
const hex = (length: number) => of(length, '0a9f');
const GITHUB = `ghp_${of(36)}`;
const BEGIN = (label: string) => `-----BEGIN ${label}-----`;
const generate = (type: 'ed25519' | 'x25519' | 'ml-dsa-65') =>
  generateKeyPairSync(type as 'ed25519').privateKey;
const pem = { type: 'pkcs8', format: 'pem' } as const;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ours = privateKey('Ed25519', new Uint8Array(32).fill(7));

describe('a key or token is found by its form', () => {
  test.each<[kind: string, what: string, text: string]>([
    ['privatekey', 'Ed25519', generate('ed25519').export(pem).toString()],
    ['privatekey', 'X25519', generate('x25519').export(pem).toString()],
    ['privatekey', 'ML-DSA-65', generate('ml-dsa-65').export(pem).toString()],
    ['privatekey', 'EC, PKCS#8', ec.privateKey.export(pem).toString()],
    ['privatekey', 'EC, SEC 1', ec.privateKey.export({ type: 'sec1', format: 'pem' }).toString()],
    ['privatekey', 'RSA', rsa.privateKey.export(pem).toString()],
    ['privatekey', 'RSA, PKCS#1', rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()],
    [
      'privatekey',
      'RSA, encrypted',
      rsa.privateKey.export({ ...pem, cipher: 'aes-256-cbc', passphrase: 'x' }).toString(),
    ],
    [
      'privatekey',
      'RSA, encrypted, with headers',
      rsa.privateKey
        .export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
        .toString(),
    ],
    ['privatekey', 'escaped line ends', JSON.stringify(JSON.stringify(generate('ed25519').export(pem)))],
    ['privatekey', 'CRLF', generate('ed25519').export(pem).toString().replaceAll('\n', '\r\n')],
    ['privatekey', 'PGP', `${BEGIN('PGP PRIVATE KEY BLOCK')}\nVersion: 1\n\n${of(64)}\n${of(64)}\n`],
    ['privatekey', 'OpenSSH', `${BEGIN('OPENSSH PRIVATE KEY')}\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU${of(60)}\n`],
    ['privatekey', 'PuTTY', `Private-Lines: 1\n${of(44)}`],
    ['privatekey', 'a signer of notes', `PRIVATE+KEY+example.com/log+${hex(8)}+${of(44)}`],
    ['privatekey', 'ours as PEM', writePrivateKey(ours, 'pem')],
    ['privatekey', 'ours as the lock program writes it', writePrivateKey(ours, 'lock-pem')],
    ['privatekey', 'ours as JWK', writePrivateKey(ours, 'jwk')],
    ['privatekey', 'a JWK in JSON in JSON', JSON.stringify({ key: writePrivateKey(ours, 'jwk') })],
    ['privatekey', 'a JWK of RSA', JSON.stringify(rsa.privateKey.export({ format: 'jwk' }))],
    ['privatekey', 'a JWK, kty last', `{"crv":"Ed25519","d":"${of(43)}","x":"${of(43)}","kty":"OKP"}`],
    ['age', 'age', `AGE-SECRET-KEY-1${of(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}`],
    ['age', 'age, lower case', `age-secret-key-1${of(58, 'qpzry9x8')}`],
    ['bulla', 'ours', `hsk_${of(40)}`],
    [
      'jwt',
      'RFC 7515, A.1',
      'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
    ],
    ['jwt', 'encrypted', `eyJhbGciOiJkaXIi${of(20)}..${of(16)}.${of(40)}.${of(22)}`],
    ['aws', 'AWS, documented example', `AKIA${'IOSFODNN7EXAMPLE'}`],
    ['aws', 'AWS, temporary', `key ASIA${'IOSFODNN7EXAMPLE'}.`],
    ['aws', 'AWS, secret', `aws_secret_access_key = ${of(40)}`],
    ['aws', 'AWS, session', `IQoJb3JpZ2lu${of(200)}`],
    ['google', 'Google, key', `AIza${of(35)}`],
    ['google', 'Google, client', `GOCSPX-${of(28)}`],
    ['google', 'Google, access', `ya29.${of(60)}`],
    ['github', 'GitHub', GITHUB],
    ['github', 'GitHub, OAuth', `gho_${of(36)}`],
    ['github', 'GitHub, fine-grained', `github_pat_${of(22)}_${of(59)}`],
    ['slack', 'Slack, bot', `xoxb-${of(12, '123')}-${of(13, '123')}-${of(24)}`],
    ['slack', 'Slack, user', `xoxp-${of(12, '123')}-${of(12, '123')}-${of(32, '0a1')}`],
    ['slack', 'Slack, browser', `xoxc-${of(12, '123')}-${of(12, '123')}-${of(30)}`],
    ['slack', 'Slack, cookie', `xoxd-${of(60)}`],
    ['slack', 'Slack, rotated', `xoxe.xoxp-1-${of(146)}`],
    [
      'slack',
      'Slack, webhook',
      `https://hooks.slack.com/services/T${of(8, '0')}/B${of(8, '0')}/${of(24, 'X')}`,
    ],
    ['stripe', 'Stripe, live', `sk_live_${of(24)}`],
    ['stripe', 'Stripe, restricted', `rk_live_${of(24)}`],
    ['stripe', 'Stripe, webhook', `whsec_${of(32)}`],
    ['openai', 'OpenAI', `sk-${of(20)}T3BlbkFJ${of(20)}`],
    ['openai', 'OpenAI, without the mark', `sk-${of(48)}`],
    ['openai', 'OpenAI, project', `sk-proj-${of(74)}T3BlbkFJ${of(74)}`],
    ['openai', 'OpenAI, short project', `sk-proj-${of(48)}`],
    ['openai', 'OpenAI, service', `sk-svcacct-${of(60)}`],
    ['anthropic', 'Anthropic', `sk-ant-api03-${of(93)}AA`],
    ['anthropic', 'Anthropic, administrator', `sk-ant-admin01-${of(93)}AA`],
    ['anthropic', 'Anthropic, OAuth', `sk-ant-oat01-${of(93)}AA`],
    ['npm', 'npm', `npm_${of(36)}`],
    ['npm', '.npmrc', `//registry.example/:_authToken=${of(30)}`],
    ['gitlab', 'GitLab', `glpat-${of(20)}`],
    ['gitlab', 'GitLab, routable', `glpat-${of(27)}.01.${of(9, '0a1')}`],
    ['gitlab', 'GitLab, deployment', `gldt-${of(20)}`],
    ['gitlab', 'GitLab, runner', `glrt-${of(20)}`],
    ['huggingface', 'Hugging Face', `hf_${of(34)}`],
    ['pypi', 'PyPI', `pypi-AgEIcHlwaS5vcmc${of(60)}`],
    ['digitalocean', 'DigitalOcean', `dop_v1_${hex(64)}`],
    ['rubygems', 'RubyGems', `rubygems_${hex(48)}`],
    ['telegram', 'Telegram', `${of(9, '123')}:AA${of(33)}`],
    ['sendgrid', 'SendGrid', `SG.${of(22)}.${of(43)}`],
    ['hashicorp-vault', 'Vault', `hvs.${of(95)}`],
    ['docker', 'Docker', `dckr_pat_${of(27)}`],
    [
      'azure',
      'Azure, storage',
      `DefaultEndpointsProtocol=https;AccountName=x;AccountKey=${of(86)}==;EndpointSuffix=core.windows.net`,
    ],
    ['azure', 'Azure, bus', `Endpoint=sb://x.example/;SharedAccessKeyName=Root;SharedAccessKey=${of(43)}=`],
    ['azure', 'Azure, link', `https://x.blob.core.windows.net/c?sv=2022-11-02&sig=${of(41)}%2F%2b%3D`],
    ['azure', 'Azure, application', `${of(3)}8Q~${of(34)}`],
    [
      'database-connection-string',
      'ADO.NET',
      'Server=tcp:db.example,1433;Database=a;User ID=me;Password=hunter2;Encrypt=True',
    ],
    ['basicauth', 'a password in an address', 'https://alice:p%40ss!w@db.example/x'],
    ['basicauth', 'Redis, no user', 'redis://:hunter2@cache:6379/0'],
    ['basicauth', 'a token for a user', `https://${of(40, '0a1b2')}@git.example/x.git`],
    ['authorization', 'a bearer token', `curl -H "Authorization: Bearer ${of(24)}"`],
    ['authorization', 'RFC 7617', 'Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='],
  ])('%s: %s', async (kind, _what, text) => {
    expect(await kindsIn(text)).toContain(kind);
    const inside = await find({ a: [1, { b: `before ${text} after` }] });
    expect(inside.map(({ kind }) => kind)).toContain(kind);
    expect(new Set(inside.map(({ pointer }) => pointer))).toEqual(new Set(['/a/1/b']));
  });
});

describe('what is no secret is not taken for one', () => {
  const bytes = Uint8Array.from({ length: 60_000 }, (_, i) => (i * i * 31 + (i >> 3) * 7 + (i >> 7)) & 255);
  test.each<[what: string, text: string]>([
    ['an UUID', '123e4567-e89b-12d3-a456-426614174000 f47ac10b58cc4372a5670e02b2c3d479'],
    ['SHA-256', `sha256:${toHex(bytes.subarray(0, 32))}`],
    ['a commit', `${hex(40)} ${hex(7)} git+https://github.com/a/b.git#${hex(40)}`],
    ['an integrity', `sha512-${Buffer.from(bytes.subarray(0, 64)).toString('base64')}`],
    ['an image', `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`],
    ['the same for addresses', Buffer.from(bytes).toString('base64url')],
    ['hexadecimal digits', toHex(bytes)],
    [
      'prose',
      'The quick brown fox jumps over the lazy dog; its private key lies under the mat. '.repeat(400),
    ],
    [
      'prose about tokens',
      'Set Authorization: Bearer YOUR_ACCESS_TOKEN, then env:API_KEY and sk-... or ghp_xxx.',
    ],
    ['a program', "const key = [`-----BEGIN PRIVATE KEY-----\\n`, body]; if (a['d'] !== b) throw e; // kty"],
    [
      'a shell',
      'curl -H "Authorization: Bearer $TOKEN" https://$USER:$PASS@x.example https://u:{p}@x.example',
    ],
    ['placeholders', 'postgres://user:password@localhost/db https://me:***@x.example https://u:<password>@x'],
    [
      'addresses',
      'http://localhost:3000/@scope/a https://x.example:8443/a?b=c@d ssh://git@github.com/a/b.git a@b.example',
    ],
    [
      'a style',
      'sk-fading-circle sk-proj sk-cube-grid-of-nine-small-cubes-in-a-row task-force-number-0123456789',
    ],
    ['a public key', rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()],
    ['a public JWK', JSON.stringify(rsa.publicKey.export({ format: 'jwk' }))],
    [
      'our public keys',
      ['pem', 'jwk', 'hex', 'lock-pem'].map((f) => writePublicKey(ours.publicKey, f as 'pem')).join('\n'),
    ],
    ['an SSH key', `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${of(43)} me@host`],
    ['a recipient of age', 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kudqlk5es8skzkv'],
    ['two parts of base64', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0'],
    [
      'times, versions, numbers',
      '2026-11-18T07:13:00.000Z 1.2.3-rc.1+build.5 4111111111111111 +49 30 1234567',
    ],
    [
      'many names of many things',
      'AKIA AIza eyJ hsk_ glpat- xoxb- npm_ sk_live_ AGE-SECRET-KEY- AccountKey= ?sig=',
    ],
  ])('%s', async (_what, text) => {
    expect(await find([text, { a: text }])).toEqual([]);
  });

  test('nor our own sources', async () => {
    const files = globSync('packages/*/src/**/*.ts', { cwd: repo }).filter(
      (file) => !file.endsWith('.test.ts'),
    );
    expect(files.length).toBeGreaterThan(400);
    const found = [];
    for (const file of files) {
      const kinds = await kindsIn(readFileSync(join(repo, file), 'utf8'));
      if (kinds.length > 0) found.push([file, ...kinds]);
    }
    expect(found).toEqual([]);
  });
});

describe('where it stands', () => {
  test('each place is told once for a kind, in their order', async () => {
    expect(
      await find({ z: [`${GITHUB} ${GITHUB}`, 5, null], 'a/b~': { '': `glpat-${of(20)}` }, b: true }),
    ).toEqual([
      { pointer: '/z/0', kind: 'github' },
      { pointer: '/a~1b~0/', kind: 'gitlab' },
    ]);
    expect(await find(GITHUB)).toEqual([{ pointer: '', kind: 'github' }]);
    expect(await find({ a: `${GITHUB} npm_${of(36)}` })).toEqual([
      { pointer: '/a', kind: 'github' },
      { pointer: '/a', kind: 'npm' },
    ]);
    for (const nothing of [{}, [], '', null, true, 5, { a: '' }, { '': '' }])
      expect(await find(nothing)).toEqual([]);
    expect(await findSecrets(number('1e5'))).toEqual([]);
  });

  test('a name that is a secret is in no pointer', async () => {
    const args = { a: { [GITHUB]: { b: { c: `npm_${of(36)}` }, d: `x ${GITHUB}` }, e: `glpat-${of(20)}` } };
    expect(await find(args)).toEqual([
      { pointer: '/a', kind: 'github' },
      { pointer: '/a', kind: 'npm' },
      { pointer: '/a/e', kind: 'gitlab' },
    ]);
    expect(await find({ [GITHUB]: 1 })).toEqual([{ pointer: '', kind: 'github' }]);
    expect(await find([{ [GITHUB]: { [`npm_${of(36)}`]: 0 } }])).toEqual([
      { pointer: '/0', kind: 'github' },
      { pointer: '/0', kind: 'npm' },
    ]);
  });

  test('a name tells what a value is that has no form of its own', async () => {
    expect(await find({ aws: { SecretAccessKey: of(40), other: of(40) } })).toEqual([
      { pointer: '/aws/SecretAccessKey', kind: 'aws' },
    ]);
    expect(
      await find({ headers: { Authorization: `Bearer ${of(24)}`, authorization: [`token ${of(24)}`] } }),
    ).toEqual([
      { pointer: '/headers/Authorization', kind: 'authorization' },
      { pointer: '/headers/authorization/0', kind: 'authorization' },
    ]);
    expect(await find({ '//r.example/:_authToken': of(36), AccountKey: of(88) })).toEqual([
      { pointer: '/~1~1r.example~1:_authToken', kind: 'npm' },
      { pointer: '/AccountKey', kind: 'azure' },
    ]);
    expect(await find({ Authorization: 'Bearer YOUR_TOKEN', SecretAccessKey: 'see the vault' })).toEqual([]);
  });

  test('the private member of a JWK, and of nothing else', async () => {
    const d = of(43);
    expect(
      await find({
        keys: [
          { kty: 'OKP', crv: 'Ed25519', x: d, d },
          { kty: 'OKP', x: d },
        ],
      }),
    ).toEqual([{ pointer: '/keys/0/d', kind: 'privatekey' }]);
    expect(
      await find([
        { kty: 'oct', k: 'abc' },
        { kty: 'AKP', priv: d, pub: d },
        { kty: 'EC', d: '' },
      ]),
    ).toEqual([
      { pointer: '/0/k', kind: 'privatekey' },
      { pointer: '/1/priv', kind: 'privatekey' },
    ]);
    expect(await find([{ d }, { kty: 'x', d }, { kty: 'toString', d }, { kty: ['OKP'], d }])).toEqual([]);
  });

  test('a key in the lines of a list is in each of them', async () => {
    const lines = rsa.privateKey.export(pem).toString().trim().split('\n');
    const found = await find({ lines: ['first', ...lines, 'last'] });
    expect(found).toEqual(lines.map((_, i) => ({ pointer: `/lines/${i + 1}`, kind: 'privatekey' })));
  });
});

describe('who wrote the arguments does not decide whether they are searched', () => {
  test('by the comments that secretlint obeys in files', async () => {
    for (const text of [`${GITHUB} // secretlint-disable-line`, `secretlint-disable\n${GITHUB}\n`])
      expect(await find(['secretlint-disable', text])).toEqual([{ pointer: '/1', kind: 'github' }]);
  });

  test('by a byte order mark, half a character or a control character', async () => {
    for (const before of ['\ufeff', '\u0000', '😀', '\u2028', '"', 'ü;'])
      expect(await find({ a: 'x', b: `${before}${GITHUB}`, c: 'y' })).toEqual([
        { pointer: '/b', kind: 'github' },
      ]);
    const half = new JsonObject(['a', 'b'], ['\ud83d', `\udc00${GITHUB}\ud83d`]);
    expect(await findSecrets(half)).toEqual([{ pointer: '/b', kind: 'github' }]);
  });

  test('by how often it is quoted', async () => {
    const kinds = [
      { pointer: '/b', kind: 'github' },
      { pointer: '/b', kind: 'bulla' },
    ];
    for (const before of ['a\\n', '\\t', '\\\\n', 'a\\u0022', '\\u003C', 'a%20', '?a%3D', '%3d', '%0A']) {
      const text = `${before}${GITHUB} ${before}hsk_${of(40)} ${before}`;
      expect(await find({ a: 'x', b: text, c: 'y' }), before).toEqual(kinds);
    }
    const quoted = JSON.stringify(JSON.stringify(JSON.stringify([`x\n${GITHUB}\n"hsk_${of(40)}"`])));
    expect(await find({ b: quoted })).toEqual(kinds);
  });

  test('by where in a long text it stands', async () => {
    const token = `hvs.${of(95)}`;
    for (let at = 14_000; at < 17_000; at += 37)
      expect(await find([`${' '.repeat(at)}${token} `, 'x'.repeat(9000)]), `${at}`).toEqual([
        { pointer: '/0', kind: 'hashicorp-vault' },
      ]);
    const long = `eyJ${of(30_000)}.eyJ${of(30_000)}.${of(43)}`;
    expect(await find({ a: 'x'.repeat(10_000), b: long })).toEqual([{ pointer: '/b', kind: 'jwt' }]);
  });
});

describe('what is too large is not searched, and told', () => {
  const tooLarge = [{ pointer: '', kind: 'too-large' }];
  const MIB = 1024 * 1024;

  test('1 MiB of strings and names is searched', async () => {
    const filler = ' '.repeat(MIB - GITHUB.length - 'ab'.length);
    expect(await find({ a: filler, b: GITHUB })).toEqual([{ pointer: '/b', kind: 'github' }]);
    expect(await find({ a: `${filler} `, b: GITHUB })).toEqual(tooLarge);
    expect(await find([' '.repeat(MIB + 1)])).toEqual(tooLarge);
    expect(await find({ [' '.repeat(MIB + 1)]: 1 })).toEqual(tooLarge);
    expect(await find(['é'.repeat(MIB / 2)])).toEqual([]);
    expect(await find([`${'é'.repeat(MIB / 2)} `])).toEqual(tooLarge);
  });

  test('numbers and empty strings cost nothing', async () => {
    expect(await find([...Array(100_000).fill(''), ...Array(100_000).fill(123_456), GITHUB])).toEqual([
      { pointer: '/200000', kind: 'github' },
    ]);
  });

  test('so are more pointers than that', async () => {
    const deep = (depth: number, value: JsonValue): JsonValue =>
      depth === 0 ? value : new JsonObject([of(300, ' ')], [deep(depth - 1, value)]);
    const secrets = (count: number) => deep(500, Array(count).fill(GITHUB));
    expect(await findSecrets(secrets(6))).toHaveLength(6);
    expect(await findSecrets(secrets(7))).toEqual(tooLarge);
  });

  test('a deep value is walked', async () => {
    let value: JsonValue = GITHUB;
    for (let i = 0; i < 100_000; i++) value = [value];
    expect(await findSecrets(value)).toEqual([{ pointer: '/0'.repeat(100_000), kind: 'github' }]);
  });
});
