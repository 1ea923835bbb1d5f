import { isIP } from 'node:net';
import { InvalidArgumentError } from 'commander';

/** Where hosts connect. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Reads `127.0.0.1:8484`, `[::1]:8484` or `localhost:0`. Throws commander's error. */
export function addressOf(text: string): Address {
  const [, six, other, digits] = /^(?:\[([0-9a-f:.]+)\]|([0-9a-z.-]+)):([0-9]{1,5})$/i.exec(text) ?? [];
  const host = six ?? other ?? '';
  const port = Number(digits);
  const isAddress = six !== undefined ? isIP(host) === 6 : host === 'localhost' || isIP(host) === 4;
  if (isAddress && port <= 65_535) return { host, port };
  throw new InvalidArgumentError('It is an IP address or localhost, and a port, such as 127.0.0.1:8484.');
}
