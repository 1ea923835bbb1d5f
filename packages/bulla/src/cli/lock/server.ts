import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import { InvalidArgumentError } from 'commander';
import type { Header, Observer, ServerAccess } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { NOTICES } from '../store.ts';
import { durationOption } from '../terminal/input.ts';
import { collect, drawOver, say } from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';

/** How a server is reached and scanned. */
export interface ServerOptions extends ReachOptions {
  timeout: number;
  fetchIcons?: boolean;
}

export interface ReachOptions {
  env: string[];
  header: Header[];
  headerEnv: Header[];
  bearerEnv?: string;
  signIn?: boolean;
  authServer: string[];
}

/** Headers that carry credentials and nothing else; on a command line everybody on the machine could read them. */
const SECRET = ['authorization', 'proxy-authorization', 'cookie'];

function header(text: string, previous: Header[]): Header[] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('A header is written "Name: value".');
  if (SECRET.includes(name.toLowerCase()))
    throw new InvalidArgumentError('A secret does not belong here; use --bearer-env or --header-env.');
  return [...previous, { name, value }];
}

function headerEnv(text: string, previous: Header[]): Header[] {
  const [, name, value] = /^([^:=\s]+)=([A-Za-z_][A-Za-z0-9_]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('It is written Header-Name=VARIABLE.');
  return [...previous, { name, value }];
}

function origin(text: string, previous: string[]): string[] {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !['', '/'].includes(url.pathname) || url.search)
    throw new InvalidArgumentError('It is an origin such as https://sso.internal:8443.');
  return [...previous, url.origin];
}

export const SERVER_HELP = `
The server stands after --: a command with its arguments, one quoted string, or an address (https://…).
It gets no shell, and of the environment only what programs need to run and what --env names.`;

/** Adds the options by which a server is reached. */
export function serverOptions(command: Command): Command {
  return command
    .addOption(durationOption('-t, --timeout', 'how long the scan may take', { initial: '1m' }))
    .use(reachOptions)
    .option('--fetch-icons', 'fetch icons from public addresses that the server chose, to pin their content');
}

/** Adds what a server may see, and the credentials with which it is reached. */
export function reachOptions(command: Command): Command {
  return command
    .option('--env <name>', 'a variable of the environment that the server may see', collect, [])
    .option('--header <header>', 'a header "Name: value" for a server at an address', header, [])
    .option('--header-env <name=variable>', 'a header whose value is in the environment', headerEnv, [])
    .option('--bearer-env <variable>', 'the variable of the environment that holds a bearer token')
    .option('--sign-in', 'sign in with a browser if the server asks, without a terminal too')
    .option(
      '--auth-server <origin>',
      'an authorization server at a private address that may be used to sign in',
      origin,
      [],
    );
}

/**
 * The same options in words, for a command that reaches a server at an address with the same rights. A sign-in counts
 * if it was used, whether it was asked for or offered on a terminal.
 */
export function reachWords(options: ReachOptions, isSignedIn: boolean): string[] {
  const { header, headerEnv, bearerEnv, authServer } = options;
  return [
    ...header.flatMap(({ name, value }) => ['--header', `${name}: ${value}`]),
    ...headerEnv.flatMap(({ name, value }) => ['--header-env', `${name}=${value}`]),
    ...(bearerEnv === undefined ? [] : ['--bearer-env', bearerEnv]),
    ...(isSignedIn ? ['--sign-in', ...authServer.flatMap((origin) => ['--auth-server', origin])] : []),
  ];
}

/** The variables of the environment that these options name. */
export function reachVariables({ headerEnv, bearerEnv }: ReachOptions): string[] {
  return [...headerEnv.map(({ value }) => value), ...(bearerEnv === undefined ? [] : [bearerEnv])];
}

/**
 * How the server is reached, by the options of a command. Without a terminal nobody is there to sign in. Throws
 * `MCP_TARGET_ENV` for a variable that is not set.
 */
export function accessOf(options: ServerOptions): ServerAccess & Required<Pick<ServerAccess, 'signIn'>> {
  const { timeout, fetchIcons } = options;
  return { ...reachOf(options, streams.stderr.isTTY === true), timeoutMs: timeout, fetchIcons };
}

/** The same without what belongs to a scan; a person is offered to sign in where one may be there. */
export function reachOf(
  options: ReachOptions,
  isThere: boolean,
): ServerAccess & Required<Pick<ServerAccess, 'signIn'>> {
  const { header, headerEnv, bearerEnv, signIn = false, authServer } = options;
  return {
    headers: header,
    secretHeaders: headerEnv.map(({ name, value }) => ({ name, value: variable(value) })),
    token: bearerEnv === undefined ? undefined : variable(bearerEnv),
    onLoose: NOTICES.onLoose,
    signIn:
      signIn || isThere
        ? { isAsked: signIn, privateOrigins: authServer, openBrowser: tellSignIn }
        : undefined,
  };
}

export function tellSignIn(page: URL): void {
  say(`The server asks you to sign in. Open this page in a browser:\n  ${visible(page.href)}`);
}

function variable(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new BullaError('MCP_TARGET_ENV', `The environment variable ${name} is not set.`);
}

/** Shows on a terminal, in one line that is gone afterwards, that a server is being scanned. */
export function scanning(isShown: boolean): Pick<Observer, 'onScan'> {
  if (!isShown || !streams.stderr.isTTY) return {};
  return { onScan: (isRunning) => drawOver(isRunning ? 'scanning the server…' : '') };
}
