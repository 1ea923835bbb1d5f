import type { BullaError } from '@bulla/core/error';
import { expect, test } from 'vitest';
import {
  type DockerCommand,
  isExecCommand,
  matches,
  type NpmCommand,
  parsePinCommand,
  withDigest,
} from './command.ts';

const parsed = (line: string) => {
  const [command, ...args] = line.split(' ');
  return parsePinCommand(command!, args);
};
const code = (line: string) => {
  try {
    parsed(line);
  } catch (error) {
    return (error as BullaError).code;
  }
  return 'ok';
};

test.each<[string, string, string | null, string | null, string[]]>([
  ['npx shop', 'shop', null, null, []],
  ['npx -y @a/shop@1.2.3 /data --flag', '@a/shop', '1.2.3', null, ['/data', '--flag']],
  ['/usr/bin/npx --yes shop@^1.0 x', 'shop', '^1.0', null, ['x']],
  ['npx.cmd -y -q shop@next -y', 'shop', 'next', null, ['-y']],
  ['npm exec -y -- shop@1.0.0 a', 'shop', '1.0.0', null, ['a']],
  ['npm exec shop -- a b', 'shop', null, null, ['a', 'b']],
  ['npm x -p @a/b@2.0.0 tool a', '@a/b', '2.0.0', 'tool', ['a']],
  ['npx --package=shop tool', 'shop', null, 'tool', []],
])('%s', (line, name, spec, bin, args) => {
  expect(parsed(line)).toEqual({ kind: 'npm', name, spec, bin, args });
});

test('what cannot be pinned is refused', () => {
  for (const line of [
    'node x.js',
    'npm run x',
    'npx',
    'npx -y',
    'npx -c x',
    'npx --registry=https://x shop',
    'docker ps',
  ])
    expect(code(line), line).toBe('PIN_COMMAND');
  expect(code('npx -p a -p b c')).toBe('PIN_COMMAND');
  for (const line of [
    'npx ./x',
    'npx a/b',
    'npx https://x/y.tgz',
    'npx a@npm:b',
    'npx a@git+ssh://x',
    'npx a@../x',
    'npx a@',
  ])
    expect(code(line), line).toBe('PIN_COMMAND');
});

test('a command names the pinned package and no other version', () => {
  const is = (line: string) => matches(parsed(line) as NpmCommand, 'shop', '1.2.3');
  expect(['npx shop', 'npx shop@1.2.3', 'npx shop@^1', 'npx shop@latest'].map(is)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(['npx shop@1.2.4', 'npx shops', 'npx @a/shop'].map(is)).toEqual([false, false, false]);
  expect([isExecCommand(['npx', 'a']), isExecCommand(['npm', 'run']), isExecCommand(['/data'])]).toEqual([
    true,
    false,
    false,
  ]);
});

const DIGEST = `sha256:${'a'.repeat(64)}`;

test.each<[string, string, string | null, number]>([
  ['docker run redis', 'redis', null, 1],
  ['docker run -i --rm -e TOKEN ghcr.io/a/b:1.0 serve', 'ghcr.io/a/b:1.0', null, 5],
  ['docker run -it --name x --env=A=b -v/a:/b localhost:5000/a/b', 'localhost:5000/a/b', null, 6],
  [`docker run --rm -- mcp/time@${DIGEST} -x`, 'mcp/time', DIGEST, 3],
  [`podman run -ie A mcp/time:1@${DIGEST}`, 'mcp/time:1', DIGEST, 3],
])('%s', (line, image, digest, at) => {
  expect(parsed(line)).toEqual({ kind: 'oci', image, digest, at });
});

test('an option of docker that is not known hides which word is the image', () => {
  for (const line of [
    'docker run --unknown x y',
    'docker run -x y',
    'docker run -iz y',
    'docker run',
    'docker run -e',
  ])
    expect(code(line), line).toBe('PIN_COMMAND');
  for (const line of [
    'docker run A',
    'docker run a@sha256:12',
    'docker run a@sha1:aa',
    'docker run a:b:c',
    'docker run ../a',
  ])
    expect(code(line), line).toBe('PIN_COMMAND');
});

test('the image of a digest takes the place of the tag', () => {
  const replaced = (line: string) =>
    withDigest(line.split(' ').slice(1), parsed(line) as DockerCommand, DIGEST).join(' ');
  expect(replaced('docker run -i a/b:1.0 x')).toBe(`run -i a/b@${DIGEST} x`);
  expect(replaced('docker run localhost:5000/a')).toBe(`run localhost:5000/a@${DIGEST}`);
  expect(replaced('docker run localhost:5000/a:2')).toBe(`run localhost:5000/a@${DIGEST}`);
  expect(replaced(`docker run a:1@sha256:${'b'.repeat(64)}`)).toBe(`run a@${DIGEST}`);
});
