import { JsonNumber, type JsonValue, type Member } from '../../json/index.ts';
import { checkExclusions, type Entry, type Exclusions, entryOf } from './entry.ts';
import { LOCK_PROFILES } from './hashes.ts';
import { readAuthorization, readIdentity } from './identity.ts';
import { definitionsOf, type Flag, flagsOf, type Native, SINGLES } from './native.ts';
import { inconsistent, located, readMap, strictly } from './reading.ts';
import { NATIVE_KEY } from './released.ts';
import { refuseRemoteSchemas } from './remote-ref.ts';
import type { LeftOut } from './selection.ts';
import { type Content, type Era, forLists, LIST_KINDS, LISTS, type ListKind } from './surface.ts';

const ERAS: readonly Era[] = ['stateless', 'initialize'];
const FIELDS = {
  required: [
    ...['format', 'profile', 'identity', 'authorization', 'era', 'protocolVersion', 'excluded'],
    ...[...SINGLES, ...LIST_KINDS, 'contents', 'flags'],
  ],
  optional: ['leftOut'],
};

/**
 * Reads our key and makes sure that it agrees with itself: each definition stands under its own name and has
 * the digest beside it, no schema points outside, and the flags are those that the definitions call for.
 * Throws with the path: `LOCK_VERSION`, `LOCK_FIELD`, `LOCK_CASE_TWIN`,
 * `LOCK_INCONSISTENT`, `LOCK_DEFINITION`, `LOCK_IDENTITY`, `LOCK_REMOTE_REF` and `CANON_NOT_FINITE`.
 */
export function readNative(value: JsonValue): Native {
  const record = strictly(value, [NATIVE_KEY]);
  const format = record.get('format');
  if (!(format.value instanceof JsonNumber)) throw format.wrongType('a number');
  const { lexeme } = format.value;
  if (lexeme !== '1') {
    const message = `Format ${lexeme} of our key is not one that this reader knows; it may be newer.`;
    throw format.error('LOCK_VERSION', message);
  }
  record.record(FIELDS);
  const excluded = readExclusions(record.get('excluded'));
  const single = (name: string) => readEntry(record.get(name), []);
  const list = (kind: ListKind) =>
    readMap(record.get(kind), (member, key) => {
      const entry = readEntry(member, excluded[kind]);
      if (member.get('definition').object().get(LISTS[kind]) !== key)
        throw inconsistent(member.at, 'stands under another name than its own');
      return entry;
    });
  const native: Native = {
    format: 1,
    profile: record.get('profile').word(LOCK_PROFILES),
    identity: readIdentity(record.get('identity')),
    authorization: readAuthorization(record.get('authorization')),
    era: record.get('era').word(ERAS),
    protocolVersion: record.get('protocolVersion').text(),
    excluded,
    serverInfo: single('serverInfo'),
    instructions: single('instructions'),
    capabilities: single('capabilities'),
    ...forLists(list),
    contents: readMap(record.get('contents'), readContent),
    flags: record.get('flags').list().map(readFlag),
    leftOut: record.optional('leftOut', readLeftOut) ?? new Map<string, LeftOut>(),
  };
  for (const name of ['serverInfo', 'capabilities'] as const) record.get(name).get('definition').object();
  const instructions = record.get('instructions').get('definition');
  if (instructions.value !== null && typeof instructions.value !== 'string')
    throw instructions.wrongType('a string or null');
  for (const name of native.leftOut.keys()) {
    if (native.tools.has(name)) throw inconsistent([NATIVE_KEY, 'leftOut', 'tools', name], 'is locked too');
  }
  refuseRemoteSchemas(definitionsOf(native, 'tools'));
  checkFlags(native);
  return native;
}

function readEntry(value: Member, exclusions: readonly string[]): Entry {
  const record = value.record({ required: ['digest', 'definition'], optional: ['sourceDigest'] });
  const definition = record.get('definition');
  const entry = located(definition.at, () => entryOf(definition.value!, exclusions));
  const stored = [record.get('digest').text(), record.object().get('sourceDigest') ?? null];
  if (stored[0] !== entry.digest || stored[1] !== entry.sourceDigest)
    throw inconsistent(record.at, 'does not have the digest beside it');
  return entry;
}

function readExclusions(value: Member): Exclusions {
  const record = value.record({ required: LIST_KINDS });
  return forLists((kind) => {
    const pointers = record.get(kind).texts();
    checkExclusions(kind, pointers);
    return pointers;
  });
}

const digestOf = (member: Member) =>
  member.fitting(
    (text) => /^sha256:[0-9a-f]{64}$/.test(text),
    'This must be sha256: and 64 lower-case hex digits.',
  );

function readLeftOut(value: Member): Map<string, LeftOut> {
  return readMap(value.record({ required: ['tools'] }).get('tools'), (member) => {
    const entry = member.record({ required: ['digest'], optional: ['sourceDigest'] });
    const sourceDigest = entry.optional('sourceDigest', digestOf);
    return { digest: digestOf(entry.get('digest')), sourceDigest };
  });
}

function readContent(value: Member, uri: string): Content {
  const record = value.record({ required: ['sha256', 'mimeType'], optional: ['meta'] });
  const isHash = (text: string) => /^[0-9a-f]{64}$/.test(text);
  return {
    uri,
    sha256: record.get('sha256').fitting(isHash, 'This must be 64 lower-case hex digits.'),
    mimeType: record.get('mimeType').orNull((type) => type.text()),
    ...record.maybe('meta', (meta) => meta.object()),
  };
}

function readFlag(value: Member): Flag {
  const record = value.record({ required: ['code', 'at', 'uri'] });
  return {
    code: record.get('code').word(['content-unpinned']),
    at: record.get('at').text(),
    uri: record.get('uri').text(),
  };
}

function checkFlags(native: Native): void {
  const text = ({ code, at, uri }: Flag) => JSON.stringify([code, at, uri]);
  const stored = new Set(native.flags.map(text));
  const called = flagsOf(native, native.contents).map(text);
  if (
    stored.size !== native.flags.length ||
    stored.size !== called.length ||
    !called.every((flag) => stored.has(flag))
  )
    throw inconsistent([NATIVE_KEY, 'flags'], 'is not what the definitions call for');
}
