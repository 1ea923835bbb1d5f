import type { Words } from '@bulla/core/consent';

// What the command line says around a question and a disclosure.

const english = {
  nothingAsked: 'Nothing is asked.',
  asks: (agent: string, person: string) => `${agent} asks ${person}`,
  when: (at: string, until: string | null) => `asked at ${at}, deadline ${until ?? 'none'}`,
  toBeGranted: (scope: string) => `to be granted ${scope}`,
  toCall: (tool: string, description: string | null, digest: string) =>
    `to call ${tool}${description === null ? '' : `: ${description}`} ${digest}`,
  scope: (label: string, level: string, raised: string | null) =>
    `scope ${label}, ${level}${raised === null ? '' : `, raised by ${raised}`}`,
  arguments: (text: string) => `arguments ${text}`,
  hidden: (count: number) => `${count} of their characters would not be seen`,
  lastAllowed: (at: string) => `last allowed at ${at}`,
  declaredAndLocked: (declared: string, locked: string) => `declared ${declared}, locked ${locked}`,
  redefined: {
    server: 'since then the tool is one of another server',
    declared: 'since then the manifest declares the tool differently',
    locked: 'since then the lock pins another tool',
  },
  changed: (text: string) => `changed since then: ${text}`,
  covers: (tools: string) => `--session covers ${tools}`,
  shown: (digest: string) => `shown ${digest}`,
  leftOut: (count: number) => `… (${count} characters left out; bulla consent pending --json has all) …`,
  canDo: (agent: string, version: number) => `${agent}, version ${version} of its manifest, can do this:`,
  disclosure: (digest: string) => `disclosure ${digest}`,
  questions: {
    grant: 'Grant it?',
    'allow-session': 'Allow it for this session?',
    'allow-once': 'Allow it?',
  },
  answered: {
    grant: 'granted',
    'allow-once': 'allowed',
    'allow-session': 'allowed for this session',
    'deny-once': 'denied',
    never: 'refused until you grant it again',
  },
  grantThese: (scopes: string) => `Grant ${scopes}?`,
  nothingAnswered: (id: string) =>
    `Nothing was answered: the question stays open. To deny it: bulla consent deny ${id}`,
  sealedAs: (hash: string) => `sealed as ${hash}`,
  nothingGranted: 'Nothing was granted.',
  allGranted: 'All of that was granted already.',
  noneRevoked: 'None of that was granted: nothing changed.',
  everything: 'all',
  rests: (obstacle: string) => `rests (${obstacle})`,
  said: (user: string, channel: string, at: string) => `${user}, over ${channel} at ${at}`,
  ended: 'ended',
  stillRuns: 'still runs',
};

export type Phrases = typeof english;

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
  leftOut: (count) => `……（省略 ${count} 个字符；用 bulla consent pending --json 查看全部）……`,
  canDo: (agent, version) => `${agent}（能力声明第 ${version} 版）可以做这些：`,
  disclosure: (digest) => `披露摘要 ${digest}`,
  questions: {
    grant: '要授权吗？',
    'allow-session': '允许在本次会话中使用吗？',
    'allow-once': '允许吗？',
  },
  answered: {
    grant: '已授权',
    'allow-once': '已允许',
    'allow-session': '已允许在本次会话中使用',
    'deny-once': '已拒绝',
    never: '已拒绝，直到你再次授权',
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
