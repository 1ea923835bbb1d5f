// Before the tests: a server of PostgreSQL that test files share, started when the first of them asks for it.
import { statfsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type Postgres, startPostgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the URL of the shared server can be asked for. */
    postgres: string;
  }
}

let doorman: Server;
let shared: Promise<Postgres> | undefined;

export async function setup(project: TestProject): Promise<void> {
  doorman = createServer((_, response) => {
    shared ??= startPostgres(memory(), 'max_connections=300');
    shared.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((done) => doorman.listen(0, '127.0.0.1', done));
  project.provide('postgres', `http://127.0.0.1:${(doorman.address() as AddressInfo).port}`);
}

/** A file system in memory where there is one with room: what lies on the server need not outlive the machine. */
function memory(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize > 2 ** 30 ? '/dev/shm' : undefined;
  } catch {
    return undefined;
  }
}

export async function teardown(): Promise<void> {
  doorman.close();
  await (await shared)?.stop();
}
