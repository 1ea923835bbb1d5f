import { basename } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { isExactVersion, isPackageName } from '@bulla/core/lock';

export interface NpmCommand {
  readonly kind: 'npm';
  readonly name: string;
  /** A version, a range or a tag; null when none is said. */
  readonly spec: string | null;
  /** The program of the package that is named; null when npm would choose it. */
  readonly bin: string | null;
  readonly args: readonly string[];
}

export interface DockerCommand {
  readonly kind: 'oci';
  /** The image as it is written, without its digest. */
  readonly image: string;
  /** `sha256:` and hex; null when the command names a tag only. */
  readonly digest: string | null;
  /** Where the image stands in the arguments. */
  readonly at: number;
}

type PinCommand = NpmCommand | DockerCommand;

/**
 * Reads a command whose program can be pinned: `npx PACKAGE …`, `npm exec PACKAGE …`, `docker run … IMAGE …`. Every
 * option must be known, because an unknown one could name another program. Throws `PIN_COMMAND` for what is none of
 * them, and `PIN_COMMAND` for a package that does not come from a registry.
 */
export function parsePinCommand(command: string, args: readonly string[]): PinCommand {
  const words = [command, ...args];
  const program = programOf(command);
  if (isExecCommand(words)) return parseExec(args.slice(program === 'npx' ? 0 : 1));
  if ((program === 'docker' || program === 'podman') && args[0] === 'run') return parseDocker(args);
  throw cannot('Only npx, npm exec and docker run name a program that can be pinned.');
}

/** Whether words begin as a command that names an npm package does. */
export function isExecCommand(words: readonly string[]): boolean {
  const program = programOf(words[0] ?? '');
  return program === 'npx' || (program === 'npm' && (words[1] === 'exec' || words[1] === 'x'));
}

function programOf(command: string): string {
  return basename(command).replace(/\.(?:cmd|exe)$/i, '');
}

function cannot(message: string): BullaError {
  return new BullaError('PIN_COMMAND', message);
}

const QUIET = ['-y', '--yes', '-q', '--quiet', '--silent', '-s', '--prefer-online', '--prefer-offline'];

/** What stands behind `npx`, or behind `npm exec`; both take the same. */
function parseExec(args: readonly string[]): NpmCommand {
  const packages: string[] = [];
  let at = 0;
  for (; at < args.length && args[at]!.startsWith('-'); at++) {
    const word = args[at]!;
    const [, named] = /^--package=(.*)$/s.exec(word) ?? [];
    if (QUIET.includes(word)) continue;
    if (word === '--') {
      at++;
      break;
    }
    if (named !== undefined) packages.push(named);
    else if (word === '-p' || word === '--package') packages.push(args[++at] ?? '');
    else throw cannot(`The option ${JSON.stringify(word)} of npx is not understood, so nothing is pinned.`);
  }
  const [first, ...rest] = args.slice(at);
  if (first === undefined) throw cannot('The command names no package.');
  // `npm exec PACKAGE -- ARGS` hides the arguments from npm.
  const passed = rest[0] === '--' ? rest.slice(1) : rest;
  if (packages.length > 1) throw cannot('More than one --package cannot be pinned.');
  const [spec] = packages;
  if (spec === undefined) return { kind: 'npm', ...parseSpec(first), bin: null, args: passed };
  return { kind: 'npm', ...parseSpec(spec), bin: first, args: passed };
}

/** `name`, `name@1.2.3`, `name@^1`, `name@next`. Throws `PIN_COMMAND` for folders, addresses, repositories and aliases. */
function parseSpec(text: string): { name: string; spec: string | null } {
  const at = text.indexOf('@', 1);
  const [name, spec] = at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
  const isPlain = spec === null || /^[A-Za-z0-9.+~^<>=|* -]+$/.test(spec);
  if (isPackageName(name) && isPlain) return { name, spec };
  throw cannot(`${JSON.stringify(text)} is not a package of a registry, with a version, a range or a tag.`);
}

/** Whether a command can only mean this version of this package. */
export function matches(command: NpmCommand, name: string, version: string): boolean {
  if (command.name !== name) return false;
  return command.spec === null || !isExactVersion(command.spec) || command.spec === version;
}

/** The options of `docker run` that stand alone. Short ones may be joined: `-it`. */
const ALONE = new Set(
  (
    '--detach --init --interactive --no-healthcheck --oom-kill-disable --privileged --publish-all --quiet ' +
    '--read-only --rm --sig-proxy --tty'
  ).split(' '),
);
const ALONE_SHORT = 'ditPq';
/** Those that have a value, in the same word behind `=` or as the next word. */
const VALUED = new Set(
  (
    '--add-host --annotation --attach --cap-add --cap-drop --cidfile --cpu-shares --cpus --cpuset-cpus --device ' +
    '--dns --dns-search --entrypoint --env --env-file --expose --gpus --group-add --hostname --ip --ipc --label ' +
    '--log-driver --log-opt --memory --memory-swap --mount --name --net --network --pid --pids-limit --platform ' +
    '--publish --pull --restart --runtime --security-opt --shm-size --stop-signal --stop-timeout --sysctl --tmpfs ' +
    '--ulimit --user --userns --volume --volumes-from --workdir'
  ).split(' '),
);
const VALUED_SHORT = 'acehlmpuvw';

/**
 * Finds the image among the arguments that begin with `run`. Throws `PIN_COMMAND` for an option that is not known: it
 * might swallow the next word, and then another word were the image.
 */
export function parseDocker(args: readonly string[]): DockerCommand {
  let at = 1;
  for (; at < args.length; at++) {
    const word = args[at]!;
    if (word === '--') {
      at++;
      break;
    }
    if (!word.startsWith('-') || word === '-') break;
    const [, name = word, isJoined] = /^(--[^=]+)(=)/.exec(word) ?? [];
    if (name.startsWith('--')) {
      if (ALONE.has(name)) continue;
      if (!VALUED.has(name)) throw unknown(word);
      if (isJoined === undefined) at++;
      continue;
    }
    const letters = [...word.slice(1)];
    const end = letters.findIndex((letter) => !ALONE_SHORT.includes(letter));
    if (end < 0) continue;
    if (!VALUED_SHORT.includes(letters[end]!)) throw unknown(word);
    if (end === letters.length - 1) at++;
  }
  const word = args[at];
  if (word === undefined) throw cannot('The command names no image.');
  return { kind: 'oci', ...parseImage(word), at };
}

function unknown(word: string): BullaError {
  return cannot(`The option ${JSON.stringify(word)} of docker run is not understood, so nothing is pinned.`);
}

const HOST = '[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?';
const PATH = '[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*';
const IMAGE = new RegExp(`^((?:${HOST}/)?${PATH}(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?)(?:@(.+))?$`);

function parseImage(text: string): { image: string; digest: string | null } {
  const [, image, digest = null] = IMAGE.exec(text) ?? [];
  if (image !== undefined && (digest === null || /^sha256:[0-9a-f]{64}$/.test(digest)))
    return { image, digest };
  throw cannot(`${JSON.stringify(text)} is not the name of an image, with a tag or a sha256 digest.`);
}

/** The same command for the very image of a digest: a tag may lead elsewhere the next time. */
export function withDigest(args: readonly string[], command: DockerCommand, digest: string): string[] {
  const name = command.image.replace(/:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/, (tag, offset: number) =>
    // A colon before a slash is that of a port.
    command.image.indexOf('/', offset) < 0 ? '' : tag,
  );
  return args.map((word, i) => (i === command.at ? `${name}@${digest}` : word));
}
