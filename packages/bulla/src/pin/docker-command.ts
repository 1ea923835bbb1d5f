import { BullaError } from '@bulla/core/error';

/** A command that runs a container. */
export interface DockerCommand {
  readonly kind: 'oci';
  /** The image as it is written, without its digest. */
  readonly image: string;
  /** `sha256:` and hex; null when the command names a tag only. */
  readonly digest: string | null;
  /** Where the image stands in the arguments. */
  readonly at: number;
}

/** The options of `docker run` that stand alone. Short ones may be joined: `-it`. */
const ALONE = new Set([
  ...['--detach', '--init', '--interactive', '--no-healthcheck', '--oom-kill-disable', '--privileged'],
  ...['--publish-all', '--quiet', '--read-only', '--rm', '--sig-proxy', '--tty'],
]);
const ALONE_SHORT = 'ditPq';
/** Those that have a value, in the same word behind `=` or as the next word. */
const VALUED = new Set([
  ...[
    '--add-host',
    '--annotation',
    '--attach',
    '--cap-add',
    '--cap-drop',
    '--cidfile',
    '--cpu-shares',
    '--cpus',
  ],
  ...[
    '--cpuset-cpus',
    '--device',
    '--dns',
    '--dns-search',
    '--entrypoint',
    '--env',
    '--env-file',
    '--expose',
  ],
  ...[
    '--gpus',
    '--group-add',
    '--hostname',
    '--ip',
    '--ipc',
    '--label',
    '--log-driver',
    '--log-opt',
    '--memory',
  ],
  ...['--memory-swap', '--mount', '--name', '--network', '--pid', '--pids-limit', '--platform', '--publish'],
  ...['--pull', '--restart', '--runtime', '--security-opt', '--shm-size', '--stop-signal', '--stop-timeout'],
  ...[
    '--sysctl',
    '--tmpfs',
    '--ulimit',
    '--user',
    '--userns',
    '--volume',
    '--volumes-from',
    '--workdir',
    '--net',
  ],
]);
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
  if (word === undefined) throw new BullaError('PIN_COMMAND', 'The command names no image.');
  return { kind: 'oci', ...parseImage(word), at };
}

function unknown(word: string): BullaError {
  const message = `The option ${JSON.stringify(word)} of docker run is not understood, so nothing is pinned.`;
  return new BullaError('PIN_COMMAND', message);
}

const HOST = '[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?';
const PATH = '[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*';
const IMAGE = new RegExp(`^((?:${HOST}/)?${PATH}(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?)(?:@(.+))?$`);

function parseImage(text: string): { image: string; digest: string | null } {
  const [, image, digest = null] = IMAGE.exec(text) ?? [];
  if (image !== undefined && (digest === null || /^sha256:[0-9a-f]{64}$/.test(digest)))
    return { image, digest };
  throw new BullaError(
    'PIN_COMMAND',
    `${JSON.stringify(text)} is not the name of an image, with a tag or a sha256 digest.`,
  );
}

/** The same command for the very image of a digest: a tag may lead elsewhere the next time. */
export function withDigest(args: readonly string[], command: DockerCommand, digest: string): string[] {
  const name = command.image.replace(/:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/, (tag, offset: number) =>
    // A colon before a slash is that of a port.
    command.image.indexOf('/', offset) < 0 ? '' : tag,
  );
  return args.map((word, i) => (i === command.at ? `${name}@${digest}` : word));
}
