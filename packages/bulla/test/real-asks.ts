import { argumentsFor, type Schema } from './arguments.ts';
import type { RealHost } from './real-hosts.ts';
import type { RealServer } from './real-servers.ts';

/** An item of any list of a server. */
interface Item {
  readonly name: string;
  readonly uri: string;
  readonly uriTemplate: string;
  readonly inputSchema: Schema;
  readonly execution?: { readonly taskSupport?: string };
  readonly arguments?: readonly { readonly name: string; readonly required?: boolean }[];
}

/** Everything that a server offers. */
export interface Offered {
  readonly tools: readonly Item[];
  readonly prompts: readonly Item[];
  readonly resources: readonly Item[];
  readonly templates: readonly Item[];
  readonly capabilities: Readonly<Record<string, unknown>>;
}

type Lists = Omit<Offered, 'capabilities'>;

/** A question to a server; names of tools and prompts get the prefix. */
interface Ask {
  readonly what: string;
  readonly by: (host: RealHost, prefix: string) => Promise<unknown>;
}

export async function offeredTo(host: RealHost): Promise<Offered> {
  const capabilities = host.getServerCapabilities() ?? {};
  const has = (kind: string) => kind in capabilities;
  return {
    capabilities,
    tools: has('tools') ? ((await host.listTools()).tools as Item[]) : [],
    prompts: has('prompts') ? ((await host.listPrompts()).prompts as Item[]) : [],
    resources: has('resources') ? ((await host.listResources()).resources as Item[]) : [],
    templates: has('resources') ? ((await host.listResourceTemplates()).resourceTemplates as Item[]) : [],
  };
}

/** Of what a hub offers, the part of one server, under the names that the server gives. */
export function partOf(all: Offered, { key }: RealServer, own: Lists): Lists {
  const prefix = `${key}_`;
  const named = (items: readonly Item[]) =>
    items
      .filter(({ name }) => name.startsWith(prefix))
      .map((item) => ({ ...item, name: item.name.slice(prefix.length) }));
  const uris = new Set([
    ...own.resources.map(({ uri }) => uri),
    ...own.templates.map((one) => one.uriTemplate),
  ]);
  return {
    tools: named(all.tools),
    prompts: named(all.prompts),
    resources: all.resources.filter(({ uri }) => uris.has(uri)),
    templates: all.templates.filter(({ uriTemplate }) => uris.has(uriTemplate)),
  };
}

/**
 * Questions for everything that a server offers. Tools and prompts are called twice where that is not the same: with
 * what is required, and with all that is named. A tool that is for tasks alone is left out: tasks do not pass the guard.
 */
export function asksFor(
  { tools, prompts, resources, templates, capabilities }: Offered,
  { values, valuesOf = {} }: RealServer,
): Ask[] {
  const asks = new Map<string, Ask['by']>();
  for (const { name, inputSchema, execution } of tools) {
    if (execution?.taskSupport === 'required') continue;
    for (const isWhole of [false, true]) {
      const args = argumentsFor(inputSchema, { ...values, ...valuesOf[name] }, isWhole);
      asks.set(`${name} ${JSON.stringify(args)}`, (host, prefix) =>
        host.callTool({ name: prefix + name, arguments: args }),
      );
    }
  }
  const complete = (ref: 'ref/prompt' | 'ref/resource', of: string, argument: string) => {
    if (!('completions' in capabilities)) return;
    asks.set(`completion of ${argument} of ${of}`, (host, prefix) =>
      host.complete({
        ref: ref === 'ref/prompt' ? { type: ref, name: prefix + of } : { type: ref, uri: of },
        argument: { name: argument, value: '' },
      }),
    );
  };
  for (const { name, arguments: named = [] } of prompts) {
    for (const isWhole of [false, true]) {
      const given = named.filter(({ required }) => isWhole || required);
      const args = Object.fromEntries(given.map((one) => [one.name, String(values[one.name] ?? 'text')]));
      asks.set(`prompt ${name} ${JSON.stringify(args)}`, (host, prefix) =>
        host.getPrompt({ name: prefix + name, arguments: args }),
      );
    }
    for (const one of named) complete('ref/prompt', name, one.name);
  }
  for (const { uri } of resources) asks.set(`resource ${uri}`, (host) => host.readResource({ uri }));
  for (const { uriTemplate } of templates) {
    const uri = uriTemplate.replaceAll(VARIABLE, '1');
    asks.set(`resource ${uri} of a template`, (host) => host.readResource({ uri }));
    for (const [, name] of uriTemplate.matchAll(VARIABLE)) complete('ref/resource', uriTemplate, name!);
  }
  return [...asks].map(([what, by]) => ({ what, by }));
}

const VARIABLE = /\{(\w+)\}/g;

/** Asks one after the other, and gives the answers, or the errors, by what was asked for. */
export async function answersOf(
  host: RealHost,
  asks: readonly Ask[],
  prefix = '',
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const { what, by } of asks) {
    answers[what] = await by(host, prefix).then(steady, ({ code, message }) => ({ code, message }));
  }
  return answers;
}

/** The answers that are errors, of the protocol or of a tool. */
export function failuresOf(answers: Readonly<Record<string, unknown>>): string[] {
  const isFailure = (answer: unknown) =>
    typeof answer === 'object' && answer !== null && ('code' in answer || 'isError' in answer);
  return Object.keys(answers).filter((what) => isFailure(answers[what]));
}

/**
 * An answer without what differs from run to run, which is times alone, and without how long an answer may be cached,
 * which only the stateless era has. What is base64 is read, because times stand there too.
 */
function steady(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value === 'string') return value.replaceAll(TIMES, 'TIME');
  if (typeof value !== 'object' || value === null) return value;
  const { ttlMs: _, cacheScope: __, ...members } = value as Record<string, unknown>;
  const entries = Object.entries(members).map(([name, member]) => {
    if (name === 'blob') return [name, steady(Buffer.from(member as string, 'base64').toString('latin1'))];
    return [name, name === 'timestamp' ? 'TIME' : steady(member)];
  });
  return Object.fromEntries(entries);
}

/** `8:30:01 AM`; a time as `Date` writes it; and the seconds of `git blame`. */
const TIMES =
  /\b\d{1,2}:\d\d:\d\d [AP]M|\b\w{3} \w{3} \d\d \d{4} [\d:]{8} GMT[^\n]*|(?<="timestamp": )\d{10}/g;
