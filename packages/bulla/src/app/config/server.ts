import { resolve } from 'node:path';
import { PRESET_NAMES } from '@bulla/core/policy';
import { parseUrl } from '../../mcp/index.ts';
import {
  count,
  either,
  list,
  map,
  optional,
  record,
  required,
  text,
  variants,
  word,
  yesOrNo,
} from './form.ts';
import { anyText, duration, origin, path, SOMEONE, secret, setting } from './values.ts';

// One tool server of the configuration.

/** Which decisions are enforced. */
export const MODES = ['enforce', 'filter', 'audit'] as const;
/** What a server may ask of a host. */
export const FEATURES = ['roots', 'sampling', 'elicitation'] as const;

const url = text({
  title: 'URL',
  what: 'an address with https: or http:, without a user, a password or a fragment',
  pattern: '^https?://(?![^/?]*@)[^\\s#\\\\]+$',
  make(found, at, reading) {
    try {
      return parseUrl(found).href;
    } catch {
      reading.unsound(at.at, 'The address of the server cannot be read as a URL.');
      return found;
    }
  },
});

const variable = setting('a string without NUL', '^[^\\u0000]*$');
const header = setting('a string of printable ASCII characters', '^[ -~]*$');
const name = text({ what: 'a string that is not empty', pattern: '^[^\\u0000]+$' });

export const rules = text({
  title: 'path or preset',
  what: 'the path of a policy, or the name of a preset',
  pattern: '^[^\\u0000]+$',
  make: (found, _, { folder }) =>
    (PRESET_NAMES as readonly string[]).includes(found) ? found : resolve(folder, found),
});

const POINTER = '^(?:/(?:[^~/]|~[01])*)+$';
const pointer = text({
  title: 'JSON Pointer',
  what: 'a JSON Pointer, such as /password',
  pattern: POINTER,
  isShown: true,
});

const field = text({
  title: 'field of an envelope',
  what: 'a JSON Pointer to a field of an envelope, such as /target/to',
  pattern: '^(?:/[a-z_]+)+$',
  isShown: true,
});
const mapping = record({
  action: required(
    text({ what: 'capital letters, digits and underscores', pattern: '^[A-Z0-9_]{2,64}$', isShown: true }),
    'The `action_type` of the envelope.',
    'TRANSFER',
  ),
  bind: required(
    map(field, { names: 'a JSON Pointer to an argument', pattern: POINTER }),
    'By JSON Pointers, which arguments must be which fields of the envelope.',
    { '/to': '/target/to' },
  ),
  free: optional(
    list(pointer, { uniqueItems: true }),
    'JSON Pointers to arguments that may have any value. Every other one that is not bound is refused. Default: none.',
    ['/memo'],
  ),
  fixed: optional(
    map(either(anyText, count(0, Number.MAX_SAFE_INTEGER)), {
      names: 'a JSON Pointer to a field of an envelope',
      pattern: '^(?:/[a-z_]+)+$',
    }),
    'Fields that no argument says, and the values that they must have. Default: none.',
    { '/target/asset': 'EUR' },
  ),
});

const tool = record({
  outcome: optional(
    word(['durable', 'lazy']),
    'When the answer reaches the agent: `durable` after its outcome is recorded; `lazy` before that, up to 20 ms, which saves a wait for the disk and can lose the outcome in a crash. Calls with an approval are always durable. Default: durable.',
    'lazy',
  ),
  record: optional(
    record({
      arguments: optional(
        yesOrNo,
        'Keep the arguments beside the chain, where they can be erased. Default: false, only a commitment to them.',
        true,
      ),
      result: optional(
        yesOrNo,
        'Keep the result beside the chain, where it can be erased. Default: false, only a commitment to it.',
        true,
      ),
      redact: optional(
        list(pointer, { uniqueItems: true }),
        'JSON Pointers into the arguments and into the result: what they lead to is not kept.',
        ['/password'],
      ),
    }),
    'What of its calls is kept.',
  ),
  irreversible: optional(
    yesOrNo,
    'What it does cannot be undone: each call needs an envelope that somebody in `envelopes` approved. Default: false, only where a rule asks for one.',
    true,
  ),
  envelope: optional(
    mapping,
    'Which envelopes of another action than a tool call approve its calls: those of this action whose fields are its arguments. Default: none, only envelopes of exactly the call.',
    { action: 'TRANSFER', bind: { '/to': '/target/to', '/amount': '/target/amount' }, free: ['/memo'] },
  ),
});

const confinement = record({
  read: optional(
    list(path, { uniqueItems: true }),
    'Folders and files that the server may read, beside the system.',
    ['data'],
  ),
  write: optional(list(path, { uniqueItems: true }), 'Folders and files that it may read and write.', [
    'data/out',
  ]),
  network: optional(yesOrNo, 'Whether it may use the network. Default: false.', false),
});

const uris = record({
  schemes: optional(
    list(text({ what: 'the scheme of a URI in lower case', pattern: '^[a-z][a-z0-9+.-]*$', isShown: true }), {
      uniqueItems: true,
    }),
    'The schemes that they may have. Default: any.',
    ['https'],
  ),
  hosts: optional(
    list(
      text({
        what: 'a host in lower case, or *. and a domain',
        pattern: '^(?:\\*\\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$',
        isShown: true,
      }),
      { uniqueItems: true },
    ),
    'The hosts that they may name; `*.` stands for any name below a domain. Default: any that is public.',
    ['*.example.com'],
  ),
  private: optional(
    yesOrNo,
    'Whether they may lead to private addresses and to this machine. Default: false.',
    false,
  ),
});

const oauth = record({
  privateOrigins: optional(
    list(origin, { uniqueItems: true }),
    'Origins of authorization servers at private addresses that may be used. Default: none.',
    ['https://sign-in.internal'],
  ),
  signIn: optional(duration(), 'How long a person may take to sign in. Default: 5m.', '5m'),
  stepUp: optional(
    yesOrNo,
    'Whether a person may be asked to grant a wider scope when the server wants one during a session. Default: false, the request is refused.',
    true,
  ),
});

export const server = variants(
  {
    lock: required(
      path,
      'The lockfile of the server: what it may offer and the agent may call.',
      'files.lock.json',
    ),
    prefix: optional(
      text({
        what: '1 to 23 letters, digits, hyphens and underscores',
        pattern: '^[A-Za-z0-9_-]{1,23}$',
        isShown: true,
      }),
      'What stands, with an underscore, before the names of its tools and prompts when there are several servers. Default: the name of the server here.',
      'fs',
    ),
    only: optional(
      list(name, { minItems: 1, uniqueItems: true }),
      'Only these tools of the lock pass; `*` stands for any text. Default: all.',
      ['read_*'],
    ),
    pass: optional(
      list(word(FEATURES), { uniqueItems: true }),
      'What the server may ask of the host. Default: nothing.',
      ['elicitation'],
    ),
    mode: optional(
      word(MODES),
      '`enforce` removes from lists and blocks what is not as it was locked; `filter` only removes it; `audit` only records it. Default: enforce.',
      'enforce',
    ),
    timeout: optional(duration(), 'How long the server may take to answer. Default: 10m.', '10m'),
    recheck: optional(duration('0s'), 'How long a list counts before it is read again. Default: 1m.', '1m'),
    tools: optional(
      map(tool, { names: 'the name of a tool', pattern: '^[^\\u0000]+$' }),
      'Rules for single tools, by the names that the server gives them.',
      { write_file: { irreversible: true } },
    ),
    rules: optional(
      list(rules, { minItems: 1, uniqueItems: true }),
      'Policies whose rules are asked about its calls and their results: files, or the names of presets. Default: none.',
      ['rules.yaml', 'no-secrets-out'],
    ),
    escapes: optional(
      yesOrNo,
      'Whether results may hold sequences that make a terminal do something else than choose colours. Default: false.',
      true,
    ),
    uris: optional(uris, 'Where URIs in arguments may lead. Default: to any public host.'),
  },
  {
    command: {
      command: required(
        name,
        'The program of a server that is started here and speaks on standard input and output.',
        'npx',
      ),
      args: optional(list(anyText), 'Its arguments.', [
        '-y',
        '@modelcontextprotocol/server-filesystem',
        '/data',
      ]),
      env: optional(
        map(variable, { names: 'the name of an environment variable', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
        'Environment variables that it gets beside the usual ones: a reference to a secret, or a text as {"value": "text"}.',
        { GITHUB_TOKEN: 'env:GITHUB_TOKEN', MODE: { value: 'text' } },
      ),
      pinned: optional(
        yesOrNo,
        'Start the program that the lock pins. Default: false, the command itself.',
        true,
      ),
      restart: optional(yesOrNo, 'Start the server again when it ends. Default: false.', true),
      confine: optional(
        either(yesOrNo, confinement),
        'Start it in a sandbox: true, or what it may use there. Default: false.',
        true,
        { read: ['data'], network: false },
      ),
    },
    url: {
      url: required(url, 'The address of a server that speaks Streamable HTTP.', 'https://tools.example/mcp'),
      headers: optional(
        map(header, { names: 'the name of a header', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z\\-]+$" }),
        'Headers of every request: a reference to a secret, or a text as {"value": "text"}.',
        { 'X-Api-Key': 'env:KEY', 'X-Team': { value: 'a' } },
      ),
      token: optional(secret, 'A bearer token: a reference to it.', 'env:TOOLS_TOKEN'),
      tokens: optional(
        map(secret, { names: SOMEONE.what, pattern: SOMEONE.pattern, minProperties: 1 }),
        'A bearer token for each user: references to them, by the `user` of the agents. An agent whose user has none here cannot use the server.',
        { alice: 'env:ALICE_TOKEN', bob: 'file:bob.token' },
      ),
      oauth: optional(
        either(yesOrNo, oauth),
        'Sign a person in when the server asks for it. Default: false.',
        true,
      ),
    },
  },
);
