import type { Scope, Sensitivity } from './types.ts';

/** The languages in which preset scopes have a label. */
export type Language = 'zh' | 'en';

interface PresetScope {
  readonly sensitivity: Sensitivity;
  readonly label: Readonly<Record<Language, string>>;
}

/** The four standard scopes of version 1.0, by their ids. The Chinese labels are those of the specification. */
export const PRESET_SCOPES: ReadonlyMap<string, PresetScope> = new Map([
  ['notification:send', { sensitivity: 'low', label: { zh: '发送通知', en: 'Send notifications' } }],
  ['filesystem:read', { sensitivity: 'medium', label: { zh: '读取本地文件', en: 'Read local files' } }],
  ['clipboard:read', { sensitivity: 'medium', label: { zh: '读取剪贴板', en: 'Read the clipboard' } }],
  ['location:read', { sensitivity: 'high', label: { zh: '读取位置', en: 'Read the location' } }],
]);

/**
 * What a person is shown for a scope. A preset scope has its label, whatever key the manifest gives: the agent has no
 * say in it. Of any other the key is shown, and where there is none the id. Key and id are the agent's words: show
 * them through `visible`.
 */
export function scopeLabel(scope: Pick<Scope, 'id'> & Partial<Scope>, language: Language = 'en'): string {
  const preset = PRESET_SCOPES.get(scope.id);
  if (preset !== undefined) return preset.label[language];
  return scope.label_i18n_key || scope.id;
}
