// Every reader of core with inputs that double in size: `node --conditions=bulla-source growth-worker.ts [--time]`.

import { canonicalize, commit, lint, profiles } from '../src/canon/index.ts';
import { readCapabilityLink, readEnvelope, readSnapshot } from '../src/capability/index.ts';
import {
  parseCapsuleUri,
  readHashed,
  resolveFragment,
  validate,
  verifyCanonical,
  verifyCapsule,
} from '../src/capsule/index.ts';
import {
  detectKey,
  openNote,
  parseCheckpointBody,
  parseNote,
  parseVkey,
  readPrivateKey,
  readPublicKey,
  toUtf8,
} from '../src/crypto/index.ts';
import {
  openAuthorization,
  parsePolicy as parseBoundPolicy,
  parseEnvelope,
  readApprovals,
  readAuthorization,
  readMapping,
} from '../src/envelope/index.ts';
import { readEvidence, readFailure } from '../src/evidence/index.ts';
import {
  isDouble,
  type JsonValue,
  parse,
  parsePointer,
  parseStrictly,
  parseWithSpans,
  stringify,
  toPlain,
} from '../src/json/index.ts';
import {
  drift,
  driftJson,
  driftJunit,
  driftMarkdown,
  driftSarif,
  driftText,
  openAttested,
  openDsse,
  openNoted,
  openSigned,
  openWith,
  readBundle,
  readLock,
  readSignature,
  verifyBundle,
  writeLock,
} from '../src/lock/index.ts';
import {
  openCheckpoint,
  parseProof,
  parsePolicy as parseWitnessPolicy,
  readAnchor,
} from '../src/log/index.ts';
import {
  diffManifests,
  diffText,
  draftFromLock,
  readBindings,
  readManifest,
  validateManifest,
} from '../src/manifest/index.ts';
import { parsePolicy } from '../src/policy/index.ts';
import { compareSchemas, schemaFaults } from '../src/schema/index.ts';
import {
  inspectText,
  markdownBlock,
  mixedScript,
  normalized,
  parseDuration,
  references,
  safeText,
  skeleton,
  visible,
  wordDiff,
} from '../src/text/index.ts';
import { openBytes, openText, recognise } from '../src/verify/index.ts';
import { chainCheck } from './chain-check.ts';
import { manifestText, toolOf } from './manifest.ts';
import { printGrowth, type Reader, reader } from './steps.ts';
import { options, type SurfaceText, surface } from './surface.ts';

const list = (n: number, item: (i: number) => string) => Array.from({ length: n }, (_, i) => item(i));
const members = (n: number, value: (i: number) => string) =>
  `{${list(n, (i) => `"k${i}":${value(i)}`).join(',')}}`;

/** Documents of every shape that JSON has. */
const DOCUMENTS: Readonly<Record<string, (n: number) => string>> = {
  'small numbers': (n) => `[${list(n, (i) => String(i % 10)).join(',')}]`,
  'large numbers': (n) => `[${list(n, (i) => `${i}.5e${i % 300}`).join(',')}]`,
  'one long number': (n) => `1${'0'.repeat(n)}.${'1'.repeat(n)}`,
  members: (n) => members(n, String),
  'empty objects': (n) => `[${list(n, () => '{}').join(',')}]`,
  'one long text': (n) => JSON.stringify('é\u0001"x'.repeat(n)),
  'texts with escapes': (n) => `[${list(n, () => '"\\u0041\\n\\ud83d\\ude00"').join(',')}]`,
  'deep lists': (n) => '['.repeat(Math.min(n, 900)) + ']'.repeat(Math.min(n, 900)),
  'white space': (n) => `{}${'\n'.repeat(n)}`,
  'an open text': (n) => `"${'a'.repeat(n)}`,
};
/** Texts in which something repeats. */
const TEXTS: Readonly<Record<string, (n: number) => string>> = {
  words: (n) => list(n, (i) => `word${i}`).join(' '),
  'the same word': (n) => 'same '.repeat(n),
  lines: (n) => list(n, (i) => `line ${i}`).join('\n'),
  'letters without spaces': (n) => 'a'.repeat(n),
  'compatibility letters': (n) => '\ufdfa'.repeat(n),
  marks: (n) => 'a\u0301'.repeat(n),
  'marks on one letter': (n) => `a${'\u0301'.repeat(n)}`,
  'marks out of order': (n) => `a${'\u0301'.repeat(n)}${'\u0316'.repeat(n)}`,
  'invisible characters': (n) => 'a\u200b\u202e'.repeat(n),
  joiners: (n) => '👩\u200d'.repeat(n),
  scripts: (n) => 'aаαあ'.repeat(n),
  addresses: (n) => list(n, (i) => `https://h${i}.example/p?q=${i} a${i}@b.example`).join(' '),
  dots: (n) => 'a.'.repeat(n),
  slashes: (n) => '/a'.repeat(n),
  markup: (n) => '`<b>|*_['.repeat(n),
};

const NOTES: Readonly<Record<string, (n: number) => string>> = {
  'blank lines': (n) => '\n'.repeat(n),
  text: (n) => `${'line\n'.repeat(n)}\n— a AAAAAAAA\n`,
  signatures: (n) => `a\n\n${'— a AAAAAAAA\n'.repeat(n)}`,
  'a body': (n) => `a\n1\n${'A'.repeat(43)}=\n${'x\n'.repeat(n)}`,
  ends: (n) => 'a\n\n— '.repeat(n),
};
const KEYS: Readonly<Record<string, (n: number) => string>> = {
  hex: (n) => 'a'.repeat(n),
  PEM: (n) => `-----BEGIN PUBLIC KEY-----\n${'AAAA\n'.repeat(n)}-----END PUBLIC KEY-----\n`,
  'open PEM': (n) => '-----BEGIN A'.repeat(n),
  JWK: (n) => `{"kty":"OKP","x":"${'A'.repeat(n)}"}`,
  'white space': (n) => `${' \n'.repeat(n)}x`,
};
const SIGNED: Readonly<Record<string, (n: number) => string>> = {
  signatures: (n) =>
    `{"payload":"e30","payloadType":"a","signatures":[${list(n, () => '{"protected":"e30","signature":"AA","sig":"AAAA","keyid":"a"}').join(',')}]}`,
  'a long payload': (n) => `{"payload":"${'AAAA'.repeat(n)}","payloadType":"a","signatures":[]}`,
  dots: (n) => 'e30.'.repeat(n),
  lines: (n) => '{"canon_version":"v1"}\n'.repeat(n),
};
const SNAPSHOTS: Readonly<Record<string, (n: number) => string>> = {
  references: (n) =>
    `{"staticHash":"x","toolRefs":[${list(n, (i) => `{"toolKey":"t${i}","toolHash":"x"}`).join(',')}]}`,
  'whole references': (n) =>
    `{"agentName":"a","profile":"khora","staticHash":"${HEX}","runtimeHash":"${HEX}","toolRefs":[${list(n, (i) => `{"toolKey":"t${i}","toolHash":"${HEX}"}`).join(',')}]}`,
};
const HEX = 'a'.repeat(64);

const each = <Input>(
  name: string,
  inputs: Readonly<Record<string, (n: number) => Input>>,
  read: (input: Input) => unknown,
  from?: number,
): Reader[] => Object.entries(inputs).map(([what, input]) => reader(`${name}: ${what}`, input, read, from));

const tool = (name: string, more: object = {}) =>
  JSON.stringify({ name, description: `The tool ${name}.`, inputSchema: { type: 'object' }, ...more });
/** What is recognised as a chain, or nearly. */
const CHAINS: Readonly<Record<string, (n: number) => string>> = {
  'empty lines': (n) => `{}${'\n'.repeat(n)}{}`,
  'records in lines': (n) => '{"signature":""}\n'.repeat(n),
  'a list of capsules': (n) => `{"capsules":[${list(n, () => '{"canonical":"","a":1}').join(',')}]}`,
  'a list that is broken': (n) => `{"capsules":[${'{},'.repeat(n)}`,
  'spaces in an array': (n) => `[${' '.repeat(n)}x`,
  'hex digits': (n) => `{"canon_version":"v1"}\n${'0'.repeat(n)}`,
};
const lockOf = (text: SurfaceText) => readLock(toUtf8(writeLock(surface(text), options).text));

/** The second half before the first: the same length, with differences everywhere. */
const turned = (text: string) => text.slice(text.length >> 1) + text.slice(0, text.length >> 1);

const lockWith = (n: number, more = '') =>
  lockOf({ tools: list(n, (i) => tool(`t${i}`, { description: `Reads ${i}.${more}` })) });
const surfaceWith = (n: number, more = '') =>
  surface({ tools: list(n, (i) => tool(`t${i}`, { description: `Reads ${i}.${more}` })) });
const schemaWith = (keyword: string) => (n: number) =>
  [`{"${keyword}":${members(n, () => '{"type":"string"}')}}`, `{"${keyword}":${members(n, () => '{}')}}`].map(
    (text) => parse(text),
  ) as [JsonValue, JsonValue];
const listedSchemas = (keyword: string) => (n: number) =>
  [1, 2].map((more) => parse(`{"${keyword}":[${list(n, (i) => `{"const":${i * more}}`).join(',')}]}`)) as [
    JsonValue,
    JsonValue,
  ];
const capsule = (extra: string) => toUtf8(`{"id":"x","hash":"","signature":"",${extra}}`);
const SALT = new Uint8Array(32);

const READERS: readonly Reader[] = [
  ...each('parse', DOCUMENTS, (text) => parse(text)),
  ...each(
    'parse, lenient',
    { ...DOCUMENTS, 'the same member': (n) => `{${list(n, () => '"a":1').join(',')}}` },
    (text) => parse(text, { allow: ['duplicate-keys', 'non-finite', 'lone-surrogates', 'bom'] }),
  ),
  ...each('parseStrictly', DOCUMENTS, (text) =>
    parseStrictly(text, { maxBytes: 1 << 30 }, 'EE_INVALID_JSON', 'It is not JSON'),
  ),
  ...each(
    'parsePointer',
    { steps: (n) => '/a'.repeat(n), escapes: (n) => `/${'~1~0'.repeat(n)}`, tildes: (n) => '~'.repeat(n) },
    parsePointer,
  ),
  ...each(
    'isDouble',
    { digits: (n) => '9'.repeat(n), zeros: (n) => `0.${'0'.repeat(n)}1`, points: (n) => `${'1.'.repeat(n)}` },
    isDouble,
  ),
  ...each(
    'parseDuration',
    { digits: (n) => '9'.repeat(n), parts: (n) => '1d'.repeat(n), points: (n) => '1.'.repeat(n) },
    parseDuration,
  ),
  ...each('parseWithSpans', DOCUMENTS, (text) => parseWithSpans(text)),
  ...each('stringify', DOCUMENTS, (text) => stringify(parse(text))),
  ...each('toPlain', DOCUMENTS, (text) => toPlain(parse(text))),
  ...Object.keys(profiles).flatMap((id) =>
    each(
      `canonicalize ${id}`,
      { members: DOCUMENTS.members!, numbers: DOCUMENTS['small numbers']! },
      (text) => canonicalize(parse(text), id as keyof typeof profiles),
    ),
  ),
  ...each('lint', DOCUMENTS, (text) => lint(parse(text))),
  ...each('commit', DOCUMENTS, (text) => commit('args', parse(text), SALT)),
  ...each('visible', TEXTS, (text) => visible(text)),
  ...each('visible, ordinary', TEXTS, (text) => visible(text, { ordinary: true })),
  ...each('safeText', TEXTS, safeText),
  ...each('inspectText', TEXTS, inspectText),
  ...each('skeleton', TEXTS, skeleton),
  ...each('normalized', TEXTS, (text) => normalized(text, 'NFKC')),
  ...each('mixedScript', TEXTS, mixedScript),
  ...each('references', TEXTS, references),
  ...each('markdownBlock', TEXTS, markdownBlock),
  // Beyond some differences it looks no further; below that, its work is their number times the length.
  ...each('wordDiff', TEXTS, (text) => wordDiff(text, turned(text)), 2000),
  ...['properties', 'patternProperties', '$defs', 'dependentSchemas'].flatMap((keyword) =>
    each('compareSchemas', { [keyword]: schemaWith(keyword) }, ([before, after]) =>
      compareSchemas(before, after),
    ),
  ),
  ...['anyOf', 'oneOf', 'allOf', 'prefixItems', 'enum'].flatMap((keyword) =>
    each('compareSchemas', { [keyword]: listedSchemas(keyword) }, ([before, after]) =>
      compareSchemas(before, after),
    ),
  ),
  reader('schemaFaults', schemaWith('patternProperties'), ([schema]) => schemaFaults(schema)),
  reader(
    'readLock',
    (n) => toUtf8(members(n, (i) => `{"a":${i}}`)),
    (bytes) => readLock(bytes),
  ),
  reader(
    'readLock, tools',
    (n) =>
      toUtf8(
        `{"version":"1.0","server_command":"x","tools":${members(n, () => '{"description_hash":"sha256:00","input_schema_hash":"sha256:00","risk_level":"LOW"}')}}`,
      ),
    (bytes) => readLock(bytes),
  ),
  reader(
    'drift, other texts',
    (n) => [lockWith(n), surfaceWith(n, ' More.')] as const,
    ([a, b]) => drift(a, b),
    20,
  ),
  reader(
    'drift, other tools',
    (n) => [lockWith(n), surface({ tools: list(n, (i) => tool(`u${i}`)) })] as const,
    ([a, b]) => drift(a, b),
    20,
  ),
  ...Object.entries({ driftText, driftJson, driftJunit, driftMarkdown, driftSarif }).map(([name, write]) =>
    reader(
      name,
      (n) => drift(lockWith(n), surfaceWith(n, ' More.')),
      (found) => write(found),
      20,
    ),
  ),
  ...Object.entries({
    readBundle,
    verifyBundle: (bytes: Uint8Array) => verifyBundle(bytes, [] as never),
  }).map(([name, read]) => reader(name, (n) => new Uint8Array(n * 100).fill(0x50), read)),
  reader(
    'verifyCapsule, members',
    (n) => capsule(`"a":${members(n, String)}`),
    (bytes) => verifyCapsule(bytes, { keys: [] }),
  ),
  reader(
    'validate',
    (n) => parse(`{"a":${members(n, String)}}`),
    (value) => validate(value),
  ),
  reader(
    'createChainVerifier',
    (n) => list(n, (i) => `{"id":"${i}","sequence":${i}}`),
    (records) => {
      const verifier = chainCheck({ keys: [] });
      for (const record of records) verifier.push(record);
      return verifier.finish();
    },
  ),
  ...each('readHashed', DOCUMENTS, (text) => readHashed(text)),
  ...each('verifyCanonical', DOCUMENTS, (canonical) =>
    verifyCanonical({ canonical, hash: '', signature: '' }, { keys: [] }),
  ),
  reader(
    'resolveFragment',
    (n) => `context${'/~1a'.repeat(n)}`,
    (fragment) => resolveFragment({}, fragment),
  ),
  reader('parseCapsuleUri', (n) => `capsule://sha3_${'a'.repeat(64)}#${'/a'.repeat(n)}`, parseCapsuleUri),
  reader('parseNote, text', (n) => `${'line\n'.repeat(n)}\n— a AAAAAAAA\n`, parseNote),
  reader('parseNote, signatures', (n) => `a\n\n${'— a AAAAAAAA\n'.repeat(n)}`, parseNote),
  ...each('parseCheckpointBody', { ...TEXTS, ...NOTES }, parseCheckpointBody),
  ...each('openNote', NOTES, (note) => openNote(note, [])),
  ...each('openCheckpoint', NOTES, (note) => openCheckpoint(note, [])),
  ...each('readAnchor', NOTES, (note) => readAnchor(note, { verifiers: [] } as never)),
  ...each('parseVkey', { ...TEXTS, names: (n) => `${'a+'.repeat(n)}00000000+AAAA` }, parseVkey),
  reader('parseProof', (n) => `c2sp.org/tlog-proof@v1\nindex 1\n${'AAAA\n'.repeat(n)}\nx\n`, parseProof),
  reader(
    'parseWitnessPolicy',
    (n) => toUtf8(list(n, (i) => `witness w${i} x+00+AA`).join('\n')),
    parseWitnessPolicy,
  ),
  ...each('openWith', { ...DOCUMENTS, ...NOTES }, (text) =>
    openWith(toUtf8('{}'), toUtf8(text), { keys: [], vkeys: [{ keyId: 0, name: '' } as never] }),
  ),
  ...each('recognise', { ...DOCUMENTS, ...NOTES, ...TEXTS, ...CHAINS }, (text) => recognise(toUtf8(text))),
  ...each('openBytes', { ...DOCUMENTS, ...CHAINS }, (text) => openBytes('x', toUtf8(text))),
  ...each('openText', CHAINS, (text) => {
    const [bytes, chunks] = [toUtf8(text), async function* () {}];
    openText({ name: 'x', start: text, size: bytes.length, chunks, whole: () => bytes });
  }),
  ...each('readEvidence', DOCUMENTS, (text) =>
    readEvidence(parse(`{"context":{"environment":{"bulla":${text}}}}`)),
  ),
  ...each('readFailure', TEXTS, (text) => readFailure(`policy: ${text}`)),
  ...each('detectKey', KEYS, detectKey),
  ...each('readPublicKey', KEYS, (text) => readPublicKey(text)),
  ...each('readPrivateKey', KEYS, (text) => readPrivateKey(text)),
  reader(
    'parsePolicy',
    (n) =>
      `name: a\nrules:\n${list(n, (i) => `  - name: r${i}\n    expr: size(tools) < ${i}\n    failure_msg: m\n`).join('')}`,
    (text) => parsePolicy(text),
    10,
  ),
  reader(
    'parsePolicy, one rule',
    (n) => `name: a\nrules:\n  - name: r\n    failure_msg: m\n    expr: "${'1 + '.repeat(n)}1 > 0"\n`,
    (text) => parsePolicy(text),
    20,
  ),
  reader(
    'parseEnvelope',
    (n) => `{"metadata":${members(n, String)}}`,
    (text) => parseEnvelope(text),
  ),
  reader(
    'parseBoundPolicy',
    (n) => `{"rules":[${list(n, () => '{}').join(',')}]}`,
    (text) => parseBoundPolicy(text),
  ),
  ...each('openAuthorization', SIGNED, (text) => openAuthorization(toUtf8(text), { keys: [] } as never)),
  ...each('readAuthorization', SIGNED, (text) => readAuthorization(toUtf8(text))),
  ...each('readApprovals', SIGNED, (text) => readApprovals(toUtf8(text))),
  ...each('readSignature', SIGNED, (text) => readSignature(toUtf8(text))),
  ...each('openDsse', SIGNED, (text) => openDsse(toUtf8(text), 'a', [] as never)),
  ...each('openAttested', SIGNED, (text) => openAttested(toUtf8('{}'), toUtf8(text), [] as never)),
  ...each('openSigned', SIGNED, (text) => openSigned(toUtf8('{}'), toUtf8(text), [] as never)),
  ...each('openNoted', NOTES, (text) => openNoted(toUtf8('{}'), toUtf8(text), [] as never)),
  ...each('readMapping', DOCUMENTS, (text) => readMapping(parse(text))),
  reader(
    'validateManifest',
    (n) =>
      manifestText((manifest) => {
        manifest.tools = list(n, (i) => `t${i}`).map((name) => toolOf(name));
      }),
    validateManifest,
    20,
  ),
  ...each(
    'validateManifest, the name of a tool',
    TEXTS,
    (text) =>
      validateManifest(
        manifestText((manifest) => {
          manifest.tools = [toolOf(text)];
        }),
      ),
    2000,
  ),
  ...each(
    'draftFromLock, the name of a tool',
    TEXTS,
    (name) => draftFromLock(lockOf({ tools: [tool(name)] }), 'files'),
    2000,
  ),
  reader(
    'diffManifests',
    (n) =>
      [
        manifestText((m) => {
          m.tools = list(n, (i) => `a${i}`).map((name) => toolOf(name));
        }),
        manifestText((m) => {
          m.tools = list(n, (i) => `b${i}`).map((name) => toolOf(name));
        }),
      ] as const,
    ([a, b]) => diffText(diffManifests(readManifest(a), readManifest(b))),
    10,
  ),
  ...each('readSnapshot', SNAPSHOTS, (text) => readSnapshot(toUtf8(text))),
  ...each('readCapabilityLink', SNAPSHOTS, (text) => readCapabilityLink(parse(text))),
  ...each('readEnvelope', SNAPSHOTS, (text) => readEnvelope(parse(text))),
  reader(
    'readBindings',
    (n) => `{${list(n, (i) => `"t${i}":{"server":"s","tool":"t${i}"}`).join(',')}}`,
    (text) =>
      readBindings(
        text,
        list(text.split('},').length, (i) => `t${i}`),
      ),
  ),
  ...each('readManifest', DOCUMENTS, (text) => readManifest(text)),
];

await printGrowth(READERS);
