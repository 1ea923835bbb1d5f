import { describe, expect, test } from 'vitest';
import { runnerOf } from './runner.ts';

const DIGEST = `sha256:${'a1'.repeat(32)}`;

/** The package that is run, with an exclamation mark if its version is not fixed; null for another program. */
function run(line: string): string | null {
  const [command, ...args] = line.split(' ') as [string, ...string[]];
  const runner = runnerOf(command, args);
  if (runner === null) return null;
  const spec = runner.at === null ? '?' : [command, ...args][runner.at];
  return `${runner.name} ${spec}${runner.isFloating ? ' !' : ''}`;
}

describe('what a command runs', () => {
  test.each([
    ['npx -y @scope/server /data', 'npx @scope/server !'],
    ['npx -y @scope/server@1.2.3 /data', 'npx @scope/server@1.2.3'],
    ['npx server@1.2.3-rc.1+build.5', 'npx server@1.2.3-rc.1+build.5'],
    ['npx server@latest', 'npx server@latest !'],
    ['npx server@^1.2.3', 'npx server@^1.2.3 !'],
    ['npx server@1', 'npx server@1 !'],
    ['npx -p server@1.2.3 tool', 'npx server@1.2.3'],
    ['npx --package=server tool', 'npx --package=server !'],
    ['npx --package=server@1.2.3 tool', 'npx --package=server@1.2.3'],
    ['npx ./local', 'npx ./local'],
    [`npx github:me/server#${'a'.repeat(40)}`, `npx github:me/server#${'a'.repeat(40)}`],
    ['npx github:me/server#main', 'npx github:me/server#main !'],
    ['npx', 'npx ? !'],
    ['/usr/local/bin/npx -y server', 'npx server !'],
    ['C:\\nodejs\\npx.cmd -y server', 'npx server !'],
    ['cmd /c npx -y server@1.0.0', 'npx server@1.0.0'],
    ['npm exec -- server', 'npm exec server !'],
    ['pnpm dlx server@2.0.0', 'pnpm dlx server@2.0.0'],
    ['bun x server', 'bun x server !'],
    ['uvx mcp-server-git', 'uvx mcp-server-git !'],
    ['uvx mcp-server-git==2026.1.1', 'uvx mcp-server-git==2026.1.1'],
    ['uvx mcp-server-git@2026.1.1', 'uvx mcp-server-git@2026.1.1'],
    ['uvx mcp-server-git@latest', 'uvx mcp-server-git@latest !'],
    ['uvx --python 3.12 --from server>=1 tool', 'uvx server>=1 !'],
    ['uv tool run server', 'uv tool run server !'],
    ['pipx run server', 'pipx run server !'],
    ['docker run -i --rm -e KEY mcp/server', 'docker ? !'],
    ['docker run -i --rm mcp/server:1.2.3', 'docker ? !'],
    [`docker run -i mcp/server@${DIGEST}`, `docker mcp/server@${DIGEST}`],
    ['go run example.com/server@latest', 'go run example.com/server@latest !'],
    ['go run example.com/server@v1.2.3', 'go run example.com/server@v1.2.3'],
    ['node server.js', null],
    ['python3 -m server', null],
    ['docker version', null],
    ['cmd /c dir', null],
  ])('%s', (line, expected) => {
    expect(run(line)).toBe(expected);
  });
});
