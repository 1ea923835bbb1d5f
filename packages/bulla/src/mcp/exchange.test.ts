import { number } from '@bulla/core/json';
import { expect, test } from 'vitest';
import { Exchange } from './exchange.ts';

const request = (id: string | null) => ({ id });

test('an answer finds its request once', () => {
  const exchange = new Exchange();
  const [a, b] = [request('a'), request('b')];
  expect([exchange.take(a), exchange.take(b), exchange.take(request('a'))]).toEqual([true, true, false]);
  const [one, two] = [exchange.assign(a), exchange.assign(b)];
  expect(one.lexeme).toMatch(/^[1-9][0-9]*$/);
  expect(exchange.settle(two)).toBe(b);
  expect(exchange.settle(two)).toBe('duplicate');
  expect(exchange.settle(one.lexeme)).toBe('unknown');
  expect(exchange.settle(number('5'))).toBe('unknown');
  expect(exchange.settle(null)).toBe('unknown');
  expect(exchange.settle(one)).toBe(a);
  expect(exchange.size).toBe(0);
});

test('an answer to what was given up is late, and then a duplicate', () => {
  const exchange = new Exchange();
  const a = request('a');
  exchange.take(a);
  const id = exchange.assign(a);
  exchange.abandon(a);
  expect([exchange.isOpen(a), exchange.find('other', id), exchange.find('asker', 'a')]).toEqual([
    false,
    undefined,
    undefined,
  ]);
  expect([exchange.settle(id), exchange.settle(id)]).toEqual(['late', 'duplicate']);
});

test('an id of the asker is in use until it is freed', () => {
  const exchange = new Exchange();
  const a = request('a');
  exchange.take(a);
  exchange.settle(exchange.assign(a));
  expect(exchange.isTaken('a')).toBe(true);
  expect(exchange.take(request('a'))).toBe(false);
  exchange.free(a);
  expect(exchange.take(request('a'))).toBe(true);
  // Freed again, it does not free the other one.
  exchange.free(a);
  expect(exchange.isTaken('a')).toBe(true);
});

test('requests of our own have no id of an asker', () => {
  const exchange = new Exchange();
  const [a, b] = [request(null), request(null)];
  expect([exchange.take(a), exchange.take(b)]).toEqual([true, true]);
  expect(exchange.open()).toEqual([a, b]);
  expect(exchange.settle(exchange.assign(a))).toBe(a);
  exchange.free(b);
  expect(exchange.size).toBe(0);
});

test('what is over is remembered, but not for ever', () => {
  const exchange = new Exchange();
  const ids = Array.from({ length: 10_001 }, () => {
    const one = request(null);
    exchange.take(one);
    const id = exchange.assign(one);
    exchange.abandon(one);
    return id;
  });
  expect(exchange.settle(ids[0]!)).toBe('unknown');
  expect(exchange.settle(ids[1]!)).toBe('late');
});
