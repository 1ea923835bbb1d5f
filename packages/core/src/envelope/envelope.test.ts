import { describe, expect, test } from 'vitest';
import { hasVectors, readBytes } from '#test-files';
import { envelope, envelopeJson, fields, type Json, type JsonRecord, refusal } from '../../test/envelope.ts';
import { toUtf8 } from '../crypto/index.ts';
import type { BullaError } from '../error.ts';
import { JsonObject } from '../json/index.ts';
import { createEnvelope, explainEnvelope, parseEnvelope, writeEnvelope } from './index.ts';

const sample = JSON.stringify(fields);

/** The sample with the value at a path replaced, or removed where it is undefined. */
function changed(path: string, value: Json | undefined): string {
  const root = envelopeJson();
  const keys = path.slice(1).split('/');
  const last = keys.pop()!;
  const holder = keys.reduce((node, key) => node[key] as JsonRecord, root);
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return JSON.stringify(root);
}

/** The sample with a piece of its text replaced. */
function spliced(from: string, to: string): string {
  expect(sample.split(from).length).toBe(2);
  return sample.replace(from, to);
}

const refused = (text: string) => refusal(() => parseEnvelope(text));

describe('an envelope', () => {
  test('is read from text or bytes, in any order and indentation', () => {
    expect(envelope.target).toEqual(fields.target);
    expect(envelope.metadata).toBeInstanceOf(JsonObject);
    expect(envelope.metadata.get('note')).toBe('rent');
    const reversed = Object.fromEntries(Object.entries(fields).reverse());
    expect(parseEnvelope(toUtf8(JSON.stringify(reversed, null, 2)))).toEqual(envelope);
  });

  test('is written so that it can be read back', () => {
    expect(parseEnvelope(writeEnvelope(envelope))).toEqual(envelope);
    const exact = spliced('"note":"rent"', '"note":12345678901234567890.10');
    expect(writeEnvelope(parseEnvelope(exact))).toContain('"note":12345678901234567890.10');
  });

  test('cannot be changed', () => {
    const open = envelope as unknown as { version: number; target: { amount: string } };
    expect(() => {
      open.version = 2;
    }).toThrow(TypeError);
    expect(() => {
      open.target.amount = '2';
    }).toThrow(TypeError);
  });

  test('made from values is held to the same rules', () => {
    const wrong = { ...fields, target: { ...fields.target, decimals: 1.5 } };
    expect(refusal(() => createEnvelope(wrong))).toEqual([
      'EE_SCHEMA_INVALID',
      '/target/decimals',
      'A number here has plain digits, without a point or an exponent.',
    ]);
    const missing = { ...fields, rail: undefined } as unknown as typeof fields;
    expect(refusal(() => createEnvelope(missing))).toEqual([
      'VALUE_NOT_JSON',
      '/rail',
      'undefined has no JSON form.',
    ]);
  });
});

describe.skipIf(!hasVectors)('the published envelopes', () => {
  test.each(['001', '002'])('%s is read', async (number) => {
    const read = parseEnvelope(await readBytes(`envelope/envelope-${number}.json`));
    expect(read.intent_id).toBe(`intent_${number}`);
  });
});

describe('EE_INVALID_JSON', () => {
  const not = (reason: string) => `The envelope is not strict JSON: ${reason}`;
  test.each([
    [
      'a leading zero',
      '"nonce":7',
      '"nonce":07',
      '/constraints/nonce',
      'A number must not have leading zeros.',
    ],
    [
      'a bare point',
      '"nonce":7',
      '"nonce":7.',
      '/constraints/nonce',
      'A decimal point must be followed by a digit.',
    ],
    ['a plus sign', '"nonce":7', '"nonce":+7', '/constraints/nonce', 'A value was expected here.'],
    ['NaN', '"nonce":7', '"nonce":NaN', '/constraints/nonce', 'A value was expected here.'],
    [
      'a duplicate key',
      '"decimals":6',
      '"decimals":6,"to":"0x3"',
      '/target/to',
      'The key "to" occurs twice in one object.',
    ],
    [
      'a duplicate key in another spelling',
      '"decimals":6',
      '"decimals":6,"\\u0074o":"0x3"',
      '/target/to',
      'The key "to" occurs twice in one object.',
    ],
    [
      'a duplicate key in the metadata',
      '"note":"rent"',
      '"a/b":[1,{"k":1,"k":2}]',
      '/metadata/a~1b/1/k',
      'The key "k" occurs twice in one object.',
    ],
    ['a bad escape', '"rent"', '"\\x"', '/metadata/note', 'This escape is not one that JSON knows.'],
    [
      'half of a surrogate pair',
      '"rent"',
      '"\\ud800"',
      '/metadata/note',
      'The escape stands for half of a surrogate pair.',
    ],
    [
      'a missing comma',
      '"asset_class":1,',
      '"asset_class":1 ',
      '/target/asset_class',
      'A comma or } was expected here.',
    ],
    [
      'a missing colon',
      '"nonce":7',
      '"nonce" 7',
      '/constraints/nonce',
      'A colon was expected after the key.',
    ],
    [
      'a key without quotes',
      '"nonce":7',
      'nonce:7',
      '/constraints',
      'A key in double quotes was expected here.',
    ],
    [
      'a bad escape in a key',
      '"nonce":7',
      '"n\\x":7',
      '/constraints',
      'This escape is not one that JSON knows.',
    ],
  ])('%s', (_, from, to, path, reason) => {
    expect(refused(spliced(from, to))).toEqual(['EE_INVALID_JSON', path, not(reason)]);
  });

  test('is told with the offset in bytes, and the cause', () => {
    const text = spliced('"note":"rent"', '"é":01');
    try {
      parseEnvelope(text);
      expect.unreachable();
    } catch (error) {
      expect((error as BullaError).offset).toBe(toUtf8(text.slice(0, text.indexOf('01'))).length);
      expect(((error as BullaError).cause as BullaError).code).toBe('JSON_BAD_NUMBER');
      expect((error as BullaError).path).toBe('/metadata/é');
    }
  });

  test('for a text that cannot be read at all, without a path', () => {
    expect(refused('')).toEqual(['EE_INVALID_JSON', '', not('A value was expected here.')]);
    expect(refused(`${sample} x`)).toEqual([
      'EE_INVALID_JSON',
      '',
      not('There is more text after the value.'),
    ]);
    expect(refused(`\ufeff${sample}`)).toEqual([
      'EE_INVALID_JSON',
      undefined,
      not('The text begins with a byte order mark.'),
    ]);
    expect(refused(`${sample}\ud800`)).toEqual([
      'EE_INVALID_JSON',
      undefined,
      not('The text holds half of a surrogate pair.'),
    ]);
    expect(refusal(() => parseEnvelope(Uint8Array.of(0x22, 0xff)))).toEqual([
      'EE_INVALID_JSON',
      undefined,
      not('The text is not valid UTF-8.'),
    ]);
    expect(refusal(() => parseEnvelope(sample, { maxBytes: 100 }))).toEqual([
      'EE_INVALID_JSON',
      undefined,
      not('The text is longer than 100 bytes.'),
    ]);
    const large = spliced('rent', 'x'.repeat(1 << 20));
    expect(refused(large)).toEqual([
      'EE_INVALID_JSON',
      undefined,
      not('The text is longer than 1048576 bytes.'),
    ]);
  });

  test('for nesting over the limit, without overflowing', () => {
    const deep = spliced('"rent"', '['.repeat(200_000));
    expect(refused(deep)).toEqual([
      'EE_INVALID_JSON',
      `/metadata/note${'/0'.repeat(998)}`,
      not('The nesting is deeper than 1000.'),
    ]);
  });
});

describe('EE_UNKNOWN_FIELD and EE_MISSING_FIELD', () => {
  test.each(['', '/rail', '/actor', '/target', '/constraints', '/policy_binding'])(
    'a field too many in "%s"',
    (path) => {
      const at = `${path}/Extra~field`;
      expect(refused(changed(`${path}/Extra~field`, 1))).toEqual([
        'EE_UNKNOWN_FIELD',
        at.replace('~', '~0'),
        'There is no field "Extra~field" here.',
      ]);
    },
  );

  test('a long unknown field is cut in the sentence', () => {
    expect(refused(changed(`/${'k'.repeat(70)}`, 1))[2]).toBe(`There is no field "${'k'.repeat(64)}…" here.`);
  });

  test('a field in other case is unknown', () => {
    expect(refused(spliced('"tenant_id"', '"Tenant_id"'))).toEqual([
      'EE_UNKNOWN_FIELD',
      '/Tenant_id',
      'There is no field "Tenant_id" here.',
    ]);
  });

  test('__proto__ is a field like any other', () => {
    expect(refused(spliced('"version":1', '"version":1,"__proto__":{}'))).toEqual([
      'EE_UNKNOWN_FIELD',
      '/__proto__',
      'There is no field "__proto__" here.',
    ]);
  });

  test('metadata may hold anything', () => {
    expect(refused(spliced('"note":"rent"', '"__proto__":{"polluted":1}'))).toBe('nothing');
    expect(refused(spliced('"note":"rent"', '"version":1e999,"a":-0.0'))).toBe('nothing');
  });

  const all = Object.entries(fields).flatMap(([name, value]) =>
    typeof value === 'object' && name !== 'metadata'
      ? [`/${name}`, ...Object.keys(value).map((inner) => `/${name}/${inner}`)]
      : [`/${name}`],
  );
  const nullable = ['/rail/chain_id', '/rail/contract', '/actor/role', '/target/asset_class'];

  test.each([...all, '/metadata/created_at'])('%s missing', (path) => {
    const name = path.split('/').at(-1);
    const hint = nullable.includes(path) ? '; where it does not apply it must be null' : '';
    expect(refused(changed(path, undefined))).toEqual([
      'EE_MISSING_FIELD',
      path,
      `The field "${name}" is missing${hint}.`,
    ]);
  });

  test.each(nullable)('%s may be null', (path) => {
    expect(refused(changed(path, null))).toBe('nothing');
  });
});

describe('EE_SCHEMA_INVALID', () => {
  const DIGITS = 'A number here has plain digits, without a point or an exponent.';
  const string = (min: number, max: number, of = 'characters') =>
    `This must be a string of ${min} to ${max} ${of}.`;
  const CAPITALS = 'capital letters, digits and underscores';
  const PLAIN = 'digits without a leading zero';
  const nullableString = (max: number) => `This must be a string of 1 to ${max} characters or null.`;

  test.each<[string, Json, string]>([
    ['/version', 2, 'This must be the number 1.'],
    ['/version', '1', 'This must be the number 1.'],
    ['/intent_id', '', string(1, 256)],
    ['/intent_id', 5, string(1, 256)],
    ['/execution_id', 'x'.repeat(257), string(1, 256)],
    ['/tenant_id', null, string(1, 256)],
    ['/action_type', 'T', string(2, 64, CAPITALS)],
    ['/action_type', 'transfer', string(2, 64, CAPITALS)],
    ['/action_type', 'TRANSFER\n', string(2, 64, CAPITALS)],
    ['/action_type', 'T'.repeat(65), string(2, 64, CAPITALS)],
    ['/rail', [], 'This must be an object.'],
    ['/rail/type', 'evm', string(2, 64, CAPITALS)],
    ['/rail/network', '', string(1, 128)],
    ['/rail/chain_id', 0, 'This must be an integer from 1 to 2^53-1 or null.'],
    ['/rail/chain_id', '1', 'This must be an integer from 1 to 2^53-1 or null.'],
    ['/rail/chain_id', 1.5, DIGITS],
    ['/rail/contract', '', nullableString(128)],
    ['/actor', null, 'This must be an object.'],
    ['/actor/caller', true, string(1, 256)],
    ['/actor/role', 'r'.repeat(129), nullableString(128)],
    ['/target/to', 't'.repeat(513), string(1, 512)],
    ['/target/asset', {}, string(1, 128)],
    ['/target/asset_class', -1, 'This must be an integer from 0 to 2^53-1 or null.'],
    ['/target/amount', 1000000, string(1, 80, PLAIN)],
    ['/target/amount', '', string(1, 80, PLAIN)],
    ['/target/amount', '-1', string(1, 80, PLAIN)],
    ['/target/amount', '007', string(1, 80, PLAIN)],
    ['/target/amount', '00', string(1, 80, PLAIN)],
    ['/target/amount', '1.0', string(1, 80, PLAIN)],
    ['/target/amount', '1e18', string(1, 80, PLAIN)],
    ['/target/amount', '١', string(1, 80, PLAIN)],
    ['/target/amount', '1'.repeat(81), string(1, 80, PLAIN)],
    ['/target/decimals', 37, 'This must be an integer from 0 to 36.'],
    ['/target/decimals', -1, 'This must be an integer from 0 to 36.'],
    ['/constraints/ttl', -1, 'This must be an integer from 0 to 2^53-1.'],
    ['/constraints/nonce', null, 'This must be an integer from 0 to 2^53-1.'],
    ['/constraints/replay_scope', 'session', 'This must be one of caller, tenant, global.'],
    ['/policy_binding/policy_id', '', string(1, 256)],
    ['/policy_binding/policy_version', 0, 'This must be an integer from 1 to 2^53-1.'],
    ['/policy_binding/policy_hash', '0xabc', string(6, 256)],
    ['/metadata', 'none', 'This must be an object.'],
    ['/metadata/created_at', -1, 'This must be an integer from 0 to 2^53-1.'],
  ])('%s: %j', (path, value, message) => {
    expect(refused(changed(path, value))).toEqual(['EE_SCHEMA_INVALID', path, message]);
  });

  test.each(['7.0', '7e0', '7E0', '0.7e1', '-0', '70e-1', '7.5'])('%s is not in plain digits', (lexeme) => {
    expect(refused(spliced('"nonce":7', `"nonce":${lexeme}`))).toEqual([
      'EE_SCHEMA_INVALID',
      '/constraints/nonce',
      DIGITS,
    ]);
  });

  test.each([
    ['9007199254740991', 'nothing'],
    ['9007199254740992', 'refused'],
    ['9007199254740993', 'refused'],
    [`1${'0'.repeat(400)}`, 'refused'],
  ])('the integer %s', (lexeme, verdict) => {
    const told = refused(spliced('"nonce":7', `"nonce":${lexeme}`));
    const refusedAs = [
      'EE_SCHEMA_INVALID',
      '/constraints/nonce',
      'This must be an integer from 0 to 2^53-1.',
    ];
    expect(told).toEqual(verdict === 'nothing' ? 'nothing' : refusedAs);
  });

  test('the root must be an object', () => {
    for (const text of ['null', '[]', '1', '"x"'])
      expect(refused(text)).toEqual(['EE_SCHEMA_INVALID', '', 'This must be an object.']);
  });

  test('lengths count characters, not their halves', () => {
    expect(refused(changed('/intent_id', '𝄞'.repeat(256)))).toBe('nothing');
    expect(refused(changed('/intent_id', '𝄞'.repeat(257)))).toEqual([
      'EE_SCHEMA_INVALID',
      '/intent_id',
      string(1, 256),
    ]);
  });

  test('an amount is an integer of any size, in its one form', () => {
    for (const amount of ['0', '7', '1'.repeat(80)])
      expect(parseEnvelope(changed('/target/amount', amount)).target.amount).toBe(amount);
  });
});

describe('the order of the checks', () => {
  const text = JSON.stringify({
    ...envelopeJson(),
    version: 2,
    rail: { type: 'x', extra: 1 },
    zebra: 1,
    actor: undefined,
  });

  test('unknown, missing, then the fields one after the other, outermost first', () => {
    expect(explainEnvelope(text).map(({ code, path }) => `${code} ${path}`)).toEqual([
      'EE_UNKNOWN_FIELD /zebra',
      'EE_MISSING_FIELD /actor',
      'EE_SCHEMA_INVALID /version',
      'EE_UNKNOWN_FIELD /rail/extra',
      'EE_MISSING_FIELD /rail/network',
      'EE_MISSING_FIELD /rail/chain_id',
      'EE_MISSING_FIELD /rail/contract',
      'EE_SCHEMA_INVALID /rail/type',
    ]);
    expect(refused(text)).toEqual(['EE_UNKNOWN_FIELD', '/zebra', 'There is no field "zebra" here.']);
  });

  test('nothing is wrong with the sample, and of broken JSON one thing is told', () => {
    expect(explainEnvelope(sample)).toEqual([]);
    expect(explainEnvelope('{')).toEqual([
      {
        code: 'EE_INVALID_JSON',
        path: '',
        message: 'The envelope is not strict JSON: A key in double quotes was expected here.',
      },
    ]);
    expect(explainEnvelope(`\ufeff${sample}`)[0]!.path).toBe(null);
  });
});
