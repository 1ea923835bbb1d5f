/** How programs are fetched and run in one step: which word names what is run, and whether that names one version. */

interface Runner {
  readonly name: string;
  /** The index, among all words, of the one that names what is run; null where it cannot be told. */
  readonly at: number | null;
  /** Whether the next start may run another version. */
  readonly isFloating: boolean;
}

const NPM_OPTIONS = '-p --package -c --call -w --workspace --registry --cache --prefix'.split(' ');
const UV_OPTIONS = (
  '--from --with --python -p --index-url -i --extra-index-url --index --default-index --refresh-package ' +
  '--directory --project --env-file --with-editable --with-requirements'
).split(' ');

/** Commands that fetch and run a package, longest first, with the options that take a value and how a version is named. */
const RUNNERS: readonly {
  readonly name: string;
  readonly valued: readonly string[];
  /** Options that name the package, so that the first word is only the program in it. */
  readonly from: readonly string[];
  readonly pinned: (spec: string) => boolean;
}[] = [
  ...['npm exec', 'npm x', 'pnpm dlx', 'yarn dlx', 'bun x', 'npx', 'bunx', 'pnpx'].map((name) => ({
    name,
    valued: NPM_OPTIONS,
    from: ['-p', '--package'],
    pinned: isPinnedNpm,
  })),
  ...['uv tool run', 'uvx', 'pipx run'].map((name) => ({
    name,
    valued: [...UV_OPTIONS, '--spec'],
    from: ['--from', '--spec'],
    pinned: isPinnedPython,
  })),
  {
    name: 'go run',
    valued: [],
    from: [],
    pinned: (spec) => isPath(spec) || /@v\d+\.\d+\.\d+/.test(spec),
  },
];
const CONTAINERS = ['docker', 'podman', 'nerdctl'];
const DIGEST = /@sha256:[0-9a-f]{64}$/;
const COMMIT = /[#@][0-9a-f]{40}$/;

/** What a command runs, if it is one that fetches it; null for any other program. */
export function runnerOf(command: string, args: readonly string[]): Runner | null {
  const words = [programName(command), ...args];
  // A shell of Windows in between, which batch files such as npx.cmd need.
  const skipped = words[0] === 'cmd' && /^\/[ck]$/i.test(words[1] ?? '') ? 2 : 0;
  const rest = words.slice(skipped);
  if (skipped > 0 && rest.length > 0) rest[0] = programName(rest[0]!);
  const [first = '', second] = rest;
  if (CONTAINERS.includes(first) && (second === 'run' || second === 'container')) {
    const at = rest.findIndex((word) => DIGEST.test(word));
    return { name: first, at: at < 0 ? null : at + skipped, isFloating: at < 0 };
  }
  const runner = RUNNERS.find(({ name }) => name.split(' ').every((word, i) => rest[i] === word));
  if (runner === undefined) return null;
  const { name, valued, from } = runner;
  const found = specIndex(rest, name.split(' ').length, valued, from);
  if (found === null) return { name, at: null, isFloating: true };
  const spec = rest[found]!.replace(/^--(?:package|from|spec)=/, '');
  return { name, at: found + skipped, isFloating: !runner.pinned(spec) };
}

/** The word that names the package: that of an option for it, else the first that is neither option nor value. */
function specIndex(
  words: readonly string[],
  start: number,
  valued: readonly string[],
  from: readonly string[],
): number | null {
  for (let i = start; i < words.length; i++) {
    const word = words[i]!;
    if (from.includes(word) || word === '--') return i + 1 < words.length ? i + 1 : null;
    if (from.some((option) => option.startsWith('--') && word.startsWith(`${option}=`))) return i;
    if (valued.includes(word)) i++;
    else if (!word.startsWith('-')) return i;
  }
  return null;
}

function programName(command: string): string {
  return command
    .split(/[\\/]/)
    .at(-1)!
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat|ps1)$/, '');
}

function isPath(spec: string): boolean {
  return /^(?:\.{0,2}[\\/]|\.{1,2}$|~[\\/]|[A-Za-z]:[\\/]|file:)/.test(spec);
}

function isPinnedNpm(spec: string): boolean {
  return isPath(spec) || COMMIT.test(spec) || /.@\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/.test(spec);
}

function isPinnedPython(spec: string): boolean {
  return isPath(spec) || COMMIT.test(spec) || /(?:===?|@)\d[\w.!+-]*$/.test(spec);
}
