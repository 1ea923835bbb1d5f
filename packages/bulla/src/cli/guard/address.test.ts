import { expect, test } from 'vitest';
import { addressOf } from './address.ts';

test.each([
  ['127.0.0.1:8484', { host: '127.0.0.1', port: 8484 }],
  ['[::1]:0', { host: '::1', port: 0 }],
  ['localhost:65535', { host: 'localhost', port: 65_535 }],
])('%s is where hosts connect', (text, address) => {
  expect(addressOf(text)).toEqual(address);
});

test.each(['8484', ':8484', '::1:8484', '127.0.0.1', '127.0.0.1:65536', 'example.com:80', '[127.0.0.1]:1'])(
  '%s is no address',
  (text) => {
    expect(() => addressOf(text)).toThrow('It is an IP address or localhost, and a port');
  },
);
