import { expect, test } from 'vitest';
import { pinnedEnvironment } from './start.ts';

test('a pinned program gets nothing that makes Node load other code, or leads to the runner of a CI job', () => {
  const environment = {
    ...{ PATH: '/bin', HOME: '/home/a', API_KEY: 'x', GITHUB_TOKEN: 'x', NODE_ENV: 'test' },
    ...{ NODE_OPTIONS: '-r x', NODE_PATH: '/x', NODE_COMPILE_CACHE: '/x', node_path: '/x' },
    ...{ GITHUB_ENV: '/x', GITHUB_OUTPUT: '/x', RUNNER_TEMP: '/x', ACTIONS_RUNTIME_TOKEN: 'x' },
  };
  const rest = { PATH: '/bin', HOME: '/home/a', API_KEY: 'x', GITHUB_TOKEN: 'x', NODE_ENV: 'test' };
  expect(pinnedEnvironment(environment, [])).toEqual(rest);
  expect(pinnedEnvironment(environment, ['NODE_OPTIONS', 'GITHUB_ENV'])).toEqual({
    ...rest,
    NODE_OPTIONS: '-r x',
  });
});
