import type { Lock } from '@bulla/core/lock';
import { expect, test } from 'vitest';
import type { StdioTarget } from '../mcp/index.ts';
import { checkIdentity } from './server.ts';

const target: StdioTarget = {
  kind: 'stdio',
  command: 'npx',
  args: ['-y', 'shop', '--key=s3cret'],
  env: ['A'],
};
const { kind: _, ...identity } = { ...target, transport: 'stdio' };
const said = (lock: object, server: Partial<StdioTarget>): string => {
  try {
    checkIdentity(lock as Lock, { ...target, ...server });
    return '';
  } catch (error) {
    expect(error).toMatchObject({ code: 'GATEWAY_OTHER_SERVER' });
    return (error as Error).message.replace('The lock is of another server: ', '');
  }
};

test.each([
  [{}, ''],
  [{ command: 'node' }, 'its command is "npx", not "node".'],
  [{ args: ['-y', 'shop', '--key=other'] }, 'argument 3 differs.'],
  [{ args: ['-y', 'shop'] }, 'argument 3 is missing.'],
  [{ args: [...target.args, 'more'] }, 'argument 4 is not in the lock.'],
  [{ env: ['A', 'B'] }, 'it does not see the environment variable "B".'],
  [{ env: [] }, 'it sees the environment variable "A" as well.'],
  [
    { command: 'node', args: ['-y'], env: ['B', 'C'] },
    'its command is "npx", not "node"; argument 2 is missing; it does not see the environment variable "B", "C"; it sees the environment variable "A" as well.',
  ],
])('what differs is told, but no argument: %j', (server, expected) => {
  expect(said({ native: { identity } }, server)).toBe(expected);
});

test('a lock that holds the command as a text, and one of a server at an address', () => {
  const lock = { native: null, serverCommand: 'npx -y shop --key=s3cret' };
  expect(said(lock, {})).toBe('');
  expect(said(lock, { command: 'node' })).toBe('its command is another one.');
  expect(said(lock, { args: ['-y', 'other'] })).toBe('argument 2 of its command differs.');
  expect(said({ native: null, serverCommand: null }, {})).toBe('');
  expect(said({ native: { identity: { transport: 'http', url: 'https://x' } } }, {})).toBe(
    'it is reached at an address, not by a command.',
  );
});
