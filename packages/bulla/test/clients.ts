import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Discovery, discover, type OwnProgram } from '../src/discover/index.ts';
import { temporaryFolder } from './run.ts';

/** A home and a project with these files in them; what is no text is written as JSON. */
export interface TestHome {
  readonly home: string;
  readonly project: string;
  write(files: Readonly<Record<string, unknown>>): void;
  /** A Bulla beside them, which is on the path. */
  readonly own: OwnProgram;
  find(own?: OwnProgram): Discovery;
}

/** Paths begin with `~/` for the home, and are else of the project. */
export function testHome(files: Readonly<Record<string, unknown>> = {}): TestHome {
  const folder = temporaryFolder();
  const [home, project] = [join(folder, 'me'), join(folder, 'project')];
  for (const path of [home, project]) mkdirSync(path);
  const write: TestHome['write'] = (more) => {
    for (const [name, content] of Object.entries(more)) {
      const path = name.startsWith('~/') ? join(home, name.slice(2)) : join(project, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    }
  };
  write(files);
  const bin = join(realpathSync(folder), 'bin');
  mkdirSync(bin);
  for (const name of ['bulla', 'bulla.js', 'node']) writeFileSync(join(bin, name), '');
  const own: OwnProgram = {
    files: [join(bin, 'bulla'), join(bin, 'bulla.js')],
    node: join(bin, 'node'),
    path: bin,
    home: join(home, 'data'),
  };
  return {
    home,
    project,
    write,
    own,
    find: (by = own) => discover({ platform: 'linux', home, project, env: {} }, by),
  };
}
