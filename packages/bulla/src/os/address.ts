import { BlockList, isIP } from 'node:net';

// Which addresses a download may go to: those of the public internet. What a name resolves to is checked, and
// checked again whenever it is resolved, because a name can lead elsewhere the next time.

const NOT_PUBLIC = new BlockList();
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  NOT_PUBLIC.addSubnet(address, bits, 'ipv4');
// Of IPv6, 2000::/3 is the global unicast space (RFC 4291 §2.4); these parts of it lead nowhere public.
for (const [address, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
] as const)
  NOT_PUBLIC.addSubnet(address, bits, 'ipv6');

/**
 * Whether an IP address is one of the public internet. One that carries an IPv4 address (mapped, NAT64, 6to4) is public
 * when that is. What is no address is not.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !NOT_PUBLIC.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  const words = wordsOf(address);
  const carried = carriedIn(words);
  if (carried !== null) return isPublicAddress(carried);
  return words[0]! >> 13 === 1 && !NOT_PUBLIC.check(address, 'ipv6');
}

/** Whether a host may be asked for at all, as far as its name tells. IPv6 addresses stand in brackets, as in a URL. */
export function isPublicHost(hostname: string): boolean {
  const bare = /^\[(.*)\]$/.exec(hostname)?.[1] ?? hostname;
  if (isIP(bare) !== 0) return isPublicAddress(bare);
  const name = bare.toLowerCase();
  return name !== '' && !name.endsWith('.') && name !== 'localhost' && !name.endsWith('.localhost');
}

/** The eight words of an IPv6 address. */
function wordsOf(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = (high: string, low: string) => ((Number(high) << 8) | Number(low)).toString(16);
  const plain =
    dotted === null ? address : `${dotted[1]}${hex(dotted[2]!, dotted[3]!)}:${hex(dotted[4]!, dotted[5]!)}`;
  const [head = [], tail] = plain.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const parts =
    tail === undefined ? head : [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return parts.map((part: string) => Number.parseInt(part, 16));
}

/** The IPv4 address that an IPv6 address carries to whoever routes it, or null. */
function carriedIn(words: readonly number[]): string | null {
  const dotted = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.');
  const begins = (...start: number[]) => start.every((word, i) => words[i] === word);
  if (begins(0, 0, 0, 0, 0, 0xffff)) return dotted(words[6]!, words[7]!); // ::ffff:0:0/96
  if (begins(0x64, 0xff9b, 0, 0, 0, 0)) return dotted(words[6]!, words[7]!); // RFC 6052
  if (begins(0x2002)) return dotted(words[1]!, words[2]!); // RFC 3056
  return null;
}
