import { BullaError, pointer } from '../../error.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../../json/index.ts';
import { checkExclusions, type Entry, type Exclusions, entryOf } from './entry.ts';
import {
  inconsistent,
  located,
  type Path,
  type Reading,
  readArray,
  readObject,
  readRecord,
  readText,
  readTextOrNull,
  readTexts,
  readWord,
  wrongType,
  wrongValue,
} from './fields.ts';
import { LOCK_PROFILES } from './hashes.ts';
import { readAuthorization, readIdentity } from './identity.ts';
import { definitionsOf, type Flag, flagsOf, type Native, refuseRemoteSchemas, SINGLES } from './native.ts';
import { NATIVE_KEY } from './released.ts';
import type { LeftOut } from './selection.ts';
import { type Content, type Era, LIST_KINDS, LISTS, type ListKind } from './surface.ts';

const ERAS: readonly Era[] = ['stateless', 'initialize'];
const FIELDS = {
  required: [
    ...['format', 'profile', 'identity', 'authorization', 'era', 'protocolVersion', 'excluded'],
    ...[...SINGLES, ...LIST_KINDS, 'contents', 'flags'],
  ],
  optional: ['leftOut'],
};
const STRICT: Reading = { lenient: false, ignored: [] };

/**
 * Reads our key and makes sure that it agrees with itself: each definition stands under its own name and has
 * the digest beside it, no schema points outside, and the flags are those that the definitions call for.
 * Throws with the path: `LOCK_VERSION`, the `LOCK_FIELD_…` codes, `LOCK_CASE_TWIN`,
 * `LOCK_INCONSISTENT`, `LOCK_DEFINITION`, `LOCK_IDENTITY`, `LOCK_REMOTE_REF` and `CANON_NOT_FINITE`.
 */
export function readNative(value: JsonValue): Native {
  const at = [NATIVE_KEY];
  const format = readObject(value, at).get('format');
  if (!(format instanceof JsonNumber)) throw wrongType([...at, 'format'], 'a number');
  if (format.lexeme !== '1') {
    const message = `Format ${format.lexeme} of our key is not one that this reader knows; it may be newer.`;
    throw new BullaError('LOCK_VERSION', message, { path: pointer([...at, 'format']) });
  }
  const record = readRecord(value, at, FIELDS, STRICT);
  const excluded = readExclusions(record.get('excluded'), [...at, 'excluded']);
  const single = (name: string) => readEntry(record.get(name), [...at, name], []);
  const list = (kind: ListKind) => {
    const entries = [...readObject(record.get(kind), [...at, kind])].map(
      ([key, element]): [string, Entry] => {
        const place = [...at, kind, key];
        const entry = readEntry(element, place, excluded[kind]);
        const definition = readObject(entry.definition, [...place, 'definition']);
        if (definition.get(LISTS[kind]) !== key)
          throw inconsistent(place, 'stands under another name than its own');
        return [key, entry];
      },
    );
    return new Map(entries);
  };
  const native: Native = {
    format: 1,
    profile: readWord(record, 'profile', at, LOCK_PROFILES),
    identity: readIdentity(record.get('identity'), [...at, 'identity'], STRICT),
    authorization: readAuthorization(record.get('authorization'), [...at, 'authorization'], STRICT),
    era: readWord(record, 'era', at, ERAS),
    protocolVersion: readText(record, 'protocolVersion', at),
    excluded,
    serverInfo: single('serverInfo'),
    instructions: single('instructions'),
    capabilities: single('capabilities'),
    tools: list('tools'),
    prompts: list('prompts'),
    resources: list('resources'),
    resourceTemplates: list('resourceTemplates'),
    contents: readContents(record.get('contents'), [...at, 'contents']),
    flags: readFlags(record.get('flags'), [...at, 'flags']),
    leftOut: record.has('leftOut')
      ? readLeftOut(record.get('leftOut'), [...at, 'leftOut'])
      : new Map<string, LeftOut>(),
  };
  for (const name of ['serverInfo', 'capabilities'] as const)
    readObject(native[name].definition, [...at, name, 'definition']);
  const instructions = native.instructions.definition;
  if (instructions !== null && typeof instructions !== 'string')
    throw wrongType([...at, 'instructions', 'definition'], 'a string or null');
  for (const name of native.leftOut.keys()) {
    if (native.tools.has(name)) throw inconsistent([...at, 'leftOut', 'tools', name], 'is locked too');
  }
  refuseRemoteSchemas(definitionsOf(native, 'tools'));
  checkFlags(native);
  return native;
}

function readEntry(value: JsonValue | undefined, at: Path, exclusions: readonly string[]): Entry {
  const fields = { required: ['digest', 'definition'], optional: ['sourceDigest'] };
  const record = readRecord(value, at, fields, STRICT);
  const entry = located([...at, 'definition'], () => entryOf(record.get('definition')!, exclusions));
  const stored = [readText(record, 'digest', at), record.get('sourceDigest') ?? null];
  if (stored[0] !== entry.digest || stored[1] !== entry.sourceDigest)
    throw inconsistent(at, 'does not have the digest beside it');
  return entry;
}

function readExclusions(value: JsonValue | undefined, at: Path): Exclusions {
  const record = readRecord(value, at, { required: LIST_KINDS }, STRICT);
  const list = (kind: ListKind) => {
    const pointers = readTexts(record.get(kind), [...at, kind]);
    checkExclusions(kind, pointers);
    return pointers;
  };
  return {
    tools: list('tools'),
    prompts: list('prompts'),
    resources: list('resources'),
    resourceTemplates: list('resourceTemplates'),
  };
}

function readLeftOut(value: JsonValue | undefined, at: Path): Map<string, LeftOut> {
  const record = readRecord(value, at, { required: ['tools'] }, STRICT);
  const place = [...at, 'tools'];
  const digestAt = (entry: JsonObject, key: string, where: Path) => {
    const text = readText(entry, key, where);
    if (!/^sha256:[0-9a-f]{64}$/.test(text))
      throw wrongValue([...where, key], 'This must be sha256: and 64 lower-case hex digits.');
    return text;
  };
  const entries = [...readObject(record.get('tools'), place)].map(([name, element]): [string, LeftOut] => {
    const where = [...place, name];
    const fields = { required: ['digest'], optional: ['sourceDigest'] };
    const entry = readRecord(element, where, fields, STRICT);
    const sourceDigest = entry.has('sourceDigest') ? digestAt(entry, 'sourceDigest', where) : null;
    return [name, { digest: digestAt(entry, 'digest', where), sourceDigest }];
  });
  return new Map(entries);
}

function readContents(value: JsonValue | undefined, at: Path): Map<string, Content> {
  const contents = new Map<string, Content>();
  for (const [uri, element] of readObject(value, at)) {
    const place = [...at, uri];
    const record = readRecord(
      element,
      place,
      { required: ['sha256', 'mimeType'], optional: ['meta'] },
      STRICT,
    );
    const sha256 = readText(record, 'sha256', place);
    if (!/^[0-9a-f]{64}$/.test(sha256))
      throw wrongValue([...place, 'sha256'], 'This must be 64 lower-case hex digits.');
    const mimeType = readTextOrNull(record, 'mimeType', place);
    const meta = record.has('meta') ? { meta: readObject(record.get('meta'), [...place, 'meta']) } : {};
    contents.set(uri, { uri, sha256, mimeType, ...meta });
  }
  return contents;
}

function readFlags(value: JsonValue | undefined, at: Path): Flag[] {
  return readArray(value, at).map((element, i) => {
    const record = readRecord(element, [...at, i], { required: ['code', 'at', 'uri'] }, STRICT);
    return {
      code: readWord(record, 'code', [...at, i], ['content-unpinned']),
      at: readText(record, 'at', [...at, i]),
      uri: readText(record, 'uri', [...at, i]),
    };
  });
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
