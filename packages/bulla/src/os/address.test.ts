import { expect, test } from 'vitest';
import { isPublicAddress, isPublicHost } from './address.ts';

test.each([
  ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.0.1', '169.254.169.254'],
  ...['172.16.0.1', '172.31.255.255', '192.0.0.8', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1'],
  ...[
    '198.19.255.255',
    '198.51.100.7',
    '203.0.113.7',
    '224.0.0.1',
    '239.1.1.1',
    '240.0.0.1',
    '255.255.255.255',
  ],
  ...['::', '::1', '::7f00:1', '::8.8.8.8', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'fc00::1', 'fd12:3456::1'],
  ...['ff02::1', '100::1', '2001:db8::1', '2001::1', '2001:0:4136::1', '3fff::1', '5f00::1', '4000::1'],
  ...['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '64:ff9b::10.0.0.1', '64:ff9b::7f00:1'],
  ...['64:ff9b:1::1', '2002:7f00:1::', '2002:a00:1::1', '2002:c0a8:101::1', '', 'example.org', '1.2.3'],
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  ...['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.1', '172.15.0.1', '172.32.0.1', '198.20.0.1'],
  ...['223.255.255.255', '2606:4700::6810:1', '2001:4860:4860::8888', '2a00:1450::1', '::ffff:8.8.8.8'],
  ...['64:ff9b::8.8.8.8', '2002:808:808::1'],
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test('a host is refused by its name where that tells enough', () => {
  for (const host of [
    'localhost',
    'LOCALHOST',
    'a.localhost',
    'localhost.',
    'example.org.',
    '',
    '127.0.0.1',
    '[::1]',
  ])
    expect(isPublicHost(host), host).toBe(false);
  for (const host of ['example.org', 'localhost.example.org', 'notlocalhost', '[2606:4700::1]', '9.9.9.9'])
    expect(isPublicHost(host), host).toBe(true);
  // The URL parser already reads the other ways to write an IPv4 address.
  for (const url of [
    'https://0x7f.1/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://[::ffff:7f00:1]/',
  ])
    expect(isPublicHost(new URL(url).hostname), url).toBe(false);
});
