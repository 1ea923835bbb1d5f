import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A PostgreSQL server in a temporary folder. */
export interface Postgres {
  readonly url: string;
  /** Makes an empty database on it. */
  database(name: string): string;
  /** Prepares a pgbench script; the function runs it with so many clients and seconds, and gives transactions a second. */
  pgbench(database: string, prepare: string, script: string): (clients: number, seconds: number) => number;
  /** Ends it as a power cut would, and starts it again on the same data. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

const folder = '/usr/lib/postgresql';
const version = (() => {
  try {
    return readdirSync(folder).sort((a, b) => Number(b) - Number(a))[0];
  } catch {
    return undefined;
  }
})();

/** Whether Debian's server is installed; where it is not, one line says so, unless it is required. */
export const hasPostgres: boolean = version !== undefined;
if (!hasPostgres) {
  console.log('skipped: tests on PostgreSQL (no server found below /usr/lib/postgresql)');
  if (process.env.BULLA_REQUIRE_POSTGRES === '1')
    throw new Error('BULLA_REQUIRE_POSTGRES=1, but there is no server');
}

/** A program of the server's package. */
export const bin = (program: string): string => join(folder, version!, 'bin', program);

/** Starts a server with its data below a folder, and with these settings, such as `max_connections=300`. */
export async function startPostgres(below: string = tmpdir(), ...settings: string[]): Promise<Postgres> {
  const data = mkdtempSync(join(below, 'bulla-pg-'));
  // The server refuses to run as root; Debian's package brings a user for it.
  const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? accountOf('postgres') : {};
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid!);
  execFileSync(
    bin('initdb'),
    ['-D', data, '-U', 'bulla', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
    { ...user, cwd: data, stdio: 'ignore' },
  );
  const port = await freePort();
  const url = (database: string) => `postgres://bulla@127.0.0.1:${port}/${database}`;

  let server = await start();
  async function start() {
    const args = ['-D', data, '-p', String(port), '-k', data, '-h', '127.0.0.1'];
    const set = settings.flatMap((setting) => ['-c', setting]);
    const started = spawn(bin('postgres'), [...args, ...set], { ...user, cwd: data, stdio: 'ignore' });
    for (let i = 0; ; i++) {
      if (
        spawnSync(bin('pg_isready'), ['-h', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' }).status ===
        0
      )
        return started;
      if (i > 600 || started.exitCode !== null) throw new Error('PostgreSQL did not start');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const end = (signal: NodeJS.Signals) =>
    new Promise<void>((resolve) => {
      server.once('exit', () => resolve());
      server.kill(signal);
    });

  return {
    url: url('postgres'),
    database: (name) => createDatabase(url('postgres'), name),
    pgbench(database, prepare, script) {
      const file = join(data, 'bench.sql');
      writeFileSync(file, script);
      execFileSync(bin('psql'), [url(database), '-q', '-c', prepare], { stdio: 'ignore' });
      return (clients, seconds) => {
        const args = [
          '-n',
          '-f',
          file,
          '-c',
          String(clients),
          '-j',
          '2',
          '-T',
          String(seconds),
          url(database),
        ];
        const out = execFileSync(bin('pgbench'), args, {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        return Number(/tps = ([\d.]+)/.exec(out)![1]);
      };
    },
    async crash() {
      // SIGQUIT ends every process of the server at once, without writing anything more.
      await end('SIGQUIT');
      server = await start();
    },
    async stop() {
      await end('SIGINT');
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Makes an empty database on the server of a URL, and gives the URL of it. */
export function createDatabase(server: string, name: string): string {
  execFileSync(bin('createdb'), ['--maintenance-db', server, name], { stdio: 'ignore' });
  return Object.assign(new URL(server), { pathname: `/${name}` }).href;
}

export function accountOf(name: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
