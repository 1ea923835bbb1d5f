// The browser build is the same code without worker threads, so that Node.js and browsers run the same lines.
import { Inflate } from 'fflate/browser';
import { fromUtf8 } from '../../crypto/index.ts';
import { BullaError } from '../../error.ts';

// A strict reader of ZIP (APPNOTE 6.3), for files that may be hostile. Headers have the values of our writer or of the
// released program's, of which only the rights of its files vary, so that nobody can alter a bundle unnoticed. Every
// byte of the archive is accounted for: entries one after the other from the first byte, each described alike in both
// headers, the directory, and the end.

const MAX_ENTRIES = 32;
const MAX_ENTRY_BYTES = 64 << 20;
const MAX_TOTAL_BYTES = 128 << 20;
/** How many times larger than its compressed form an entry over `HARMLESS_BYTES` may be. */
const MAX_RATIO = 500;
const HARMLESS_BYTES = 1 << 20;

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const DESCRIPTOR = 0x08074b50;
const ZIP64_LOCATOR = 0x07064b50;

/** 1980-01-01 00:00:00, the first moment that ZIP can tell: every bundle is of then. */
const TIME = 0x00210000;
/** The same as an extra field of Unix, which the released program adds. */
const TIMESTAMP = 0x5455;
const TIMESTAMP_FIELD = [0x55, 0x54, 5, 0, 1, 0x00, 0xa6, 0xce, 0x12];
const VERSION = 20;
const ZIP64_EXTRA = 0x0001;

const ENCRYPTED = 0x2041;
const HAS_DESCRIPTOR = 0x0008;
const UTF8_NAMES = 0x0800;

/** A letter first and no separator: such a name means the same file in every folder and on every system. */
const NAME = /^[A-Za-z](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?$/;

/** Whether a file may have this name in a bundle. */
export function isBundleName(name: string): boolean {
  return NAME.test(name);
}

interface Entry {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly offset: number;
}

/**
 * Reads an archive of plain files. All sizes are checked against the limits before anything is inflated, and
 * again while it is. Throws `BUNDLE_MALFORMED`, also for links and folders; `BUNDLE_NAME` for a name with a path or
 * anything else odd, and for two that differ in case only; `BUNDLE_TOO_LARGE`.
 */
export function unzip(bytes: Uint8Array): Map<string, Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const directory = findDirectory(view);
  const entries: Entry[] = [];
  let at = directory.offset;
  for (let i = 0; i < directory.count; i++) {
    const { entry, end } = readCentral(view, at, directory.end);
    entries.push(entry);
    at = end;
  }
  if (at !== directory.end) throw malformed('The directory is longer than its entries.');
  checkNames(entries);
  checkSizes(entries);
  const files = new Map<string, Uint8Array>();
  let next = 0;
  for (const entry of entries) {
    if (entry.offset !== next) throw malformed('An entry does not begin where the one before it ends.');
    const data = readLocal(view, entry, directory.offset);
    files.set(entry.name, contentOf(bytes.subarray(data.start, data.end), entry));
    next = data.next;
  }
  if (next !== directory.offset) throw malformed('There is data between the last entry and the directory.');
  return files;
}

function findDirectory(view: DataView): { offset: number; end: number; count: number } {
  const at = view.byteLength - 22;
  if (at < 0 || view.getUint32(at, true) !== END || view.getUint16(at + 20, true) !== 0) {
    // An end that is not at the end has something behind it.
    for (let early = at; early >= 0 && early > at - 0x10000; early--)
      if (view.getUint32(early, true) === END) throw malformed('There is data after the end of the archive.');
    throw malformed('The file does not end as a ZIP archive does.');
  }
  const count = view.getUint16(at + 10, true);
  const size = view.getUint32(at + 12, true);
  const offset = view.getUint32(at + 16, true);
  const hasLocator = at >= 20 && view.getUint32(at - 20, true) === ZIP64_LOCATOR;
  if (hasLocator || count === 0xffff || size === 0xffffffff || offset === 0xffffffff) throw zip64();
  if (view.getUint32(at + 4, true) !== 0 || view.getUint16(at + 8, true) !== count)
    throw malformed('The archive is in several parts.');
  if (offset + size !== at) throw malformed('The directory does not stand before the end.');
  if (count > MAX_ENTRIES) throw tooLarge(`more than ${MAX_ENTRIES} files`);
  return { offset, end: at, count };
}

function readCentral(view: DataView, at: number, limit: number): { entry: Entry; end: number } {
  if (at + 46 > limit || view.getUint32(at, true) !== CENTRAL)
    throw malformed('A directory entry was expected.');
  const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
  const [nameSize, extraSize] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true)];
  const end = at + 46 + nameSize + extraSize;
  if (end > limit) throw malformed('A directory entry is cut off.');
  if (view.getUint16(at + 32, true) !== 0) throw malformed('An entry has a comment.');
  if (view.getUint16(at + 34, true) !== 0) throw malformed('The archive is in several parts.');
  checkForm(flags, method, view.getUint16(at + 6, true));
  if (view.getUint32(at + 12, true) !== TIME || view.getUint16(at + 36, true) !== 0)
    throw malformed('An entry has a header that no bundle has.');
  const attributes = view.getUint32(at + 38, true);
  const type = (attributes >>> 28) & 0xf;
  if ((type !== 0 && type !== 0x8) || (attributes & 0x10) !== 0)
    throw malformed('An entry is a link, a folder or something else than a file.');
  checkOrigin(flags, view.getUint16(at + 4, true), attributes);
  const [compressedSize, size] = [view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
  const offset = view.getUint32(at + 42, true);
  if ([compressedSize, size, offset].includes(0xffffffff)) throw zip64();
  checkExtra(view, at + 46 + nameSize, end);
  const name = nameAt(view, at + 46, nameSize);
  return {
    entry: { name, flags, method, crc: view.getUint32(at + 16, true), compressedSize, size, offset },
    end,
  };
}

function readLocal(
  view: DataView,
  entry: Entry,
  limit: number,
): { start: number; end: number; next: number } {
  const at = entry.offset;
  if (at + 30 > limit || view.getUint32(at, true) !== LOCAL) throw malformed('An entry was expected.');
  const [nameSize, extraSize] = [view.getUint16(at + 26, true), view.getUint16(at + 28, true)];
  const start = at + 30 + nameSize + extraSize;
  const end = start + entry.compressedSize;
  const hasDescriptor = (entry.flags & HAS_DESCRIPTOR) !== 0;
  const next = hasDescriptor ? end + 16 : end;
  if (next > limit) throw malformed('An entry is cut off.');
  const sums = (from: number) => [0, 4, 8].map((step) => view.getUint32(from + step, true));
  const said = [entry.crc, entry.compressedSize, entry.size];
  const agrees =
    view.getUint16(at + 4, true) === VERSION &&
    view.getUint32(at + 10, true) === TIME &&
    view.getUint16(at + 6, true) === entry.flags &&
    view.getUint16(at + 8, true) === entry.method &&
    same(sums(at + 14), hasDescriptor ? [0, 0, 0] : said) &&
    (!hasDescriptor || (view.getUint32(end, true) === DESCRIPTOR && same(sums(end + 4), said))) &&
    nameAt(view, at + 30, nameSize) === entry.name;
  if (!agrees) throw malformed('An entry is not what the directory says.');
  checkExtra(view, at + 30 + nameSize, start);
  return { start, end, next };
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.every((value, i) => value === b[i]);
}

function checkForm(flags: number, method: number, version: number): void {
  if ((flags & ENCRYPTED) !== 0) throw malformed('An entry is encrypted.');
  if ((flags & ~(HAS_DESCRIPTOR | UTF8_NAMES)) !== 0 || (method !== 0 && method !== 8) || version !== VERSION)
    throw malformed('An entry is packed in a way that is not read here.');
}

/**
 * Who wrote an entry, and its rights. Ours has no descriptor, and 0644. The released program has one for each, and for
 * a file its own rights and perhaps the read-only mark of DOS; what it writes itself has neither system nor rights.
 */
function checkOrigin(flags: number, maker: number, attributes: number): void {
  const rights = attributes >>> 16;
  const isOurs = maker === 0x0314 && attributes === (0o100644 << 16) >>> 0;
  const isReleased =
    maker === 0x0314
      ? (attributes & 0xfffe) === 0 && rights >>> 9 === 0o100
      : maker === 0x0014 && attributes === 0;
  if ((flags & HAS_DESCRIPTOR) === 0 ? !isOurs : !isReleased)
    throw malformed('An entry has a header that no bundle has.');
}

function checkExtra(view: DataView, from: number, to: number): void {
  for (let at = from; at < to; ) {
    const id = at + 4 <= to ? view.getUint16(at, true) : -1;
    if (id === ZIP64_EXTRA) throw zip64();
    const isKnown =
      at + TIMESTAMP_FIELD.length === to &&
      TIMESTAMP_FIELD.every((byte, i) => view.getUint8(at + i) === byte);
    if (id !== TIMESTAMP || !isKnown) throw malformed('An entry has an extra field that is not read here.');
    at = to;
  }
}

function nameAt(view: DataView, at: number, size: number): string {
  let name = '';
  try {
    name = fromUtf8(new Uint8Array(view.buffer, view.byteOffset + at, size));
  } catch {
    // Refused with the other odd names.
  }
  if (!isBundleName(name)) {
    const message = `A file in a bundle cannot be called ${JSON.stringify(name)}.`;
    throw new BullaError('BUNDLE_NAME', message);
  }
  return name;
}

/** Some systems do not tell names apart by case, and would write one file over the other. */
function checkNames(entries: readonly Entry[]): void {
  const seen = new Set<string>();
  for (const { name } of entries) {
    if (seen.size === seen.add(name.toLowerCase()).size)
      throw new BullaError('BUNDLE_NAME', `The bundle holds ${name} twice.`);
  }
}

function checkSizes(entries: readonly Entry[]): void {
  let total = 0;
  for (const { name, size, compressedSize, method } of entries) {
    total += size;
    if (size > MAX_ENTRY_BYTES) throw tooLarge(`${name}, which is over ${MAX_ENTRY_BYTES} bytes`);
    if (total > MAX_TOTAL_BYTES) throw tooLarge(`more than ${MAX_TOTAL_BYTES} bytes`);
    if (size > HARMLESS_BYTES && size > compressedSize * MAX_RATIO)
      throw bomb(`${name} unpacks to more than ${MAX_RATIO} times its size.`);
    if (method === 0 ? size !== compressedSize : compressedSize === 0)
      throw malformed(`The sizes of ${name} do not agree.`);
  }
}

function contentOf(data: Uint8Array, entry: Entry): Uint8Array {
  const content = entry.method === 0 ? data.slice() : inflate(data, entry);
  if (crc32(content) !== entry.crc)
    throw malformed(`The checksum of ${entry.name} is wrong: the bundle is damaged.`);
  return content;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  return sum;
});

/** CRC-32 as ZIP uses it (ITU-T V.42), unsigned. */
export function crc32(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (sum >>> 8) ^ TABLE[(sum ^ byte) & 0xff]!;
  return ~sum >>> 0;
}

/** So small that what one step can unpack to, at most 1,032 times as much, stays small too. */
const STEP = 4096;

/** Inflates exactly `size` bytes out of exactly `data`, and stops at the first byte too many. */
function inflate(data: Uint8Array, { name, size }: Entry): Uint8Array {
  const out = new Uint8Array(size);
  const written = run(data, name, (chunk, at) => {
    if (at + chunk.length > size) throw bomb(`${name} unpacks to more than it says.`);
    out.set(chunk, at);
  });
  if (written !== size) throw malformed(`${name} unpacks to less than it says.`);
  if (endsEarly(data, name)) throw malformed(`There is data after the end of ${name}.`);
  return out;
}

function run(data: Uint8Array, name: string, take: (chunk: Uint8Array, at: number) => void): number {
  let written = 0;
  const stream = new Inflate((chunk) => {
    take(chunk, written);
    written += chunk.length;
  });
  try {
    for (let at = 0; at < data.length; at += STEP)
      stream.push(data.subarray(at, at + STEP), at + STEP >= data.length);
  } catch (cause) {
    if (cause instanceof BullaError) throw cause;
    throw malformed(`${name} cannot be unpacked.`, cause);
  }
  return written;
}

/** Whether the stream is complete without its last byte; the library does not tell what it left over. */
function endsEarly(data: Uint8Array, name: string): boolean {
  try {
    run(data.subarray(0, -1), name, () => {});
    return true;
  } catch {
    return false;
  }
}

function malformed(message: string, cause?: unknown): BullaError {
  return new BullaError('BUNDLE_MALFORMED', message, { cause });
}

function zip64(): BullaError {
  return malformed('The archive uses the 64-bit extensions, which no bundle needs.');
}

function tooLarge(what: string): BullaError {
  return new BullaError('BUNDLE_TOO_LARGE', `The bundle holds ${what}.`);
}

function bomb(message: string): BullaError {
  return new BullaError('BUNDLE_TOO_LARGE', message);
}
