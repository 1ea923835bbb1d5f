import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CHANNELS } from './channel.ts';
import { ALLOWED_BY, CHOICES, DENIED_REASONS } from './rows.ts';
import { keyOf } from './state.ts';

test('docs/consent.md names every way to be allowed, every choice, reason, channel and table', () => {
  const text = readFileSync(new URL('../../../../docs/consent.md', import.meta.url), 'utf8');
  for (const word of [
    ...ALLOWED_BY,
    ...CHOICES,
    ...DENIED_REASONS,
    ...Object.keys(CHANNELS),
    ...Object.keys(keyOf),
  ])
    expect(text).toContain(`\`${word}\``);
});
