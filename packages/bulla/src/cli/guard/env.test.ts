import { expect, test } from 'vitest';
import { relockCommand, unseenNames } from './env.ts';

const ordinary = {
  PATH: '/bin',
  HOME: '/home/u',
  LANG: 'C',
  PWD: '/',
  SHLVL: '1',
  XDG_RUNTIME_DIR: '/run',
  SSH_AUTH_SOCK: '/s',
  npm_config_registry: 'x',
  BULLA_HOME: '/b',
  LC_TIME: 'C',
};

test('what a host sets for the server and the lock lacks is told', () => {
  const environment = { ...ordinary, GITHUB_TOKEN: 's', WORKSPACE: '/w', DEBUG: '1' };
  expect(unseenNames(environment, ['WORKSPACE'])).toEqual(['DEBUG', 'GITHUB_TOKEN']);
  expect(unseenNames(ordinary, [])).toEqual([]);
  expect(unseenNames({ ...ordinary, 'A\u001b[2J': 'x', 'ProgramFiles(x86)': 'y' }, [])).toEqual([]);
});

test('of a whole environment, only what looks like a setting or a secret', () => {
  const whole = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`MY_${i}`, 'x']));
  expect(unseenNames({ ...ordinary, ...whole }, [])).toEqual([]);
  expect(
    unseenNames({ ...ordinary, ...whole, SHOP_API_KEY: 's', DATABASE_URL: 'u', MONKEY: 'm' }, []),
  ).toEqual(['DATABASE_URL', 'SHOP_API_KEY']);
});

test('the command that adds them names all variables, and quotes what a shell would not take literally', () => {
  const server = { kind: 'stdio', command: 'npx', args: ['-y', 'a b'], env: ['OLD'] } as const;
  const words = relockCommand('/l/mcp lock.json', server, ['NEW', 'OLD']);
  expect(words).toMatch(/^with NEW, OLD set: /);
  expect(words.slice(words.indexOf(' lock '))).toBe(
    " lock -o '/l/mcp lock.json' --env NEW --env OLD -- npx -y 'a b'",
  );
});
