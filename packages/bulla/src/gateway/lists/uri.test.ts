import { describe, expect, test } from 'vitest';
import { addressKey, matchesTemplate } from './uri.ts';

test.each([
  ['note:///{id}', 'note:///7'],
  ['note://{id}', 'note://7'],
  ['file:///{+path}', 'file:///a/b/c.txt'],
  ['file:///{+path}', 'file:///a/..b/c..d'],
  ['db://{table}/{row}', 'db://users/7'],
  ['x:{+a}-{b}', 'x:p/q-r/s-t'],
  ['https://example.com/{id}', 'https://example.com/7%20a'],
  ['note:///{id}', 'note:///\u00e9'],
  ['price://{amount}', 'price://$5'],
])('%s leads to %s', (template, uri) => {
  expect(matchesTemplate(template, uri)).toBe(true);
});

test.each([
  ['note:///{id}', 'note:///'],
  ['note:///{id}', 'note:///a/b'],
  ['note:///{id}', 'note:///a?b'],
  ['note:///{id}', 'Note:///a'],
  ['note:///{id}', 'note:///..'],
  ['note:///{id}', 'note:///%2e%2E'],
  ['note:///{id}', 'note:///%252e%252e'],
  ['note:///{id}', 'note:///..%2f..%2fetc%2fpasswd'],
  ['note:///{id}', 'note:///%25252525252e'],
  ['note:///{id}', 'note:///a%00'],
  ['note:///{id}', 'note:///a\nb'],
  ['note:///{id}', 'note:///%'],
  ['note:///{id}', 'note:///%ff'],
  ['file:///{+path}', 'file:///a/../b'],
  ['file:///{+path}', 'file:///a/./b'],
  ['file:///{+path}', 'file:///..\\..\\b'],
  ['file:///{+path}', 'file:///$HOME/b'],
  ['file:///{+path}', 'file:///$'.concat('{IFS}')],
  ['file:///{+path}', 'file:///$(id)'],
  ['{+uri}', 'file:///etc/passwd'],
  ['{scheme}://x', 'file://x'],
  ['https://{host}/x', 'https://169.254.169.254/x'],
  ['HTTP://a.{host}/x', 'HTTP://a.b/x'],
  ['http:{+rest}', 'http://127.0.0.1/'],
  ['x:{?q}', 'x:?q=1'],
  ['x:{/path}', 'x:/a'],
  ['x:{a,b}', 'x:1,2'],
  ['x:{a:3}', 'x:abc'],
  ['x:{a', 'x:{a'],
  ['x:a}', 'x:a}'],
])('%s does not lead to %s', (template, uri) => {
  expect(matchesTemplate(template, uri)).toBe(false);
});

test('takes time that grows with the length only', () => {
  const template = `x:${'{a}-'.repeat(50)}z`;
  expect(matchesTemplate(template, `x:${'-'.repeat(8000)}`)).toBe(false);
  expect(matchesTemplate('x:{a}', `x:${'a'.repeat(9000)}`)).toBe(false);
});

describe('addresses that a careless reader takes for one', () => {
  test.each([
    'UI://PAGE/one',
    'ui://page/one/',
    'ui://page/one/.',
    'ui://page/two/../one',
    'ui:///page//one',
    'ui:\\\\page\\one',
    ' ui://page/one\n',
    'ui://pa\tge/o\r\nne',
    'ui://pa\u200bge/o\u00adne',
    'ui://p%61ge/one',
    'ui://p%2561ge/one',
    'ui://p%252561ge/one?%zz',
    'ui://p%e2%80%8bage/one',
    'ui://page%2Fone%3Fx',
    'ui://page/one?x=/../..',
    'ui://page/one#%',
    'ui://me:secret@page:80/one',
  ])('%j', (uri) => {
    expect(addressKey(uri)).toBe('ui:page/one');
  });

  test.each([
    ['ui://page', 'ui:page'],
    ['ui://page/one/two', 'ui:page/one/two'],
    ['ux://page/one', 'ux:page/one'],
    ['ui://page/%zz', 'ui:page/%zz'],
    ['page/one', ':page/one'],
    ['', ':'],
    [`ui://${'%25'.repeat(3)}61`, 'ui:%%a'],
    [`ui://%${'25'.repeat(9)}61`, null],
  ])('and others: %j', (uri, key) => {
    expect(addressKey(uri)).toBe(key);
  });

  test('are found in time that grows with their length only', () => {
    const long = (text: string) => addressKey(`ui://${text.repeat(300_000)}`);
    expect(['../', '@', '\u200b', '/', '\t'].map(long)).toEqual(Array(5).fill('ui:'));
    expect(long('a/')).toBe(`ui:${'a/'.repeat(300_000).slice(0, -1)}`);
    expect(long('%25')).toBe(`ui:${'%'.repeat(300_000)}`);
    expect(long('\u0301\u0316')).toHaveLength(600_003);
    expect(long(':1')).toHaveLength(600_001);
  });
});
