import { expect, test } from 'vitest';
import { type JsonObject, parse } from '../json/index.ts';
import { compareSchemas } from './index.ts';

const list = (count: number, item: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => item(i)).join();
const patterns = (count: number, end = '', type = 'string') =>
  `"patternProperties":{${list(count, (i) => `"^k${i}${end}$":{"type":"${type}"}`)}}`;

/** Schemas of a size, which differ in their end. Every name can fall under every pattern. */
const FORMS: Readonly<Record<string, (size: number, end: string) => string>> = {
  'required names beside patterns': (size, end) =>
    `{"required":[${list(size, (i) => `"p${i}${end}"`)}],${patterns(size)}}`,
  'properties beside patterns': (size, end) =>
    `{"properties":{${list(size, (i) => `"p${i}${end}":{"minLength":${i}}`)}},${patterns(size)}}`,
  'properties of another type beside patterns': (size, end) =>
    `{"properties":{${list(size, (i) => `"p${i}":{"type":"${end === '' ? 'string' : 'integer'}"}`)}},${patterns(size)}}`,
  'other patterns': (size, end) => `{${patterns(size, end)}}`,
  'patterns of another type': (size, end) => `{${patterns(size, '', end === '' ? 'string' : 'integer')}}`,
  'dependencies beside patterns': (size, end) =>
    `{"dependentRequired":{${list(size, (i) => `"p${i}":["q${end}"]`)}},${patterns(size)}}`,
};

/** How often a text was matched, and something was put into a map: that is what a comparison does all the time. */
function work(form: (size: number, end: string) => string, size: number): number {
  const [before, after] = ['', 'x'].map((end) => parse(form(size, end)) as JsonObject);
  const [test, set] = [RegExp.prototype.test, Map.prototype.set];
  let count = 0;
  // Counted by hand: a spy keeps every argument.
  RegExp.prototype.test = function (text) {
    count++;
    return test.call(this, text);
  };
  Map.prototype.set = function (key, value) {
    count++;
    return set.call(this, key, value);
  };
  try {
    expect(compareSchemas(before!, after!, { maxSteps: 1_000 }).relation).not.toBe('same');
  } finally {
    RegExp.prototype.test = test;
    Map.prototype.set = set;
  }
  return count;
}

test.each(Object.entries(FORMS))('%s: twice the size takes at most about twice the work', (_, form) => {
  const [small, large] = [work(form, 400), work(form, 800)];
  expect(Math.log2(large / small)).toBeLessThan(1.2);
});
