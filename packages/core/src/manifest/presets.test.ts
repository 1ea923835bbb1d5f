import { describe, expect, test } from 'vitest';
import { PRESET_SCOPES, scopeLabel } from './presets.ts';
import { compareSensitivity } from './types.ts';

describe('labels of scopes', () => {
  test('the four presets have theirs, in Chinese and English, and their sensitivities', () => {
    expect(
      [...PRESET_SCOPES].map(([id, { sensitivity }]) => [
        id,
        scopeLabel({ id }, 'zh'),
        scopeLabel({ id }),
        sensitivity,
      ]),
    ).toEqual([
      ['notification:send', '发送通知', 'Send notifications', 'low'],
      ['filesystem:read', '读取本地文件', 'Read local files', 'medium'],
      ['clipboard:read', '读取剪贴板', 'Read the clipboard', 'medium'],
      ['location:read', '读取位置', 'Read the location', 'high'],
    ]);
  });

  test('an agent has no say in the label of a preset', () => {
    expect(scopeLabel({ id: 'location:read', label_i18n_key: 'Weather' })).toBe('Read the location');
  });

  test('of others the key is shown, and without one the id', () => {
    expect(scopeLabel({ id: 'network:http', label_i18n_key: 'a.b' }, 'zh')).toBe('a.b');
    expect(scopeLabel({ id: 'network:http', label_i18n_key: '' })).toBe('network:http');
    expect(scopeLabel({ id: 'network:http' })).toBe('network:http');
  });
});

test('sensitivities have an order', () => {
  expect([
    compareSensitivity('low', 'medium') < 0,
    compareSensitivity('high', 'medium') > 0,
    compareSensitivity('high', 'high'),
  ]).toEqual([true, true, 0]);
});
