import { expect, test } from 'vitest';
import { FLAGS, LOCATE, manifest, NOTIFY, READ, SCOPES } from '../../test/consent.ts';
import {
  CHINESE,
  disclose,
  disclosureDigest,
  disclosureLines,
  ENGLISH,
  type Facts,
  identityOf,
  raised,
  raisesOf,
  type Words,
  wordsFor,
} from './index.ts';
import { SENSITIVITIES } from './sensitivity.ts';

test('annotations and risk raise a sensitivity and never lower it', () => {
  for (const declared of SENSITIVITIES) {
    expect(raised(declared, [])).toBe(declared);
    expect(raised(declared, raisesOf({ readOnlyHint: true, destructiveHint: false, risk: 'LOW' }))).toBe(
      declared,
    );
    for (const to of SENSITIVITIES) {
      const ranks = [declared, to].map((level) => SENSITIVITIES.indexOf(level));
      expect(raised(declared, [{ to, why: 'policy' }])).toBe(SENSITIVITIES[Math.max(...ranks)]);
    }
  }
  expect(raised('low', raisesOf({ destructiveHint: true }))).toBe('high');
  expect(raised('low', raisesOf({ openWorldHint: true }))).toBe('medium');
  expect(raised('low', raisesOf({ readOnlyHint: false }))).toBe('medium');
  expect(raised('low', raisesOf({ risk: 'MEDIUM' }))).toBe('medium');
  expect(raised('low', raisesOf({ readOnlyHint: true, risk: 'HIGH' }))).toBe('high');
  expect(raised('low', [{ to: 'none' as 'low', why: 'policy' }])).toBe('high');
});

const stdio = {
  transport: 'stdio',
  agent: 'desk',
  uid: 1000,
  installation: 'laptop',
  process: 'p1',
} as const;
const http = {
  transport: 'http',
  agent: 'desk',
  issuer: 'https://login.example',
  subject: 'ann',
  jkt: null,
  sessionId: null,
} as const;

test('who calls, by transport', () => {
  expect(identityOf(stdio)).toEqual({
    transport: 'stdio',
    user: 'os:laptop/1000',
    agent: 'desk',
    device: 'installation:laptop',
    session: 'process:p1',
    conversation: 'direct',
  });
  expect(identityOf(http)).toEqual({
    transport: 'http',
    user: 'token:https:%2F%2Flogin.example/ann',
    agent: 'desk',
    device: null,
    session: null,
    conversation: 'direct',
  });
  expect(identityOf({ ...http, jkt: 'k', sessionId: 's' })).toMatchObject({
    device: 'dpop:k',
    session: 'http:https:%2F%2Flogin.example/ann/s',
  });
  const relay = {
    transport: 'relay',
    agent: 'bot',
    account: 'ann',
    deviceKey: 'd',
    conversation: 'c',
  } as const;
  expect(identityOf({ ...relay, kind: 'group' })).toEqual({
    transport: 'relay',
    user: 'account:ann',
    agent: 'bot',
    device: 'device:d',
    session: 'conversation:c',
    conversation: 'group',
  });
  expect(identityOf({ ...relay, kind: null }).conversation).toBe(null);
  expect(
    identityOf({ transport: 'console', agent: 'bot', account: 'ann', credential: 'k', login: 'l' }),
  ).toEqual({
    transport: 'console',
    user: 'account:ann',
    agent: 'bot',
    device: 'credential:k',
    session: 'login:l',
    conversation: 'direct',
  });
});

test('the operator names the person of an agent, and a loopback address the device', () => {
  expect(identityOf({ ...stdio, user: 'alice' })).toEqual({
    ...{ transport: 'stdio', user: 'alice', agent: 'desk', device: 'installation:laptop' },
    ...{ session: 'process:p1', conversation: 'direct' },
  });
  const bearer = { ...http, issuer: null, subject: null, sessionId: 's/1' };
  expect(identityOf(bearer)).toMatchObject({ user: null, device: null, session: null });
  expect(identityOf({ ...bearer, user: null, installation: 'laptop' })).toMatchObject({
    ...{ user: null, device: 'installation:laptop', session: null },
  });
  expect(identityOf({ ...bearer, user: 'alice', installation: 'laptop' })).toEqual({
    ...{ transport: 'http', user: 'alice', agent: 'desk', device: 'installation:laptop' },
    ...{ session: 'http:desk/s%2F1', conversation: 'direct' },
  });
  expect(identityOf({ ...bearer, user: 'alice', agent: null }).session).toBe(null);
  expect(identityOf({ ...bearer, user: 'alice', jkt: 'k', installation: 'laptop' }).device).toBe('dpop:k');
  // A name that is none is nobody, not whoever the transport knows.
  for (const bad of ['', '\ud800', 'x'.repeat(513)]) {
    expect(identityOf({ ...stdio, user: bad }).user).toBe(null);
    expect(identityOf({ ...http, user: bad }).user).toBe(null);
  }
  const people = new Map([['alice', 'account:ann']]);
  expect(identityOf({ ...bearer, user: 'alice' }, people).user).toBe('account:ann');
});

test('what is missing, empty, too long or not Unicode is not known', () => {
  for (const bad of [null, '', '\ud800', 'x'.repeat(513)]) {
    expect(identityOf({ ...stdio, process: bad }).session).toBe(null);
    expect(identityOf({ ...stdio, agent: bad }).agent).toBe(null);
    expect(identityOf({ ...stdio, installation: bad })).toMatchObject({ user: null, device: null });
    expect(identityOf({ ...http, issuer: bad, sessionId: 's' })).toMatchObject({ user: null, session: null });
  }
  expect(identityOf({ ...stdio, uid: Number.NaN }).user).toBe(null);
  expect(identityOf({ transport: 'pigeon' } as unknown as Facts)).toMatchObject({
    user: null,
    agent: null,
    conversation: null,
  });
});

test('no two callers share a name, and the operator says who is the same person', () => {
  const name = (issuer: string, subject: string) => identityOf({ ...http, issuer, subject }).user;
  expect(name('a/b', 'c')).not.toBe(name('a', 'b/c'));
  expect(name('a%2Fb', 'c')).not.toBe(name('a/b', 'c'));
  const people = new Map([['os:laptop/1000', 'account:ann']]);
  expect(identityOf(stdio, people).user).toBe('account:ann');
  expect(identityOf({ ...stdio, uid: 1001 }, people).user).toBe('os:laptop/1001');
});

const told = { ...manifest(3), tools: [...manifest(3).tools.slice(0, 3), LOCATE], flags: FLAGS };

test('a disclosure tells everything, the most sensitive first, in words', () => {
  const words = {
    ...ENGLISH,
    scopes: { 'location:read': 'Read your location' },
    tools: { read_file: 'Reads a file\u202e' },
  };
  expect(disclosureLines(disclose(told, words))).toEqual([
    'high: You are asked every time.',
    '  Read your location (location:read)',
    '    locate',
    'medium: You are asked the first time. You may then allow it for this session, for at most 24 hours after its last use.',
    '  Read local files (filesystem:read)',
    '    read_file: Reads a file⟨U+202E⟩',
    '    list_files',
    'low: It happens without asking.',
    '  Send notifications (notification:send)',
    '    notify',
    'answers piece by piece (supports_streaming)',
    'can join groups (supports_group_chat)',
  ]);
});

test('the same in Chinese has another digest, since something else was shown', () => {
  const chinese = disclose(told, CHINESE);
  expect(disclosureLines(chinese).slice(0, 3)).toEqual([
    '高: 每次调用都会询问你。',
    '  读取位置 (location:read)',
    '    locate',
  ]);
  expect(chinese.flags).toContainEqual({ flag: 'supports_voice', on: false, label: '语音输入和输出' });
  expect(disclosureDigest(chinese)).not.toBe(disclosureDigest(disclose(told, ENGLISH)));
  expect(disclosureDigest(disclose(told, ENGLISH))).toMatch(/^[0-9a-f]{64}$/);
});

test('a tool has its description and a scope its label: by its key, or by its text in a catalogue', () => {
  const scopes = [
    { id: 'location:read', label_i18n_key: 'weather', sensitivity: 'high' as const },
    { id: 'notes:write', label_i18n_key: 'agent.notes\u202e', sensitivity: 'low' as const },
  ];
  const tools = [
    { ...LOCATE, description_i18n_key: 'agent.locate' },
    { ...NOTIFY, name: 'note', permission_scope: 'notes:write', description_i18n_key: 'agent.note' },
  ];
  const named = { ...told, scopes, tools, flags: {} };
  const lines = (words: Words) => disclosureLines(disclose(named, words)).filter((line) => /^ /.test(line));
  expect(lines(ENGLISH)).toEqual([
    '  Read the location (location:read)',
    '    locate: agent.locate',
    '  agent.notes⟨U+202E⟩ (notes:write)',
    '    note: agent.note',
  ]);
  // No catalogue gives a preset scope another label.
  const catalogue = { 'agent.locate': '读取你的位置', 'agent.notes\u202e': '写笔记', weather: '看天气' };
  expect(lines({ ...CHINESE, catalogue })).toEqual([
    '  读取位置 (location:read)',
    '    locate: 读取你的位置',
    '  写笔记 (notes:write)',
    '    note: agent.note',
  ]);
});

test('the words follow the locale', () => {
  const locale = (text: string) => wordsFor(text).locale;
  for (const zh of ['zh', 'zh-CN', 'zh_CN.UTF-8', 'ZH-Hant']) expect(locale(zh)).toBe('zh');
  for (const en of ['', 'C', 'POSIX', 'en_US.UTF-8', 'de', 'zha', 'xzh']) expect(locale(en)).toBe('en');
});

test('a tool that asks more than its scope says so', () => {
  const strict = { ...told, tools: [{ ...READ, sensitivity: 'high' as const }], scopes: SCOPES };
  expect(disclosureLines(disclose(strict, ENGLISH))).toContain('    read_file [high]');
  expect(disclosureLines(disclose(strict, CHINESE))).toContain('    read_file [高]');
});
