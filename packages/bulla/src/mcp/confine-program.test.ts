import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { executable, programPaths, refuseRunner } from './confine-program.ts';

/** Makes files below a folder that stands for a person's home; each is a program. */
function homeWith(...files: string[]): string {
  const home = join(realpathSync(temporaryFolder()), 'home', 'me');
  mkdirSync(home, { recursive: true });
  for (const file of files) {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), '');
    chmodSync(join(home, file), 0o755);
  }
  return home;
}

/** What is opened for a program below the home, as paths from there. */
function opened(
  home: string,
  file: string,
  args: string[] = [],
  more: { written?: string[]; hidden?: string[] } = {},
) {
  const around = { path: '/usr/bin', cwd: home, homes: [home], hidden: [], written: [], ...more };
  const paths = programPaths(file.startsWith('/') ? file : join(home, file), args, around);
  const own = paths.filter((path) => path.startsWith(home)).map((path) => path.slice(home.length + 1));
  return [...new Set(own)].sort();
}

describe('what is opened for a program', () => {
  it('is an installation, but not what else lies beside it', () => {
    const home = homeWith(
      '.nvm/v24/bin/node',
      '.nvm/v24/lib/node_modules/npm/x.js',
      '.nvm/v24/share/x',
      '.ssh/key',
    );
    expect(opened(home, '.nvm/v24/bin/node')).toEqual(['.nvm/v24/bin', '.nvm/v24/bin/node', '.nvm/v24/lib']);
    const user = homeWith('.local/bin/tool', '.local/share/keyrings/k');
    expect(opened(user, '.local/bin/tool')).toEqual(['.local/bin', '.local/bin/tool']);
    const own = homeWith('bin/tool', 'lib/diary');
    expect(opened(own, 'bin/tool')).toEqual(['bin', 'bin/tool']);
  });

  it('is the folder of all packages for one of them', () => {
    const home = homeWith('p/node_modules/a/dist/x.js', 'p/node_modules/b/x.js', 'p/.env');
    const script = join(home, 'p/node_modules/a/dist/x.js');
    expect(opened(home, '/usr/bin/node', [script])).toEqual(['p/node_modules', 'p/node_modules/a/dist/x.js']);
  });

  it('is the package of a script, and the packages in the folders above it', () => {
    const home = homeWith('w/p/package.json', 'w/p/src/x.js', 'w/node_modules/a/x.js', 'w/secret');
    expect(opened(home, '/usr/bin/node', ['--no-warnings', 'w/p/src/x.js', 'w/secret'])).toEqual([
      ...['w/node_modules', 'w/p', 'w/p/src/x.js'],
    ]);
    expect(opened(home, '/usr/bin/node', ['--require', 'w/p/package.json', 'w/node_modules/a/x.js'])).toEqual(
      [...['w/node_modules', 'w/node_modules/a/x.js', 'w/p', 'w/p/package.json']],
    );
  });

  it('is never a home or what is hidden, but then the file alone', () => {
    const home = homeWith('x.py', 'package.json', 'p/x.py', 'p/data/key');
    expect(opened(home, '/usr/bin/python3', ['x.py'])).toEqual(['x.py']);
    expect(opened(home, '/usr/bin/python3', ['p/x.py'])).toEqual(['p', 'p/x.py']);
    const hidden = [join(home, 'p/data')];
    expect(opened(home, '/usr/bin/python3', ['p/x.py'], { hidden })).toEqual(['p/x.py']);
  });

  it('is nothing that the server could have put there', () => {
    const home = homeWith('p/x', 'p/y.js', '.ssh/key', 'other/node_modules/a/x.js');
    writeFileSync(join(home, 'p/x'), `#!${home}/.ssh/key\n`);
    symlinkSync(join(home, '.ssh/key'), join(home, 'p/link'));
    const written = [join(home, 'p')];
    expect(opened(home, 'p/x', [], { written })).toEqual([]);
    expect(opened(home, 'p/link', [], { written })).toEqual([]);
    symlinkSync(join(home, '.ssh'), join(home, 'p/node_modules'));
    expect(opened(home, '/usr/bin/node', ['p/y.js'], { written })).toEqual([]);
  });

  it('is the interpreter that the first line of a script names', () => {
    const home = homeWith('run/serve', 'versions/3/bin/python3', 'versions/3/lib/python3/os.py');
    writeFileSync(join(home, 'run/serve'), `#!${home}/versions/3/bin/python3 -E\n`);
    const python = ['versions/3/bin', 'versions/3/bin/python3', 'versions/3/lib'];
    expect(opened(home, 'run/serve')).toEqual(['run', 'run/serve', ...python]);
  });
});

describe('a command', () => {
  it('is found by the path of the server', () => {
    const home = homeWith('a/tool', 'b/tool');
    chmodSync(join(home, 'a/tool'), 0o644);
    expect(executable('tool', `${home}/none:rel:${home}/a:${home}/b`, home)).toBe(join(home, 'b/tool'));
    expect(executable('./b/tool', '', home)).toBe(join(home, 'b/tool'));
    expect(() => executable('tool', '/usr/bin', home)).toThrow(
      expect.objectContaining({
        code: 'MCP_SPAWN_FAILED',
        message: 'The server "tool" cannot be started (ENOENT).',
      }),
    );
  });

  it('is refused if it fetches packages without a network, or starts things outside', () => {
    const code = (command: string, network: boolean) => {
      try {
        refuseRunner(command, network);
        return null;
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    expect(['npx', '/usr/bin/uvx', 'node', 'docker'].map((command) => code(command, false))).toEqual([
      ...['CONFINE_COMMAND', 'CONFINE_COMMAND', null, 'CONFINE_COMMAND'],
    ]);
    expect(['npx', '/usr/bin/uvx', 'node', 'docker'].map((command) => code(command, true))).toEqual([
      ...[null, null, null, 'CONFINE_COMMAND'],
    ]);
  });
});
