import { type Language, PRESET_SCOPES, scopeLabel } from '../manifest/index.ts';
import { visible } from '../text/index.ts';
import type { Choice, GrantStatus, ScopeObstacle } from './rows.ts';
import type { Raise, Sensitivity } from './sensitivity.ts';

// What people are told, in their language.

/** Texts by name. */
type Texts = { readonly [name: string]: string };

/** The codes that people are shown in words. */
type Term = Sensitivity | GrantStatus | ScopeObstacle | Choice | Raise['why'];

/** The words of one language. What has none is called by its key in the manifest, or by its name. */
export interface Words {
  readonly locale: string;
  /** What happens at each level. */
  readonly levels: Readonly<Record<Sensitivity, string>>;
  readonly terms: Readonly<Record<Term, string>>;
  readonly flags: Texts;
  /** Labels of scopes by their ids, in the place of those that the preset ones have in English and Chinese. */
  readonly scopes?: Texts;
  /** What tools do, by their names. */
  readonly tools?: Texts;
  /** The texts of the i18n keys in manifests. They come from whoever runs the agent, never from the agent. */
  readonly catalogue?: Texts;
}

export const ENGLISH: Words = {
  locale: 'en',
  levels: {
    high: 'You are asked every time.',
    medium:
      'You are asked the first time. You may then allow it for this session, for at most 24 hours after its last use.',
    low: 'It happens without asking.',
  },
  terms: {
    high: 'high',
    medium: 'medium',
    low: 'low',
    granted: 'granted',
    revoked: 'revoked',
    refused: 'refused',
    scope_unknown: 'no longer declared',
    scope_not_granted: 'not granted',
    scope_revoked: 'revoked',
    scope_refused: 'refused',
    suspended: 'suspended',
    sensitivity_changed: 'another sensitivity',
    grant: 'grant the scope',
    'allow-once': 'allow this call',
    'allow-session': 'allow it for this session',
    'deny-once': 'deny this call',
    never: 'refuse the scope until you grant it again',
    annotations: 'annotations',
    risk: 'risk',
    policy: 'policy',
    new: 'new since the grant',
  },
  flags: {
    supports_streaming: 'answers piece by piece',
    supports_artifacts: 'sends and changes artifacts',
    supports_voice: 'hears and speaks',
    supports_group_chat: 'can join groups',
  },
};

export const CHINESE: Words = {
  locale: 'zh',
  levels: {
    high: '每次调用都会询问你。',
    medium: '首次使用时询问你。你可以允许本次会话内使用，最后一次使用后最多 24 小时。',
    low: '直接执行，不再询问。',
  },
  terms: {
    high: '高',
    medium: '中',
    low: '低',
    granted: '已授权',
    revoked: '已撤销',
    refused: '已拒绝',
    scope_unknown: '不再声明',
    scope_not_granted: '未授权',
    scope_revoked: '已撤销',
    scope_refused: '已拒绝',
    suspended: '待复核',
    sensitivity_changed: '敏感级别已更改',
    grant: '授予该权限',
    'allow-once': '允许这次调用',
    'allow-session': '允许在本次会话中使用',
    'deny-once': '拒绝这次调用',
    never: '拒绝该权限，直到你再次授权',
    annotations: '工具注解',
    risk: '风险',
    policy: '策略',
    new: '授权之后新增或更改',
  },
  flags: {
    supports_streaming: '流式回复',
    supports_artifacts: '发送和更新 Artifact',
    supports_voice: '语音输入和输出',
    supports_group_chat: '可以加入群聊',
  },
};

/** The words for a locale, such as `zh-CN` or `zh_CN.UTF-8`: Chinese, and English for every other one. */
export function wordsFor(locale: string): Words {
  return languageOf(locale) === 'zh' ? CHINESE : ENGLISH;
}

function languageOf(locale: string): Language {
  return /^zh(?![a-z])/i.test(locale) ? 'zh' : 'en';
}

/** A scope as it is called; `label_i18n_key` is the agent's. */
export interface NamedScope {
  readonly id: string;
  readonly label_i18n_key?: string | undefined;
}

/** A tool as it is called; `description_i18n_key` is the agent's. */
export interface NamedTool {
  readonly name: string;
  readonly description_i18n_key?: string | undefined;
}

/**
 * What a person is shown for a scope: of a preset one its label, whatever the agent says; else the text of its key, the
 * key, or the id. Hidden characters are made visible.
 */
export function scopeText(scope: NamedScope, words: Words): string {
  const { id, label_i18n_key = '' } = scope;
  const text =
    own(words.scopes, id) ?? (PRESET_SCOPES.has(id) ? undefined : own(words.catalogue, label_i18n_key));
  return visible(text ?? scopeLabel({ id, label_i18n_key }, languageOf(words.locale)));
}

/** What a person is told that a tool does: the text of its key, or the key; null where there is neither. */
export function toolText({ name, description_i18n_key = '' }: NamedTool, words: Words): string | null {
  const text = own(words.tools, name) ?? own(words.catalogue, description_i18n_key) ?? description_i18n_key;
  return text === '' ? null : visible(text);
}

export function flagText(flag: string, words: Words): string {
  return visible(own(words.flags, flag) ?? flag);
}

function own(texts: Texts | undefined, name: string): string | undefined {
  return texts !== undefined && Object.hasOwn(texts, name) ? texts[name] : undefined;
}
