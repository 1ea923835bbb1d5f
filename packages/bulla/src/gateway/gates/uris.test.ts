import { describe, expect, test } from 'vitest';
import { faultOf } from './uris.ts';

const PRIVATE = 'of a private address';
const UPWARDS = 'that leads upwards or holds a variable';

describe('an argument that is a URI', () => {
  test.each([
    ['http://169.254.169.254/latest/meta-data/', PRIVATE],
    ['http://127.0.0.1:8080/', PRIVATE],
    ['http://2130706433/', PRIVATE],
    ['http://0x7f.1/', PRIVATE],
    ['http://localhost/', PRIVATE],
    ['http://LOCALHOST./', PRIVATE],
    ['HTTP://[::1]/', PRIVATE],
    ['http://[::ffff:10.0.0.1]/', PRIVATE],
    ['http://user@10.1.2.3/', PRIVATE],
    ['https:\\\\127.0.0.1\\', PRIVATE],
    ['https:127.0.0.1', PRIVATE],
    ['ht\ntp://127.0.\t0.1/', PRIVATE],
    ['redis://0x7f000001:6379/', PRIVATE],
    ['redis://127.1/', PRIVATE],
    ['postgres://localhost/db', PRIVATE],
    ['  http://10.0.0.1/  ', PRIVATE],
    ['javascript:alert(1)', 'that holds a program'],
    ['JavaScript:alert(1)', 'that holds a program'],
    ['file:///data/../etc/passwd', UPWARDS],
    ['file:///data/%2e%2e/etc/passwd', UPWARDS],
    ['file:///data/%252e%252e/etc/passwd', UPWARDS],
    ['file:///$HOME/x', UPWARDS],
    ['notes://a/..%2f..%2fb', UPWARDS],
    ['https://example.com/a/%2e%2e/b', UPWARDS],
    ['https://example.com/a/..%5cb', UPWARDS],
    ['file://server/share', 'of a file on another machine'],
    ['http://[1:2/', 'that cannot be read'],
  ])('%s', (text, why) => {
    expect(faultOf(text, {})).toBe(why);
  });

  test.each([
    'https://example.com/a?x=http://10.0.0.1&y=..',
    'https://example.com/odata/$metadata?q=100%',
    'file:///data/a.txt',
    'notes://today',
    'see http://10.0.0.1/ for more',
    'C:\\Users\\me',
    'note: something',
    'mailto:me@example.com',
    '../relative',
    'urn:isbn:1',
    '',
  ])('%s passes', (text) => {
    expect(faultOf(text, {})).toBeNull();
  });

  test('is held to the schemes, hosts and addresses that the operator permits', () => {
    expect(faultOf('http://10.0.0.1/', { private: true })).toBeNull();
    expect(faultOf('http://10.0.0.1/', { hosts: ['10.0.0.1'] })).toBeNull();
    expect(faultOf('https://a.example.com/', { hosts: ['*.example.com'] })).toBeNull();
    expect(faultOf('https://example.com/', { hosts: ['*.example.com'] })).toBe(
      'of another host than permitted',
    );
    expect(faultOf('https://aexample.com/', { hosts: ['*.example.com'] })).toBe(
      'of another host than permitted',
    );
    expect(faultOf('https://A.Example.COM/', { hosts: ['a.example.com'] })).toBeNull();
    expect(faultOf('http://example.com/', { schemes: ['https'] })).toBe('with another scheme than permitted');
    expect(faultOf('HTTPS://example.com/', { schemes: ['https'] })).toBeNull();
  });
});
