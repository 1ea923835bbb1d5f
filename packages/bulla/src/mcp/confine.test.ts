import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { noBwrap } from '../../test/bwrap.ts';
import { temporaryFolder } from '../../test/run.ts';
import { type Confinement, confined } from './confine.ts';
import { findBwrap } from './confine-bwrap.ts';

/** A folder in the data directory of the tests, which is gone after the test. */
function folderInData(): string {
  mkdirSync(process.env.BULLA_HOME!, { recursive: true });
  const folder = mkdtempSync(join(process.env.BULLA_HOME!, 'confine-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const env = { PATH: '/usr/bin:/bin' };

function refused(confinement: Confinement, command = 'true', args: string[] = []) {
  try {
    confined(command, args, confinement, { env });
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
  throw new Error('It was not refused.');
}

describe.skipIf(noBwrap !== null)('a confinement', () => {
  it('never shows our data, in a named folder, above it, in it, or behind a link', () => {
    const home = process.env.BULLA_HOME!;
    const within = folderInData();
    const link = join(temporaryFolder(), 'link');
    symlinkSync(home, link);
    const holds = (path: string) => ({
      code: 'CONFINE_PATH',
      message: `The folder "${path}" holds data of Bulla, which no server may see.`,
    });
    const lies = {
      code: 'CONFINE_PATH',
      message: `The folder "${within}" lies in the data of Bulla, which no server may see.`,
    };
    expect(refused({ read: [home] })).toEqual(holds(home));
    expect(refused({ write: [link] })).toEqual(holds(home));
    expect(refused({ read: ['/tmp'] })).toEqual(holds('/tmp'));
    expect(refused({ read: [within] })).toEqual(lies);
    const folder = temporaryFolder();
    expect(refused({ write: [folder], hidden: [join(folder, 'store.db')] })).toEqual(holds(folder));
    expect(refused({ hidden: ['/usr/local/bulla'] })).toEqual(holds('/usr'));
    const script = join(within, 'x.js');
    writeFileSync(script, '');
    expect(refused({}, process.execPath, [script])).toEqual({
      code: 'CONFINE_PATH',
      message: `The folder "${script}" lies in the data of Bulla, which no server may see.`,
    });
  });

  it('shows of our data what is given as the program', () => {
    const tree = folderInData();
    const { args } = confined('true', [], { program: [tree] }, { env });
    expect(args.join(' ')).toContain(` --ro-bind ${tree} ${tree} `);
  });

  it('lets no server write its lock', () => {
    const folder = temporaryFolder();
    const lock = join(folder, 'mcp-lock.json');
    expect(refused({ write: [folder], fixed: [lock] })).toEqual({
      code: 'CONFINE_PATH',
      message: `"${lock}" lies in a folder that the server may write, which could change it. Move it elsewhere.`,
    });
    expect(confined('true', [], { read: [folder], fixed: [lock] }, { env }).command).toMatch(/\/bwrap$/);
  });
});

describe.runIf(process.platform === 'linux')('without a bwrap that works nothing is started', () => {
  const unavailable = (places: string[]) => {
    try {
      return findBwrap(places);
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return { code, message };
    }
  };
  const program = (text: string): string => {
    const file = join(temporaryFolder(), 'bwrap');
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
    return file;
  };

  it('where it is missing', () => {
    expect(unavailable(['/not/there/bwrap'])).toEqual({
      code: 'CONFINE_UNAVAILABLE',
      message:
        'A server is confined by bwrap, which is not installed. Install the package bubblewrap of your distribution.',
    });
  });

  it('where it is too old', () => {
    const old = program('echo "bwrap: Unknown option --disable-userns" >&2; exit 1');
    expect(unavailable([old])).toEqual({
      code: 'CONFINE_UNAVAILABLE',
      message:
        'A server is confined by bwrap, and this one is too old ("bwrap: Unknown option --disable-userns"). Install bubblewrap 0.8.0 or later.',
    });
  });
});
