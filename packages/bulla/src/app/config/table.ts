import type { ChannelKind, Rules } from '@bulla/core/consent';
import {
  count,
  list,
  map,
  optional,
  type Read,
  record,
  required,
  text,
  variants,
  word,
  yesOrNo,
} from './form.ts';
import { rules, server } from './server.ts';
import { duration, host, listen, origin, path, publicKey, SOMEONE, secret, storeUrl } from './values.ts';

// Every member of `bulla.json`. The published schema and the table in docs/config.md are written from here by
// `npm run config`.

const someone = text({ ...SOMEONE, isShown: true });
const LABEL = {
  what: '1 to 64 letters, digits, dots, hyphens and underscores',
  pattern: '^[A-Za-z0-9._-]{1,64}$',
};
const label = text({ ...LABEL, isShown: true });
const SERVER = { what: '1 to 32 letters, digits, hyphens and underscores', pattern: '^[A-Za-z0-9_-]{1,32}$' };

/** Over what a person can answer, as `@bulla/core/consent` names it. */
export const CHANNELS = [
  'passkey',
  'pin',
  'os-user',
  'device',
  'terminal',
  'host',
] as const satisfies readonly ChannelKind[];
/** Which of them may answer what is sensitive. */
export const CHANNEL_RULES = [
  'any',
  'out-of-band',
  'authenticated',
] as const satisfies readonly Rules['highChannels'][];

const agent = variants(
  {
    servers: optional(
      list(text({ ...SERVER, isShown: true }), { minItems: 1, uniqueItems: true }),
      'The servers that it may use, by their names here. Default: all.',
      ['files'],
    ),
    manifest: optional(
      path,
      'Its manifest: what it declares, and people consent to. Default: none, and nobody is asked about its calls.',
      'claude.manifest.json',
    ),
    bindings: optional(
      path,
      'With `manifest`: which tools of which servers, by their names here, the tools of the manifest are. Default: as they were bound before (`bulla manifest bind`).',
      'claude.bindings.json',
    ),
    user: optional(
      someone,
      'The person for whom it acts, and who is asked: a name of your choice, as in `bulla consent --user` and in `people` of `consent.json`. Default: over HTTP nobody, so that with a manifest no tool can be called; on standard streams the user of the operating system.',
      'alice',
    ),
  },
  {
    token: {
      token: required(
        secret,
        'The token with which it authenticates: a reference to it.',
        'env:CLAUDE_TOKEN',
      ),
    },
    tokenHash: {
      tokenHash: required(
        text({ what: 'sha256: and 64 hex digits in lower case', pattern: '^sha256:[0-9a-f]{64}$' }),
        'The SHA-256 of its token, where nobody here needs the token itself.',
        `sha256:${'0'.repeat(64)}`,
      ),
    },
  },
);

const trust = record({
  requireSignature: optional(
    yesOrNo,
    'Use no lock without a signature. Naming a key or a keyring requires one too. Default: false.',
    true,
  ),
  keys: optional(
    list(publicKey, { uniqueItems: true }),
    'Public keys whose signatures count: files, or 64 hex digits. Default: those of the local keyring.',
    ['public.key'],
  ),
  keyring: optional(path, 'A keyring whose keys count: a folder or a `keyring.json`.', 'keyring.json'),
});

const consent = record({
  channels: optional(
    list(word(CHANNELS), { minItems: 1, uniqueItems: true }),
    'Over what a person is asked, the first that is at hand.',
    ['host', 'terminal'],
  ),
  highChannels: optional(
    word(CHANNEL_RULES),
    'Over what a call of high sensitivity may be answered. Default: authenticated.',
    'authenticated',
  ),
  park: optional(
    duration(),
    'Lets a question outlive its call: the agent is told to come back, and the same call gets the answer until this time is over. Default: a question ends with its call.',
    '15m',
  ),
  startWithin: optional(
    duration(),
    'How long an allowed call may wait until it is started. Default: 5m.',
    '5m',
  ),
  mediumPrompt: optional(
    duration(),
    'How long a question of medium sensitivity can be answered. Default: without limit.',
    '1d',
  ),
  grantPrompt: optional(
    duration(),
    'How long a question for a scope can be answered. Default: without limit.',
    '7d',
  ),
  maxOpenPrompts: optional(
    count(1, 1000),
    'How many questions of one agent may wait for one person. Default: 16.',
    16,
  ),
  approvers: optional(
    list(someone, { uniqueItems: true }),
    'People to whom a question may be escalated, and who may revoke. Default: none.',
    ['bob'],
  ),
  languages: optional(
    list(
      text({
        what: 'a language tag, such as de or zh-CN',
        pattern: '^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$',
        isShown: true,
      }),
      { minItems: 1, uniqueItems: true },
    ),
    'The languages of questions, the preferred one first; English and Chinese are there. Default: English.',
    ['de'],
  ),
});

const envelopes = record({
  audience: required(someone, 'The name of this ledger, as authorizations name it.', 'payments'),
  tenantId: optional(someone, 'The tenant whose envelopes are executed. Default: that of the store.', 'acme'),
  approvers: required(
    map(list(publicKey, { minItems: 1, uniqueItems: true }), {
      names: SOMEONE.what,
      pattern: SOMEONE.pattern,
      minProperties: 1,
    }),
    'Whose signatures count: by the name of each person, their public keys (files, or 64 hex digits).',
    { alice: ['alice.pub'] },
  ),
  skew: optional(duration('0s'), 'By how much clocks may differ, in whole seconds. Default: 0s.', '5s'),
});

const store = record({
  url: optional(
    storeUrl,
    'Where records are kept: a file of SQLite, or a reference to the address of a PostgreSQL database. Default: `store.db` in the data directory.',
    'store.db',
    'env:DATABASE_URL',
  ),
  tenant: optional(label, 'Whose chains. Default: those of no tenant.', 'acme'),
  chain: optional(label, 'The chain that records are appended to. Default: default.', 'default'),
  keys: optional(
    path,
    'The folder of the keyring that seals. Default: `keys` in the data directory.',
    'keys',
  ),
  operator: optional(
    someone,
    'Who runs this, in the names of logs. Default: the variable `BULLA_OPERATOR`.',
    'example.com',
  ),
  strictInterop: optional(
    yesOrNo,
    'Refuse what another implementation of capsules would hash differently. Default: false.',
    true,
  ),
});

const telemetry = record({
  enabled: optional(yesOrNo, 'Make spans of calls with OpenTelemetry. Default: false.', true),
  recordNames: optional(yesOrNo, 'Whether spans name tools and servers. Default: false.', true),
});

export const CONFIG = record({
  $schema: optional(
    text({ what: 'the address of a JSON Schema', pattern: '^[^\\u0000]+$' }),
    'The JSON Schema of this file, for editors.',
    './node_modules/bulla/schema/bulla.schema.json',
  ),
  listen: optional(
    listen,
    'The address and port where hosts connect: an IP address or localhost; port 0 takes a free one. Beyond this machine it needs `agents`, and something before it that speaks TLS.',
    '127.0.0.1:8484',
    '[::1]:8484',
  ),
  origins: optional(
    list(origin, { uniqueItems: true }),
    'Origins of web pages that may connect. Requests without an Origin come from no page, and pass. Default: none.',
    ['https://app.example'],
  ),
  hosts: optional(
    list(host, { uniqueItems: true }),
    'Values of the Host header that pass beside the address that is listened on. Default: none.',
    ['gateway.internal:8484'],
  ),
  servers: required(
    map(server, {
      names: SERVER.what,
      pattern: SERVER.pattern,
      minProperties: 1,
    }),
    'The tool servers, by names that you choose.',
  ),
  agents: optional(
    map(agent, { names: LABEL.what, pattern: LABEL.pattern, minProperties: 1 }),
    'The agents that may connect over HTTP, by the names that records have.',
  ),
  trust: optional(trust, 'Which locks are trusted.'),
  rules: optional(
    list(rules, { minItems: 1, uniqueItems: true }),
    'Policies that every call of every server must meet: files, or the names of presets. Default: none.',
    ['policy.yaml'],
  ),
  consent: optional(
    consent,
    'How people are asked about calls of agents that have a manifest. A member takes the place of the same one in `consent.json` of the data directory.',
  ),
  envelopes: optional(envelopes, 'Who approves calls that need an envelope.'),
  store: optional(store, 'Where records are kept, and who seals them.'),
  witnesses: optional(
    path,
    'The policy that names the witnesses of checkpoints, and how many of them are enough. Default: `witnesses.policy` in the data directory.',
    'witnesses.policy',
  ),
  telemetry: optional(telemetry, 'What is told to OpenTelemetry.'),
});

/** What a file says. Paths are absolute, durations are milliseconds, and what is not there is missing. */
export type Config = Read<typeof CONFIG>;
