import { expect, test } from 'vitest';
import { matchesTemplate } from './uri.ts';

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
