import type { Words } from '@bulla/core/consent';

// What the command line says around a question and a disclosure.

export interface Phrases {
  nothingAsked: string;
  asks(agent: string, person: string): string;
  when(at: string, until: string | null): string;
  toBeGranted(scope: string): string;
  toCall(tool: string, description: string | null, digest: string): string;
  scope(label: string, level: string, raised: string | null): string;
  arguments(text: string): string;
  hidden(count: number): string;
  lastAllowed(at: string): string;
  declaredAndLocked(declared: string, locked: string): string;
  redefined: Readonly<Record<'server' | 'declared' | 'locked', string>>;
  changed(text: string): string;
  covers(tools: string): string;
  shown(digest: string): string;
  canDo(agent: string, version: number): string;
  disclosure(digest: string): string;
  questions: Readonly<Record<'grant' | 'allow-session' | 'allow-once', string>>;
  grantThese(scopes: string): string;
  nothingAnswered(id: string): string;
  sealedAs(hash: string): string;
  nothingGranted: string;
  allGranted: string;
  noneRevoked: string;
  everything: string;
  rests(obstacle: string): string;
  said(user: string, channel: string, at: string): string;
  ended: string;
  stillRuns: string;
}

const english: Phrases = {
  nothingAsked: 'Nothing is asked.',
  asks: (agent, person) => `${agent} asks ${person}`,
  when: (at, until) => `asked at ${at}, deadline ${until ?? 'none'}`,
  toBeGranted: (scope) => `to be granted ${scope}`,
  toCall: (tool, description, digest) =>
    `to call ${tool}${description === null ? '' : `: ${description}`} ${digest}`,
  scope: (label, level, raised) =>
    `scope ${label}, ${level}${raised === null ? '' : `, raised by ${raised}`}`,
  arguments: (text) => `arguments ${text}`,
  hidden: (count) => `${count} of their characters would not be seen`,
  lastAllowed: (at) => `last allowed at ${at}`,
  declaredAndLocked: (declared, locked) => `declared ${declared}, locked ${locked}`,
  redefined: {
    server: 'since then the tool is one of another server',
    declared: 'since then the manifest declares the tool differently',
    locked: 'since then the lock pins another tool',
  },
  changed: (text) => `changed since then: ${text}`,
  covers: (tools) => `--session covers ${tools}`,
  shown: (digest) => `shown ${digest}`,
  canDo: (agent, version) => `${agent}, version ${version} of its manifest, can do this:`,
  disclosure: (digest) => `disclosure ${digest}`,
  questions: {
    grant: 'Grant it?',
    'allow-session': 'Allow it for this session?',
    'allow-once': 'Allow it?',
  },
  grantThese: (scopes) => `Grant ${scopes}?`,
  nothingAnswered: (id) =>
    `Nothing was answered: the question stays open. To deny it: bulla consent deny ${id}`,
  sealedAs: (hash) => `sealed as ${hash}`,
  nothingGranted: 'Nothing was granted.',
  allGranted: 'All of that was granted already.',
  noneRevoked: 'None of that was granted: nothing changed.',
  everything: 'all',
  rests: (obstacle) => `rests (${obstacle})`,
  said: (user, channel, at) => `${user}, over ${channel} at ${at}`,
  ended: 'ended',
  stillRuns: 'still runs',
};

const chinese: Phrases = {
  nothingAsked: '没有待回答的请求。',
  asks: (agent, person) => `${agent} 询问 ${person}`,
  when: (at, until) => `询问时间 ${at}，截止时间 ${until ?? '无'}`,
  toBeGranted: (scope) => `请求授权 ${scope}`,
  toCall: (tool, description, digest) =>
    `请求调用 ${tool}${description === null ? '' : `：${description}`} ${digest}`,
  scope: (label, level, raised) => `权限 ${label}，${level}${raised === null ? '' : `，提升原因：${raised}`}`,
  arguments: (text) => `参数 ${text}`,
  hidden: (count) => `其中 ${count} 个字符本来看不见`,
  lastAllowed: (at) => `上次允许于 ${at}`,
  declaredAndLocked: (declared, locked) => `声明 ${declared}，锁定 ${locked}`,
  redefined: {
    server: '此后该工具属于另一台服务器',
    declared: '此后清单中该工具的声明已更改',
    locked: '此后锁文件固定的是另一个工具',
  },
  changed: (text) => `与上次相比的变化：${text}`,
  covers: (tools) => `--session 还包括 ${tools}`,
  shown: (digest) => `显示摘要 ${digest}`,
  canDo: (agent, version) => `${agent}（能力声明第 ${version} 版）可以做这些：`,
  disclosure: (digest) => `披露摘要 ${digest}`,
  questions: {
    grant: '要授权吗？',
    'allow-session': '允许在本次会话中使用吗？',
    'allow-once': '允许吗？',
  },
  grantThese: (scopes) => `要授予 ${scopes} 吗？`,
  nothingAnswered: (id) => `没有回答：请求仍待处理。要拒绝它：bulla consent deny ${id}`,
  sealedAs: (hash) => `封存为 ${hash}`,
  nothingGranted: '没有授权任何权限。',
  allGranted: '这些权限此前已经授予。',
  noneRevoked: '这些权限并未授予：没有变化。',
  everything: '全部',
  rests: (obstacle) => `暂停（${obstacle}）`,
  said: (user, channel, at) => `${user}，通过 ${channel}，${at}`,
  ended: '已结束',
  stillRuns: '仍在运行',
};

export function phrasesOf({ locale }: Pick<Words, 'locale'>): Phrases {
  return locale === 'zh' ? chinese : english;
}
