import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { object, options, refusal, surface, utf8, whole } from '../../../test/surface.ts';
import { JsonNumber, JsonObject, type JsonValue, parse, stringify } from '../../json/index.ts';
import { type Authorization, entryOf, lockDigest, readLock, surfaceOf, writeLock } from '../index.ts';

const native = writeLock(whole, options).text;
const read = (text: string) => readLock(utf8(text));
const v2 = (members: string) => `{"version":"2.0","server_command":"s",${members}}`;
const v3 = ({
  meta = '{"generator":"g","updatedAt":"t"}',
  server = '{"name":"s"}',
  prompts = '{}',
  templates = '[]',
  tools = '{}',
  more = '',
}) =>
  `{"lockFileVersion":"3.0","meta":${meta},"server":${server},"prompts":{"definitions":${prompts}},"resources":{"templates":${templates}},"tools":${tools}${more}}`;
const TOOL = '{"description_hash":"a","input_schema_hash":"","risk_level":"LOW"}';

describe('which version a file is', () => {
  test.each([
    ['{}', 'LOCK_VERSION'],
    ['{"version":""}', 'LOCK_VERSION'],
    ['{"version":2.0}', 'LOCK_VERSION'],
    ['{"lockfileVersion":3}', 'LOCK_VERSION'],
    ['{"version":"2.0","lockFileVersion":"3.0"}', 'LOCK_VERSION /version'],
    ['{"lockFileVersion":"3.1"}', 'LOCK_VERSION_NEWER /lockFileVersion'],
    ['{"lockFileVersion":"4.0"}', 'LOCK_VERSION_NEWER /lockFileVersion'],
    ['{"version":"2.1"}', 'LOCK_VERSION_NEWER /version'],
    ['{"version":"12.0"}', 'LOCK_VERSION_NEWER /version'],
    ['{"version":"3.0"}', 'LOCK_VERSION /version'],
    ['{"lockFileVersion":"2.0"}', 'LOCK_VERSION /lockFileVersion'],
    ['{"version":"1"}', 'LOCK_VERSION /version'],
    ['{"version":"1.0.0"}', 'LOCK_VERSION /version'],
    ['[]', 'LOCK_FIELD '],
    ['null', 'LOCK_FIELD '],
  ])('%s: %s', (text, expected) => {
    expect(refusal(() => read(text))).toBe(expected);
  });
});

describe('what is not exactly a lock is refused', () => {
  test.each([
    [v2('"tools":{}'), 'ok'],
    [v2(`"tools":{"a":${TOOL}}`), 'ok'],
    [v2('"tools":null'), 'LOCK_FIELD /tools'],
    [v2('"tools":[]'), 'LOCK_FIELD /tools'],
    [v2('"artifact":{"type":"npm"},"tools":{}'), 'ok'],
    [v2('"artifact":{},"tools":{}'), 'LOCK_FIELD /artifact/type'],
    [v2('"artifact":{"type":"pip"},"tools":{}'), 'LOCK_FIELD /artifact/type'],
    [v2('"artifact":{"type":"npm","tarball_size":1e3},"tools":{}'), 'LOCK_FIELD /artifact/tarball_size'],
    [v2('"artifact":{"type":"npm","provenance":{}},"tools":{}'), 'LOCK_FIELD /artifact/provenance/verified'],
    [v2('"artifact":{"type":"npm","Type":"oci"},"tools":{}'), 'LOCK_CASE_TWIN /artifact/Type'],
    ['{"version":"1.0","server_command":"s","artifact":{"type":"npm"},"tools":{}}', 'LOCK_FIELD /artifact'],
    [
      '{"version":"1.0","server_command":"s","Artifact":{"type":"npm"},"tools":{}}',
      'LOCK_CASE_TWIN /Artifact',
    ],
    ['{"version":"2.0","tools":{}}', 'LOCK_FIELD /server_command'],
    ['{"version":"2.0","server_command":7,"tools":{}}', 'LOCK_FIELD /server_command'],
    [v2('"tools":{},"bulla":{}'), 'LOCK_FIELD /bulla'],
    [v2('"tools":{},"TOOLS":{}'), 'LOCK_CASE_TWIN /TOOLS'],
    [v2('"tools":{},"tool\u017f":{}'), 'LOCK_CASE_TWIN /tool\u017f'],
    [v2('"tools":{},"LockFileVersion":"3.0"'), 'LOCK_CASE_TWIN /LockFileVersion'],
    [v2('"tools":{},"tools":{}'), 'JSON_DUPLICATE_KEY'],
    [v2('"tools":{},"\\u0074ools":{}'), 'JSON_DUPLICATE_KEY'],
    [v2('"tools":{"a":{"description_hash":"","input_schema_hash":""}}'), 'LOCK_FIELD /tools/a/risk_level'],
    [v2(`"tools":{"a":${TOOL.replace('LOW', 'low')}}`), 'LOCK_FIELD /tools/a/risk_level'],
    [v2(`"tools":{"a":${TOOL.replace('LOW', '')}}`), 'LOCK_FIELD /tools/a/risk_level'],
    [v2(`"tools":{"a":${TOOL.replace('"a"', 'null')}}`), 'LOCK_FIELD /tools/a/description_hash'],
    [v2(`"tools":{"a/b":${TOOL.replace('risk', 'Risk')}}`), 'LOCK_CASE_TWIN /tools/a~1b/Risk_level'],
    [`${v2('"tools":{}')} {}`, 'JSON_TRAILING_DATA'],
    [`\ufeff${v2('"tools":{}')}`, 'JSON_BOM'],
    [v3({}), 'ok'],
    [v3({ more: ',"version":"2.0"' }), 'LOCK_VERSION /version'],
    [v3({ more: ',"extra":1' }), 'LOCK_FIELD /extra'],
    [v3({ more: ',"Bulla":{}' }), 'LOCK_CASE_TWIN /Bulla'],
    [v3({ more: ',"Server_Command":"x"' }), 'LOCK_CASE_TWIN /Server_Command'],
    [v3({ meta: '{"generator":"g"}' }), 'LOCK_FIELD /meta/updatedAt'],
    [v3({ server: '{"name":"s","version":"1"}' }), 'LOCK_FIELD /server/version'],
    [v3({ server: '{"name":null}' }), 'LOCK_FIELD /server/name'],
    [v3({ prompts: '{"p":{}}' }), 'LOCK_FIELD /prompts/definitions/p/argumentsHash'],
    [v3({ prompts: '{"p":{"argumentsHash":"a","titleHash":"t"}}' }), 'ok'],
    [v3({ prompts: '[]' }), 'LOCK_FIELD /prompts/definitions'],
    [v3({ templates: '[{"uriTemplate":"x"}]' }), 'LOCK_FIELD /resources/templates/0/templateHash'],
    [
      v3({ templates: '[{"uriTemplate":"x","templateHash":"h"},{"uriTemplate":"x","templateHash":"i"}]' }),
      'LOCK_DUPLICATE /resources/templates/1',
    ],
    [v3({ templates: 'null' }), 'LOCK_FIELD /resources/templates'],
    [v3({ more: ',"bulla":{"format":2}' }), 'LOCK_VERSION /bulla/format'],
    [v3({ more: ',"bulla":{"format":"1"}' }), 'LOCK_FIELD /bulla/format'],
    [v3({ more: ',"bulla":{"format":1}' }), 'LOCK_FIELD /bulla/profile'],
    [v3({ more: ',"Tools":{}' }), 'LOCK_CASE_TWIN /Tools'],
    [v3({ more: ',"bulla":null' }), 'LOCK_FIELD /bulla'],
    [native.replace('"format": 1,', '"format": 1, "new": 1,'), 'LOCK_FIELD /bulla/new'],
  ])('%s: %s', (text, expected) => {
    expect(refusal(() => read(text))).toBe(expected);
  });
});

test('a file without our key does not say its number rule; ours does', () => {
  expect(read(v3({})).profiles).toEqual(['mcptrust-v1', 'mcptrust-v1-go']);
  expect(read(native).profiles).toEqual(['mcptrust-v1']);
  expect(read(writeLock(whole, { ...options, compatGo: true }).text).profiles).toEqual(['mcptrust-v1-go']);
});

describe('our own key', () => {
  const lock = read(native);

  test('gives the surface back without loss', () => {
    const back = surfaceOf(lock.native!);
    const sorted = (list: readonly JsonObject[], key: string) =>
      list.toSorted((a, b) => ((a.get(key) as string) < (b.get(key) as string) ? -1 : 1));
    expect(back).toEqual({
      ...whole,
      tools: sorted(whole.tools, 'name'),
      resources: sorted(whole.resources, 'uri'),
    });
    expect(stringify(back.tools[1])).toContain('"maximum":18446744073709551615');
    expect(writeLock(back, options).text).toBe(native);
  });

  test('gives address, rights and the policy of a page back', () => {
    const meta = object('{"ui":{"csp":{"connectDomains":["https://x.example"]},"n":1.50}}');
    const content = { uri: 'ui://p', sha256: '0f'.repeat(32), mimeType: null, meta };
    const scanned = { ...surface({ contents: [content] }), era: 'stateless' as const };
    const identity = { transport: 'http', url: 'https://mcp.example/mcp' } as const;
    const authorization: Authorization = {
      scheme: 'oauth',
      issuer: 'https://id.example',
      subject: 'user-1',
      scopes: ['read', 'write'],
      headers: ['X-Tenant'],
    };
    const back = read(writeLock(scanned, { ...options, identity, authorization }).text).native!;
    expect([back.identity, back.authorization]).toEqual([identity, authorization]);
    expect(surfaceOf(back)).toEqual(scanned);
  });

  test('pins the definition whole, and a number with too many digits by its digits', () => {
    const { add, big } = Object.fromEntries(lock.native!.tools);
    expect(add!.sourceDigest).toBeNull();
    expect(add!.digest).toBe(entryOf(object(stringify(add!.definition).replace('1.0', '1'))).digest);
    expect(big!.sourceDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
    const near = entryOf(object(stringify(big!.definition).replace('615', '616')));
    expect([near.digest === big!.digest, near.sourceDigest === big!.sourceDigest]).toEqual([true, false]);
  });

  test('leaves out of a digest only what it says', () => {
    const digestOf = (text: string, excluded: string[]) => entryOf(object(text), excluded).digest;
    const excluded = ['/annotations/lastModified', '/size'];
    const one = '{"uri":"u","size":1,"annotations":{"lastModified":"x","audience":[]}}';
    expect(digestOf(one, excluded)).toBe(digestOf('{"annotations":{"audience":[]},"uri":"u"}', []));
    expect(digestOf('{"uri":"u","x":{"size":1}}', excluded)).toBe(digestOf('{"uri":"u","x":{"size":1}}', []));
    expect(digestOf('{"a/b":{"~":1,"c":2}}', ['/a~1b/~0'])).toBe(digestOf('{"a/b":{"c":2}}', []));
    expect(digestOf('{"a":[1]}', ['/a/0'])).toBe(digestOf('{"a":[1]}', []));
  });

  test('flags what could not be pinned', () => {
    expect(lock.native!.flags).toEqual([
      { code: 'content-unpinned', at: '/serverInfo/icons/0/src', uri: 'https://s.example/i.png' },
    ]);
    const icons =
      '{"name":"t","icons":[{"src":"data:image/png;base64,AA"},{"src":"/i.png"}],"_meta":{"openai/outputTemplate":"ui://w","src":"x"}}';
    const flagged = read(writeLock(surface({ tools: [icons] }), options).text).native!.flags;
    expect(flagged.map(({ at, uri }) => [at, uri])).toEqual([
      ['/tools/t/_meta/openai~1outputTemplate', 'ui://w'],
      ['/tools/t/icons/1/src', '/i.png'],
    ]);
  });

  test('is named by a digest that survives another order and indentation, and nothing else', () => {
    const compact = stringify(reversed(lock.document));
    expect(read(compact).sha256).not.toBe(lock.sha256);
    expect(lockDigest(read(compact))).toBe(lockDigest(lock));
    expect(lockDigest(lock)).toBe('sha256:05e8668b59d69139d390df84ae30a5e4b56b3882768c8e7fcff6d39dbccc62d4');
    expect(lockDigest(read(native.replace('03:04:05Z', '03:04:06Z')))).not.toBe(lockDigest(lock));
  });
});

/** The same value with the keys of every object in the opposite order. */
function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed);
  if (!(value instanceof JsonObject)) return value;
  return JsonObject.from([...value].toReversed().map(([key, member]) => [key, reversed(member)]));
}

describe('a lock that contradicts itself', () => {
  /** Every place below the root, with the values that stand there. */
  function places(root: JsonValue): { path: (string | number)[]; value: JsonValue }[] {
    const below = (
      value: JsonValue,
      path: (string | number)[],
    ): { path: (string | number)[]; value: JsonValue }[] => {
      const members: [string | number, JsonValue][] =
        value instanceof JsonObject ? [...value] : Array.isArray(value) ? [...value.entries()] : [];
      return members.flatMap(([key, member]) => [
        { path: [...path, key], value: member },
        ...below(member, [...path, key]),
      ]);
    };
    return below(root, []);
  }

  /** The document with one place changed by `change`, or left out when that gives undefined. */
  function edited(
    value: JsonValue,
    [key, ...rest]: (string | number)[],
    change: (old: JsonValue) => JsonValue | undefined,
  ): JsonValue {
    const next = (old: JsonValue) => (rest.length === 0 ? change(old) : edited(old, rest, change));
    const members: [string | number, JsonValue][] =
      value instanceof JsonObject ? [...value] : [...(value as JsonValue[]).entries()];
    const kept = members.flatMap(([name, member]) => {
      const changed = name === key ? next(member) : member;
      return changed === undefined ? [] : [[name, changed] as [string, JsonValue]];
    });
    return value instanceof JsonObject ? JsonObject.from(kept) : kept.map(([, member]) => member);
  }

  const document = parse(native);
  const all = places(document);
  const survives = (place: (string | number)[], change: (old: JsonValue) => JsonValue | undefined) =>
    refusal(() => read(stringify(edited(document, place, change)))) === 'ok';

  // What a lock says and cannot check against itself: who, when, how, and what lies behind an address. It is
  // for the signature to hold these; and that our key, or a resource, is there at all.
  const A = '/bulla/resources/file:~1~1~1a';
  const name = (path: (string | number)[]) =>
    path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

  test('is refused, whichever string, number or word of it is changed', () => {
    const changed = all.filter(({ value }) => !(value instanceof JsonObject) && !Array.isArray(value));
    const passed = changed.filter(({ path }) =>
      survives(path, (old) => {
        if (typeof old === 'string') return `${old}x`;
        if (old instanceof JsonNumber) return new JsonNumber(`${old.lexeme}1`);
        return old === null ? 'x' : !old;
      }),
    );
    expect(passed.map(({ path }) => name(path))).toEqual([
      ...['/meta/generator', '/meta/updatedAt', '/bulla/identity/command', '/bulla/identity/args/0'],
      ...['/bulla/identity/args/1', '/bulla/identity/env/0', '/bulla/identity/env/1'],
      ...['/bulla/authorization/issuer', '/bulla/authorization/subject', '/bulla/protocolVersion'],
      // No template has the member that is excluded, so excluding another changes nothing.
      '/bulla/excluded/resourceTemplates/0',
      ...[`${A}/definition/size`, `${A}/definition/annotations/lastModified`],
      '/bulla/contents/ui:~1~1file~1view/mimeType',
    ]);
    expect(changed.length).toBe(92);
  });

  test('is refused, whichever part of it is left out', () => {
    const passed = all.filter(({ path }) => survives(path, () => undefined)).map(({ path }) => name(path));
    expect(passed).toEqual([
      ...['/bulla', '/bulla/identity/args/0', '/bulla/identity/args/1', '/bulla/identity/env/0'],
      ...['/bulla/identity/env/1', '/bulla/excluded/resourceTemplates/0', A],
      ...[`${A}/definition/size`, `${A}/definition/annotations/lastModified`],
      '/bulla/resources/ui:~1~1file~1view',
    ]);
  });
});

describe('any surface', { timeout: 120_000 * inject('soak') }, () => {
  const lexeme = fc.constantFrom(
    '0',
    '-0',
    '1.0',
    '1e2',
    '1E-7',
    '12345678901234567890',
    '0.1000',
    '1e300',
    '5e-324',
    '-7',
  );
  const scalar = fc.oneof(
    lexeme,
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.constantFrom('null', 'true'),
  );
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(' , ')}]`),
      fc
        .uniqueArray(fc.tuple(fc.string({ unit: 'binary', maxLength: 4 }), tie('value')), {
          selector: ([key]) => key,
          maxLength: 4,
        })
        .map(
          (members) => `{${members.map(([key, member]) => `${JSON.stringify(key)}:${member}`).join(',')}}`,
        ),
    ),
  }));
  const names = fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), { maxLength: 4 });
  const text = fc.string({ unit: 'binary' });
  const definitions = (key: string) =>
    names.chain((list) =>
      fc.tuple(
        ...list.map((item) =>
          fc
            .tuple(text, value)
            .map(
              ([description, x]) =>
                `{"${key}":${JSON.stringify(item)},"description":${JSON.stringify(description)},"x":${x},"inputSchema":{"y":${x}}}`,
            ),
        ),
      ),
    );
  const any = fc.record({
    serverInfo: value.map((x) => `{"x":${x}}`),
    instructions: fc.option(text),
    tools: definitions('name'),
    prompts: definitions('name'),
    resources: definitions('uri'),
    resourceTemplates: definitions('uriTemplate'),
  });

  test('is locked, read back without loss, and written again to the same bytes', () => {
    fc.assert(
      fc.property(any, fc.boolean(), (given, compatGo) => {
        const scanned = surface(given);
        const { text: written } = writeLock(scanned, { ...options, compatGo });
        const back = surfaceOf(read(written).native!);
        expect(new Set(back.tools.map((tool) => stringify(tool)))).toEqual(
          new Set(scanned.tools.map((tool) => stringify(tool))),
        );
        expect(writeLock(back, { ...options, compatGo }).text).toBe(written);
      }),
      { numRuns: 100 * inject('soak') },
    );
  });
});
