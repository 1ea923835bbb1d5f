import { describe, expect, test } from 'vitest';
import { patternCost } from './ambiguity.ts';
import { Budget } from './steps.ts';

const cost = (pattern: string) => patternCost(pattern, new Budget(1_000_000));

describe('patterns that explode', () => {
  test.each([
    ['^(a+)+$', 'a repetition in a repetition'],
    ['(a*)*', 'one that may take nothing'],
    ['(a|a)*b', 'two alternatives that are the same'],
    ['(a|aa)+$', 'alternatives that add up to one another'],
    ['(a|b|ab)*c', 'an alternative that two others make'],
    ['(\\w|\\d)*x', 'classes that overlap'],
    ['(a|[^b])*', 'a class that holds the other alternative'],
    ['(\\p{L}|é)+$', 'a Unicode property that holds the other alternative'],
    ['(?:[\\u{1F600}-\\u{1F610}]|😀)*x', 'classes beyond the first plane'],
    ['^([a-z0-9]+-?)*$', 'a separator that may be left out'],
    ['^(\\w+\\s?)*$', 'white space that may be left out'],
    ['(a?b?)*c', 'a repetition of things that may all be left out'],
    ['(.*)*', 'anything, repeated'],
    ['(\\s*,?\\s*a?)*', 'white space at both ends'],
    ['(?=(a+)+$)', 'inside a lookahead'],
    ['(?<n>x+)+', 'inside a named group'],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'the well-known example of OWASP'],
    ['(a?){50}a{50}', 'many times something that may be left out'],
    ['(a|a){32}', 'a fixed number of doublings'],
    ['((a|a){4}){8}', 'the same in two steps'],
    ['((a|a){32}b)*', 'the same inside a loop'],
    ['((a|aa){2})*', 'pairs of what can be shared out in two ways'],
    ['((a{1,10}){1,10}){1,10}', 'bounds that are small alone and large together'],
    ['(a{1,3}){1,30}', 'a small bound inside a large one'],
    ['(x+)\\1*(\\1)*', 'a back reference in a loop'],
  ])('%s: %s', (pattern) => {
    expect(cost(pattern)).toBe('explodes');
  });
});

describe('patterns that do not', () => {
  test.each([
    '',
    'abc',
    '^[a-z]+$',
    '^(a|b)*$',
    'a*a*',
    '^([a-z]+-)*[a-z]+$',
    '^(?:[a-z0-9]+(?:-[a-z0-9]+)*)$',
    '"(?:[^"\\\\]|\\\\.)*"',
    '^(\\d{1,3}\\.){3}\\d{1,3}$',
    '(\\d{1,3},?){1,4}',
    '(ab){30}',
    '(a{2}){16}',
    '((?:0|1){8}){4}',
    '(\\d{4}|\\d{2}-)*',
    '^(\\p{L}+\\s)*$',
    '^(?:[A-Z][a-z]*\\s)+$',
    '^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}$',
    '^((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)$',
    '^([0-9A-Fa-f]{1,4}:){7,7}[0-9A-Fa-f]{1,4}$',
    '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*))*))?$',
    '^P(?!$)(\\d+Y)?(\\d+M)?(T(?=\\d)(\\d+H)?(\\d+S)?)?$',
    '^(a)\\1$',
    '\\b(?:x|y)+\\B',
  ])('%s', (pattern) => {
    expect(cost(pattern)).toBe('safe');
  });
});

describe('what cannot be told', () => {
  test('a pattern that is longer than is gone through', () => {
    const words = Array.from({ length: 500 }, (_, i) => `[${String.fromCodePoint(0x4e00 + i)}]x`);
    expect(cost(`(${words.join('|')})*`)).toBe('unproven');
  });

  test('a pattern that changes its own flags', () => {
    expect(cost('(?i:(a|b)+)')).toBe('unproven');
  });

  test('a pattern for which no steps are left', () => {
    expect(patternCost('^(a+)+$', new Budget(1))).toBe('unproven');
  });

  test('groups ten thousand deep are gone through without recursion', () => {
    const deep = 10_000;
    expect(patternCost(`${'('.repeat(deep)}(a|b)*${')'.repeat(deep)}`, new Budget(1_000_000))).toBe('safe');
  });
});
