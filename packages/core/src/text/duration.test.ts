import { expect, test } from 'vitest';
import { parseDuration } from './duration.ts';

test.each([
  ['0s', 0],
  ['300ms', 300],
  ['90s', 90_000],
  ['10m', 600_000],
  ['1h', 3_600_000],
  ['1h30m', 5_400_000],
  ['1m30s', 90_000],
  ['7d', 604_800_000],
  ['1d2h3m4s5ms', 93_784_005],
  ['1.5s', 1500],
  ['0.3s', 300],
  ['0.001s', 1],
  ['1.5h', 5_400_000],
])('%s is %i ms', (text, ms) => expect(parseDuration(text)).toBe(ms));

test.each([
  ...['', '90', '0', 's', '-1s', '+1s', ' 1s', '1s ', '1 s', '1S', '1min', '1w', '1h1', 'h1'],
  ...['30m1h', '1s1s', '1.s', '.5s', '1.0005s', '0.5ms', '1e3s', '1_000s', '٣s', 'soon'],
  ...['9999999999999999s', `${'9'.repeat(400)}d`, '104249991.5d1'],
])('%j is none', (text) => expect(parseDuration(text)).toBeNull());
