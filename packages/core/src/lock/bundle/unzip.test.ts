import fc from 'fast-check';
import { deflateSync } from 'fflate/browser';
import { describe, expect, inject, test } from 'vitest';
import { refusal, utf8 } from '../../../test/surface.ts';
import { concat, fromBase64 } from '../../crypto/index.ts';
import { crc32, unzip } from './unzip.ts';

/** One entry of an archive that a test builds, honest unless it says otherwise. */
interface Made {
  name?: string | Uint8Array;
  content?: Uint8Array;
  data?: Uint8Array;
  method?: number;
  flags?: number;
  version?: number;
  crc?: number;
  size?: number;
  compressedSize?: number;
  attributes?: number;
  extra?: Uint8Array;
  comment?: string;
  local?: { name?: string; method?: number; flags?: number; crc?: number; size?: number };
  /** Bytes between this entry and the next. */
  gap?: Uint8Array;
}

const u16 = (...values: number[]) => new Uint8Array(Uint16Array.from(values).buffer);
const u32 = (...values: number[]) => new Uint8Array(Uint32Array.from(values).buffer);

/** Writes an archive field by field (APPNOTE 4.3), so that each can be wrong. */
function zip(
  entries: Made[],
  end: {
    comment?: string;
    count?: number;
    offset?: number;
    size?: number;
    disk?: number;
    before?: Uint8Array;
  } = {},
) {
  const locals: Uint8Array[] = [];
  const centrals: Uint8Array[] = [];
  let at = 0;
  for (const made of entries) {
    const { content = utf8('hello'), method = 0, flags = 0, extra = new Uint8Array(), local = {} } = made;
    const name =
      typeof made.name === 'string' || made.name === undefined ? utf8(made.name ?? 'a.txt') : made.name;
    const data = made.data ?? (method === 8 ? deflateSync(content) : content);
    const [crc, size, packed] = [
      made.crc ?? crc32(content),
      made.size ?? content.length,
      made.compressedSize ?? data.length,
    ];
    const later = (flags & 8) !== 0;
    const localName = local.name === undefined ? name : utf8(local.name);
    const sums = later ? [0, 0, 0] : [local.crc ?? crc, packed, local.size ?? size];
    const head = concat(
      u32(0x04034b50),
      u16(made.version ?? 20, local.flags ?? flags, local.method ?? method, 0, 0x21),
      u32(...sums),
      u16(localName.length, extra.length),
    );
    const tail = later ? u32(0x08074b50, local.crc ?? crc, packed, size) : new Uint8Array();
    const whole = concat(head, localName, extra, data, tail, made.gap ?? new Uint8Array());
    const comment = utf8(made.comment ?? '');
    centrals.push(
      concat(
        u32(0x02014b50),
        u16(0x0314, made.version ?? 20, flags, method, 0, 0x21),
        u32(crc, packed, size),
        u16(name.length, extra.length, comment.length, 0, 0),
        u32(made.attributes ?? 0o100644 * 65536, at),
        name,
        extra,
        comment,
      ),
    );
    locals.push(whole);
    at += whole.length;
  }
  const directory = concat(...centrals);
  const comment = utf8(end.comment ?? '');
  const count = end.count ?? entries.length;
  return concat(
    ...locals,
    directory,
    end.before ?? new Uint8Array(),
    u32(0x06054b50),
    u16(end.disk ?? 0, end.disk ?? 0, count, count),
    u32(end.size ?? directory.length, end.offset ?? at),
    u16(comment.length),
    comment,
  );
}

const open = (bytes: Uint8Array) => refusal(() => unzip(bytes));
const zeros = (size: number) => new Uint8Array(size);

test('stored and deflated entries, with and without descriptor and timestamp', () => {
  const stamp = concat(u16(0x5455, 5), Uint8Array.of(1), u32(315532800));
  const bytes = zip([
    { name: 'b', content: utf8('x') },
    { name: 'a', method: 8, content: utf8('hello '.repeat(100)), flags: 8, extra: stamp },
    { name: 'Empty', content: zeros(0) },
    { name: 'e2', content: zeros(0), method: 8, flags: 0x800 },
  ]);
  expect([...unzip(bytes)].map(([name, content]) => [name, content.length])).toEqual([
    ['b', 1],
    ['a', 600],
    ['Empty', 0],
    ['e2', 0],
  ]);
  expect(unzip(zip([])).size).toBe(0);
});

describe('names', () => {
  test.each([
    ...[
      '../evil',
      '..',
      '.',
      '/etc/passwd',
      'a/b',
      'a\\b',
      'C:x',
      'a:b',
      '',
      '.hidden',
      '-x',
      '1',
      'a\u0000b',
    ],
    ...['a b', 'a.', 'a\nb', 'é', 'a\u202eb', 'x'.repeat(101), 'a~1', '__proto__', 'a%2fb'],
  ])('%j is refused', (name) => {
    expect(open(zip([{ name }]))).toBe('BUNDLE_NAME');
  });

  test('bytes that are no UTF-8 are refused', () => {
    expect(open(zip([{ name: Uint8Array.of(0x61, 0xff) }]))).toBe('BUNDLE_NAME');
  });

  test('the same name twice is refused, also in another case', () => {
    expect(open(zip([{ name: 'a' }, { name: 'a' }]))).toBe('BUNDLE_NAME');
    expect(open(zip([{ name: 'README.txt' }, { name: 'Readme.TXT' }]))).toBe('BUNDLE_NAME');
  });
});

describe('limits', () => {
  test('too many, too large one by one or together, before anything is unpacked', () => {
    const many = Array.from({ length: 33 }, (_, i) => ({ name: `a${i}` }));
    expect(open(zip(many))).toBe('BUNDLE_TOO_LARGE');
    expect(open(zip(many.slice(1)))).toBe('ok');
    // The data is missing altogether: the sizes alone are enough.
    const claims = (size: number) => ({ method: 8, data: zeros(size / 400), size });
    expect(open(zip([{ name: 'a', ...claims((64 << 20) + 400) }]))).toBe('BUNDLE_TOO_LARGE');
    expect(open(zip(['a', 'b', 'c'].map((name) => ({ name, ...claims(60_000_000) }))))).toBe(
      'BUNDLE_TOO_LARGE',
    );
  });

  test('a bomb by its ratio', () => {
    expect(open(zip([{ method: 8, content: zeros(2 << 20) }]))).toBe('BUNDLE_TOO_LARGE');
    expect(open(zip([{ method: 8, content: zeros(1 << 20) }]))).toBe('ok');
  });

  test('a bomb that lies about its size is stopped at the first byte too many', () => {
    const data = deflateSync(zeros(20 << 20));
    expect(open(zip([{ method: 8, data, size: 1000 }]))).toBe('BUNDLE_TOO_LARGE');
    expect(open(zip([{ method: 8, data, size: 0 }]))).toBe('BUNDLE_TOO_LARGE');
    expect(open(zip([{ method: 8, data: deflateSync(utf8('ab')), size: 3 }]))).toBe('BUNDLE_MALFORMED');
  });
});

describe('what no bundle has', () => {
  const stamped = (id: number, size = 0) => concat(u16(id, size), zeros(size));
  const cases: [string, Uint8Array, string][] = [
    ['data after the end', concat(zip([{}]), Uint8Array.of(0)), 'BUNDLE_MALFORMED'],
    ['a comment', zip([{}], { comment: 'hi' }), 'BUNDLE_MALFORMED'],
    ['a second archive behind', concat(zip([{}]), zip([]).subarray(1)), 'BUNDLE_MALFORMED'],
    ['two archives in one', concat(zip([{}]), zip([])), 'BUNDLE_MALFORMED'],
    ['data before', concat(utf8('MZ'), zip([{}])), 'BUNDLE_MALFORMED'],
    ['data between entries', zip([{ name: 'a', gap: zeros(3) }, { name: 'b' }]), 'BUNDLE_MALFORMED'],
    ['data before the directory', zip([{ gap: zeros(3) }]), 'BUNDLE_MALFORMED'],
    ['data behind the directory', zip([{}], { before: zeros(3) }), 'BUNDLE_MALFORMED'],
    ['nothing', new Uint8Array(), 'BUNDLE_MALFORMED'],
    ['text', utf8('this is not an archive at all, but long enough to be one'), 'BUNDLE_MALFORMED'],
    ['entries that the directory does not name', zip([{}], { count: 0 }), 'BUNDLE_MALFORMED'],
    ['fewer entries than said', zip([{}], { count: 2 }), 'BUNDLE_MALFORMED'],
    ['several parts', zip([{}], { disk: 1 }), 'BUNDLE_MALFORMED'],
    ['zip64 counts', zip([{}], { count: 0xffff }), 'BUNDLE_MALFORMED'],
    ['zip64 offsets', zip([{}], { offset: 0xffffffff }), 'BUNDLE_MALFORMED'],
    ['a zip64 locator', zip([{}], { before: concat(u32(0x07064b50), zeros(16)) }), 'BUNDLE_MALFORMED'],
    ['zip64 sizes', zip([{ size: 0xffffffff }]), 'BUNDLE_MALFORMED'],
    ['a zip64 field', zip([{ extra: stamped(1, 16) }]), 'BUNDLE_MALFORMED'],
    ['a field that renames', zip([{ extra: stamped(0x7075, 9) }]), 'BUNDLE_MALFORMED'],
    ['a field that is cut off', zip([{ extra: u16(0x5455, 9) }]), 'BUNDLE_MALFORMED'],
    ['a comment on an entry', zip([{ comment: 'x' }]), 'BUNDLE_MALFORMED'],
    ['encryption', zip([{ flags: 1 }]), 'BUNDLE_MALFORMED'],
    ['strong encryption', zip([{ flags: 0x41 }]), 'BUNDLE_MALFORMED'],
    ['hidden headers', zip([{ flags: 0x2000 }]), 'BUNDLE_MALFORMED'],
    ['patches', zip([{ flags: 0x20 }]), 'BUNDLE_MALFORMED'],
    ['another method', zip([{ method: 9 }]), 'BUNDLE_MALFORMED'],
    ['a newer version', zip([{ version: 45 }]), 'BUNDLE_MALFORMED'],
    ['a symbolic link', zip([{ attributes: 0o120777 * 65536 }]), 'BUNDLE_MALFORMED'],
    ['a folder', zip([{ attributes: 0o040755 * 65536 }]), 'BUNDLE_MALFORMED'],
    ['a folder of DOS', zip([{ attributes: 0x10 }]), 'BUNDLE_MALFORMED'],
    ['a device', zip([{ attributes: 0o060644 * 65536 }]), 'BUNDLE_MALFORMED'],
    ['another name in front', zip([{ name: 'good', local: { name: 'evil' } }]), 'BUNDLE_MALFORMED'],
    ['another method in front', zip([{ local: { method: 8 } }]), 'BUNDLE_MALFORMED'],
    ['other flags in front', zip([{ local: { flags: 0x800 } }]), 'BUNDLE_MALFORMED'],
    ['another sum in front', zip([{ local: { crc: 1 } }]), 'BUNDLE_MALFORMED'],
    ['another size in front', zip([{ local: { size: 1 } }]), 'BUNDLE_MALFORMED'],
    ['another sum behind', zip([{ flags: 8, local: { crc: 1 } }]), 'BUNDLE_MALFORMED'],
    ['a wrong sum', zip([{ crc: 1 }]), 'BUNDLE_MALFORMED'],
    ['two sizes of one stored file', zip([{ size: 4 }]), 'BUNDLE_MALFORMED'],
    [
      'a deflated file of no bytes',
      zip([{ method: 8, data: zeros(0), content: zeros(0) }]),
      'BUNDLE_MALFORMED',
    ],
    [
      'a deflated file that is cut off',
      zip([{ method: 8, data: deflateSync(utf8('hello')).slice(0, -1) }]),
      'BUNDLE_MALFORMED',
    ],
    [
      'data behind a deflated file',
      zip([{ method: 8, data: concat(deflateSync(utf8('hello')), zeros(1)) }]),
      'BUNDLE_MALFORMED',
    ],
    [
      'a deflated file that is none',
      zip([{ method: 8, data: Uint8Array.of(7, 7, 7, 7) }]),
      'BUNDLE_MALFORMED',
    ],
  ];
  test.each(cases)('%s', (_, bytes, code) => {
    expect(open(bytes)).toBe(code);
  });
});

test('the sum of ZIP', () => {
  expect(crc32(utf8('123456789'))).toBe(0xcbf43926);
  expect(crc32(zeros(0))).toBe(0);
});

describe('any bytes', { timeout: 120_000 * inject('soak') }, () => {
  test('content of any size comes back, deflated or stored', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.integer({ min: 1, max: 200 }),
        fc.constantFrom(0, 8),
        fc.constantFrom(0, 8),
        (part, times, method, flags) => {
          const content = concat(...Array.from({ length: times }, () => part));
          expect(unzip(zip([{ content, method, flags }])).get('a.txt')).toEqual(content);
        },
      ),
      { numRuns: 200 * inject('soak') },
    );
  });

  test('one changed bit is refused, but for the rights of a file of the released program', () => {
    const bytes = zip([
      { name: 'a', method: 8, content: utf8('hello hello hello hello') },
      { name: 'b', flags: 8, content: utf8('x') },
    ]);
    const right = [...unzip(bytes)];
    const silent = new Set<number>();
    for (let at = 0; at < bytes.length; at++) {
      for (const bit of [1, 2, 4, 8, 16, 32, 64, 128]) {
        const changed = bytes.slice();
        changed[at]! ^= bit;
        if (open(changed) !== 'ok') continue;
        expect([...unzip(changed)]).toEqual(right);
        silent.add(at);
      }
    }
    // The second entry has a descriptor, as those of the released program have.
    const directory = new DataView(bytes.buffer).getUint32(bytes.length - 6, true);
    expect([...silent]).toEqual([38, 40, 41].map((step) => directory + 47 + step));
  });

  test('cut off anywhere, it is refused', () => {
    const bytes = zip([{ method: 8 }, { name: 'b' }]);
    for (let size = 0; size < bytes.length; size++) expect(open(bytes.subarray(0, size))).not.toBe('ok');
  });

  test('noise is refused with a code', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (noise) => {
        expect(open(noise)).toMatch(/^BUNDLE_/);
        expect(open(zip([{ method: 8, data: concat(noise, Uint8Array.of(0)) }]))).toMatch(/^BUNDLE_/);
      }),
      { numRuns: 500 * inject('soak') },
    );
  });
});

test("Go's deflate, which ends in an empty block", () => {
  // "hello" stored in a block that is not the last, a sync marker, and the empty last block.
  const data = concat(Uint8Array.of(0, 5, 0, 0xfa, 0xff), utf8('hello'), fromBase64('AQAA//8='));
  expect(unzip(zip([{ method: 8, data }])).get('a.txt')).toEqual(utf8('hello'));
});
