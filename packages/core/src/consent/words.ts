import { type Language, PRESET_SCOPES, scopeLabel } from '../manifest/index.ts';
import { visible } from '../text/index.ts';
import type { Sensitivity } from './sensitivity.ts';

// What people are told, in their language.

/** Texts by name. */
type Texts = { readonly [name: string]: string };

/** The words of one language. What has none is called by its key in the manifest, or by its name. */
export interface Words {
  readonly locale: string;
  /** What happens at each level. */
  readonly levels: Readonly<Record<Sensitivity, string>>;
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
