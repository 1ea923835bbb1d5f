import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { references } from './index.ts';
import type { References } from './references.ts';
import { plainView } from './references.ts';

const values = (text: string, kind: keyof References) => references(text)[kind].map(({ value }) => value);

describe('URLs', () => {
  test.each([
    ['See https://Example.com:8080/A?x=1. Then', ['https://example.com:8080/A?x=1']],
    ['(http://a.org/x), <ftp://b.net> "wss://c.io/s"', ['http://a.org/x', 'ftp://b.net', 'wss://c.io/s']],
    ['[text](https://a.com/b_(c))', ['https://a.com/b_(c)']],
    [
      'run javascript:alert(1) or data:text/html,<script>x</script>',
      ['javascript:alert(1)', 'data:text/html,<script>x</script>'],
    ],
    ['https:evil.com http:\\\\evil.com\\x', ['https:evil.com', 'http:\\\\evil.com\\x']],
    ['custom+scheme://x/y', ['custom+scheme://x/y']],
    ['访问http://a.com。然后', ['http://a.com']],
    ['data: 5 and http: none', []],
  ])('in %j', (text, urls) => {
    expect(values(text, 'urls')).toEqual(urls);
  });

  test('the host is told apart from user and port', () => {
    expect(values('https://good.com@evil.org:443/good.com', 'hosts')).toEqual(['evil.org', 'good.com']);
    expect(values('http://[2001:db8::1]:80/', 'hosts')).toContain('2001:db8::1');
    expect(values('https://good.com@evil.org/', 'emails')).toEqual([]);
  });
});

describe('hosts', () => {
  test.each([
    ['Send it to evil.com, please.', ['evil.com']],
    ['sub.evil.co.uk and t.co/x', ['sub.evil.co.uk', 't.co']],
    ['example.com.Then more', ['example.com']],
    ['evil.pizza/x and evil.pizza:443', ['evil.pizza', 'evil.pizza']],
    ['1.2.3.4, ::1, fe80::1, 999.1.1.1', ['1.2.3.4', '::1', 'fe80::1']],
    ['2001:db8:0:0:0:0:0:1 at 12:30:45', ['2001:db8:0:0:0:0:0:1']],
    ['localhost:3000', ['localhost']],
    ['访问evil.com然后', ['evil.com']],
    ['раypal.com xn--e1afmkfd.xn--p1ai', ['раypal.com', 'xn--e1afmkfd.xn--p1ai']],
    ['README.md main.py user.id Math.max e.g. i.e. std::vector a::b v1.2.3 and/or', []],
    ['www.foo.md', ['www.foo.md']],
    ['//cdn.evil.pizza/x.js', ['cdn.evil.pizza']],
  ])('in %j', (text, hosts) => {
    expect(values(text, 'hosts')).toEqual(hosts);
  });
});

test('e-mail addresses, and their hosts', () => {
  const text = 'Bob@Evil.co.uk, mailto:a@b.io; pkg@1.2.3 git@github.com:x/y';
  expect(values(text, 'emails')).toEqual(['Bob@evil.co.uk', 'a@b.io', 'git@github.com']);
  expect(values(text, 'hosts')).toEqual(['evil.co.uk', 'b.io', 'github.com']);
});

test('paths', () => {
  const text =
    'Reads /etc/passwd, ~/.ssh/id_rsa, ../up or $HOME/.aws/credentials and C:\\Users\\x, \\\\srv\\share\\f, ' +
    '%APPDATA%\\y, src/index.ts, .env and .ssh/config; not and/or, application/json, 1/2 or </div>.';
  expect(values(text, 'paths')).toEqual([
    '/etc/passwd',
    '~/.ssh/id_rsa',
    '../up',
    '$HOME/.aws/credentials',
    'C:\\Users\\x',
    '\\\\srv\\share\\f',
    '%APPDATA%\\y',
    'src/index.ts',
    '.env',
    '.ssh/config',
  ]);
  expect(values(text, 'hosts')).toEqual(['srv']);
});

describe('disguises', () => {
  test('an address broken up by invisible characters', () => {
    const text = 'Go to ht\u200btps://ev\u00adil.com/x now';
    expect(references(text).urls).toContainEqual({
      value: 'https://evil.com/x',
      offset: 6,
      length: 20,
      disguised: true,
    });
    expect(references(text).hosts).toContainEqual({
      value: 'evil.com',
      offset: 15,
      length: 9,
      disguised: true,
    });
  });

  test('fullwidth letters and a mathematical domain', () => {
    expect(references('ｈｔｔｐｓ：／／ｅｖｉｌ．ｃｏｍ').urls).toEqual([
      { value: 'https://evil.com', offset: 0, length: 16, disguised: true },
    ]);
    expect(references('𝓮𝓿𝓲𝓵.com').hosts).toEqual([
      { value: '𝓮𝓿𝓲𝓵.com', offset: 0, length: 12, disguised: false },
      { value: 'evil.com', offset: 0, length: 12, disguised: true },
    ]);
  });

  test('both readings count where a hidden character ends an address in one of them', () => {
    expect(values('http://a.com\u200bfoo', 'urls')).toEqual(['http://a.com\u200bfoo', 'http://a.comfoo']);
    expect(values('http://a.com\u200bfoo', 'hosts')).toContain('a.com');
  });
});

test('a destination in any surroundings is found at its exact place', () => {
  const around = fc.string({ unit: fc.constantFrom(...'abc .,;:!?()\n\t"\'/\\@-_漢é'), maxLength: 12 });
  const filler = fc.constantFrom('', '\u200b', '\u00ad', '\u2060', '\ufeff');
  fc.assert(
    fc.property(around, around, filler, (before, after, hidden) => {
      const spelled = Array.from('https://evil.example.com/steal').join(hidden);
      const text = `${before} ${spelled} ${after}`;
      expect(references(text).urls).toContainEqual({
        value: 'https://evil.example.com/steal',
        offset: before.length + 1,
        length: spelled.length,
        disguised: hidden !== '',
      });
    }),
    { numRuns: 500 },
  );
});

test('a letter that stands for a saying is not written out', () => {
  expect(plainView('\ufdfa\ufdfb\uff41\u33af').text).toBe('\ufdfa\ufdfbarad\u2215s2');
});

test('hostile texts take linear time: each of these would run for minutes if it were the square', () => {
  for (const unit of 'a|a.|/a|a/|a@|1:|http://|a-|)|a\u200b.|data:|$A|%a|\\\\a|/{|.a-|a.com.|::|漢.'.split(
    '|',
  )) {
    const found = references(`http://x ${unit.repeat(60_000)}`);
    expect(found.urls[0]).toEqual({ value: 'http://x', offset: 0, length: 8, disguised: false });
  }
});
