import { expect, test } from 'vitest';
import { durationOption } from './input.ts';

const read = (option: ReturnType<typeof durationOption>, text: string) =>
  option.parseArg!(text, undefined as never);

test('a timer takes milliseconds to 24 days, a life span whole seconds', () => {
  const [timer, span] = [durationOption('-t', 'x'), durationOption('-s', 'x', { unit: 's', least: '0s' })];
  expect([read(timer, '1h'), read(timer, '300ms'), read(span, '1h30m'), read(span, '0s')]).toEqual([
    3_600_000, 300, 5400, 0,
  ]);
  expect(() => read(timer, '0s')).toThrow('It is at least 1ms and at most 24d.');
  expect(() => read(timer, '25d')).toThrow('It is at least 1ms and at most 24d.');
  expect(() => read(span, '1500ms')).toThrow('A duration is expected, such as 30s, 10m, 1h30m or 7d.');
  expect(() => read(timer, '90')).toThrow('A duration is expected, such as 30s, 10m, 1h30m or 7d.');
});

test('a default is read by the same grammar and shown as it is written', () => {
  const option = durationOption('--ttl', 'x', { unit: 's', initial: '10m' });
  expect([option.flags, option.defaultValue, option.defaultValueDescription]).toEqual([
    '--ttl <duration>',
    600,
    '10m',
  ]);
});
