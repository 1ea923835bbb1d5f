import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** What a process has used since it began. */
export interface Usage {
  readonly rss: number;
  readonly maxRss: number;
  readonly cpuMs: number;
}

/** Carries messages to a server and back, over whatever. */
export interface Line {
  send(message: string): void;
  usage(): Promise<Usage>;
  close(): Promise<void>;
}

/** Opens a line; what comes is given to `take`, and why nothing more comes to `over`. */
export type Open = (take: (message: string) => void, over: (error: Error) => void) => Line;

/** A host that does nothing but send requests and match answers: no SDK, no checks. */
export interface Host extends Pick<Line, 'usage' | 'close'> {
  /** Rejects where the answer is an error, or a tool that failed. */
  ask(method: string, params?: object): Promise<void>;
}

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

export function connect(open: Open): Host {
  const waiting = new Map<number, Waiting>();
  let next = 1;
  const take = (message: string) => {
    // A long message is not parsed here: its id stands at one of its ends, and what fails is short.
    const { id, ok } = message.length > 1 << 16 ? outline(message) : read(message);
    const asked = waiting.get(id);
    if (asked === undefined) return;
    waiting.delete(id);
    if (ok) asked.resolve();
    else asked.reject(new Error(message.slice(0, 400)));
  };
  const line = open(take, (error) => {
    for (const asked of waiting.values()) asked.reject(error);
    waiting.clear();
  });
  return {
    ask: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const id = next++;
        waiting.set(id, { resolve, reject });
        line.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      }),
    usage: line.usage,
    close: line.close,
  };
}

function read(message: string): { id: number; ok: boolean } {
  const { id, result } = JSON.parse(message) as { id: number; result?: { isError?: boolean } };
  return { id, ok: result !== undefined && result.isError !== true };
}

function outline(message: string): { id: number; ok: boolean } {
  const [, id] = /"id":(\d+)/.exec(message.slice(0, 200) + message.slice(-200)) ?? [];
  return { id: Number(id), ok: id !== undefined };
}

/** The handshake of the initialize era. */
export async function initialize(host: Host): Promise<Host> {
  const clientInfo = { name: 'bench', version: '1' };
  await host.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  await host.ask('tools/list');
  return host;
}

const USAGE = new URL('./gateway-usage.mjs', import.meta.url).href;

/** A program of Node as a server on its standard streams, a message a line. */
export function stdio(words: readonly string[], env: Readonly<Record<string, string>> = {}): Open {
  return (take, over) => {
    const child = spawn(process.execPath, ['--import', USAGE, ...words], {
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...env },
    });
    let said = '';
    child.stderr!.on('data', (chunk: Buffer) => {
      said = (said + chunk).slice(-2000);
    });
    const closed = once(child, 'close');
    void closed.then(([code]) => over(new Error(`${words.join(' ')} ended with ${code}: ${said}`)), over);
    child.stdin!.on('error', () => {});
    let parts: Buffer[] = [];
    child.stdout!.on('data', (chunk: Buffer) => {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        parts.push(chunk.subarray(from, end));
        take(parts.length === 1 ? parts[0]!.toString() : Buffer.concat(parts).toString());
        parts = [];
        from = end + 1;
      }
      if (from < chunk.length) parts.push(chunk.subarray(from));
    });
    return {
      send: (message) => void child.stdin!.write(`${message}\n`),
      async usage() {
        const told = once(child, 'message');
        child.send('usage');
        const [usage] = (await told) as [Usage];
        return usage;
      },
      async close() {
        child.stdin!.end();
        await closed;
      },
    };
  };
}
