import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { envelope, envelopeWith, refusal } from '../../test/envelope.ts';
import { parse } from '../json/index.ts';
import { bindArguments, readMapping } from './index.ts';

const mapping = readMapping(
  parse(`{
    "bind": {
      "/to": "/target/to",
      "/amount": "/target/amount",
      "/chain/id": "/rail/chain_id",
      "/chain/role": "/actor/role"
    },
    "free": ["/memo", "/chain/gas"]
  }`),
);
const args = {
  to: envelope.target.to,
  amount: '1000000',
  chain: { id: 11155111, role: null, gas: 'fast' },
  memo: { any: ['thing'] },
} as const;

const bound = (value: unknown, by = mapping, of = envelope) =>
  refusal(() => bindArguments(by, parse(typeof value === 'string' ? value : JSON.stringify(value)), of));

describe('arguments', () => {
  test('that are the approved ones pass', () => {
    expect(bound(args)).toBe('nothing');
    expect(bound({ ...args, memo: undefined })).toBe('nothing');
  });

  test('an envelope of another kind does not approve them', () => {
    const fixing = (fixed: object) => readMapping(parse(JSON.stringify({ bind: {}, fixed })));
    const { action_type, rail, actor } = envelope;
    const own = { '/action_type': action_type, '/rail/chain_id': rail.chain_id, '/actor/role': actor.role };
    expect(bound({}, fixing(own))).toBe('nothing');
    for (const [field, other] of Object.entries({
      '/action_type': 'REFUND',
      '/rail/chain_id': `${rail.chain_id}`,
      '/actor/role': '',
    }))
      expect(bound({}, fixing({ ...own, [field]: other }))).toEqual([
        'EE_ARGS_MISMATCH',
        field,
        'The envelope is of another kind.',
      ]);
  });

  test('an amount may be an integer of the same digits', () => {
    expect(bound({ ...args, amount: 1000000 })).toBe('nothing');
  });

  test.each<[string, string]>([
    ['1e6', '1e6'],
    ['1000000.0', '1000000.0'],
    ['another number', '1000001'],
    ['zeros in front', '"01000000"'],
    ['another sign', '-1000000'],
    ['null', 'null'],
    ['a list', '["1000000"]'],
    ['an object', '{}'],
    ['true', 'true'],
  ])('an amount is not the approved one as %s', (_, lexeme) => {
    const text = JSON.stringify(args).replace('"1000000"', lexeme);
    expect(bound(text)).toEqual([
      'EE_ARGS_MISMATCH',
      '/amount',
      'The argument is not the approved /target/amount.',
    ]);
  });

  test.each<[string, unknown, string, string]>([
    ['another destination', { ...args, to: `0x${'3'.repeat(40)}` }, '/to', '/target/to'],
    [
      'an integer as a string',
      { ...args, chain: { ...args.chain, id: '11155111' } },
      '/chain/id',
      '/rail/chain_id',
    ],
    [
      'something instead of null',
      { ...args, chain: { ...args.chain, role: '' } },
      '/chain/role',
      '/actor/role',
    ],
  ])('EE_ARGS_MISMATCH: %s', (_, value, path, field) => {
    expect(bound(value)).toEqual(['EE_ARGS_MISMATCH', path, `The argument is not the approved ${field}.`]);
  });

  test('EE_ARGS_MISMATCH: an integer for a text of the same digits, unless it is the amount', () => {
    const of = envelopeWith({ target: { to: '7' } });
    expect(bound({ ...args, to: '7' }, mapping, of)).toBe('nothing');
    expect(bound({ ...args, to: 7 }, mapping, of)).toEqual([
      'EE_ARGS_MISMATCH',
      '/to',
      'The argument is not the approved /target/to.',
    ]);
  });

  test('EE_ARGS_MISMATCH: a text that only looks the same', () => {
    const of = envelopeWith({ target: { to: 'é' } });
    expect(bound({ ...args, to: 'é' }, mapping, of)).toBe('nothing');
    expect(bound({ ...args, to: 'e\u0301' }, mapping, of)[0]).toBe('EE_ARGS_MISMATCH');
  });

  test('EE_ARGS_MISMATCH: a value where the mapping goes deeper', () => {
    const told = [
      'EE_ARGS_MISMATCH',
      '/chain',
      'This must be an object or a list, as the mapping has arguments inside it.',
    ];
    expect(bound({ ...args, chain: 5 })).toEqual(told);
    expect(bound('5')).toEqual([told[0], '', told[2]]);
  });

  test('EE_ARGS_MISSING', () => {
    expect(bound({ ...args, amount: undefined })).toEqual([
      'EE_ARGS_MISSING',
      '/amount',
      'The argument is missing.',
    ]);
    expect(bound({ ...args, chain: { id: 11155111 } })).toEqual([
      'EE_ARGS_MISSING',
      '/chain/role',
      'The argument is missing.',
    ]);
    expect(bound({ ...args, chain: undefined })[1]).toBe('/chain');
  });

  test('EE_ARGS_UNBOUND', () => {
    const told = (path: string) => [
      'EE_ARGS_UNBOUND',
      path,
      'The approval says nothing about this argument.',
    ];
    expect(bound({ ...args, network: 'mainnet' })).toEqual(told('/network'));
    expect(bound({ ...args, 'a/b': null })).toEqual(told('/a~1b'));
    expect(bound({ ...args, chain: { ...args.chain, x: {} } })).toEqual(told('/chain/x'));
    expect(bound(JSON.stringify(args).replace('{', '{"__proto__":1,'))).toEqual(told('/__proto__'));
  });

  test('in lists are bound by their index', () => {
    const by = readMapping(parse('{"bind":{"/0":"/target/to","/1/amount":"/target/amount"}}'));
    expect(bound([args.to, { amount: '1000000' }], by)).toBe('nothing');
    expect(bound([args.to, { amount: '1000000' }, 1], by)[1]).toBe('/2');
    expect(bound({ 0: args.to, 1: { amount: '1000000' } }, by)).toBe('nothing');
  });

  test('no arguments at all need no mapping', () => {
    const none = readMapping(parse('{"bind":{}}'));
    expect(bound('{}', none)).toBe('nothing');
    expect(bound('{"a":1}', none)[0]).toBe('EE_ARGS_UNBOUND');
  });

  test('deep arguments overflow nothing', () => {
    expect(bound({ ...args, memo: undefined }, mapping)).toBe('nothing');
    const deep = `${'['.repeat(900)}${']'.repeat(900)}`;
    expect(bound(JSON.stringify(args).replace('{"any":["thing"]}', deep))).toBe('nothing');
  });

  test('any other value of any bound argument is refused', () => {
    const leaves = ['/to', '/amount', '/chain/id', '/chain/role'];
    fc.assert(
      fc.property(fc.constantFrom(...leaves), fc.jsonValue(), (leaf, value) => {
        const root = structuredClone(args) as unknown as Record<string, Record<string, unknown>>;
        const [outer, inner] = leaf.slice(1).split('/') as [string, string | undefined];
        const holder = (inner === undefined ? root : root[outer]!) as Record<string, unknown>;
        const key = inner ?? outer;
        fc.pre(JSON.stringify(holder[key]) !== JSON.stringify(value) && value !== 1000000);
        holder[key] = value;
        expect(bound(root).slice(0, 2)).toEqual(['EE_ARGS_MISMATCH', leaf]);
      }),
      { numRuns: 200 * inject('soak') },
    );
  });
});

describe('EE_ARGS_MAPPING', () => {
  const NOT_FIELD = 'This is not the pointer of a field that binds.';
  const NOT_POINTER = 'This is not a JSON Pointer to an argument.';
  test.each<[string, string, string]>([
    ['{"bind":{},"fixed":[]}', '/fixed', 'This must be an object of fields.'],
    [
      '{"bind":{},"fixed":{"/metadata":"x"}}',
      '/fixed/~1metadata',
      'This is not the pointer of a field that binds.',
    ],
    [
      '{"bind":{},"fixed":{"/action_type":true}}',
      '/fixed/~1action_type',
      'A field is a string, a number or null.',
    ],
    ['[]', '', 'A mapping is an object of bind, free and fixed.'],
    ['{"bind":{},"only":[]}', '', 'A mapping is an object of bind, free and fixed.'],
    ['{"free":[]}', '/bind', 'This must be an object of at most 256 pointers.'],
    ['{"bind":{},"free":{}}', '/free', 'This must be a list of 0 to 256 elements.'],
    ['{"bind":{},"free":[1]}', '/free/0', 'This must be a string of 1 to 4096 characters.'],
    ['{"bind":{"/to":"/metadata/created_at"}}', '/bind/~1to', NOT_FIELD],
    ['{"bind":{"/to":"/target"}}', '/bind/~1to', NOT_FIELD],
    ['{"bind":{"/to":"target/to"}}', '/bind/~1to', NOT_FIELD],
    ['{"bind":{"/to":["/target/to"]}}', '/bind/~1to', NOT_FIELD],
    ['{"bind":{"to":"/target/to"}}', '/bind/to', NOT_POINTER],
    ['{"bind":{"":"/target/to"}}', '/bind/', NOT_POINTER],
    ['{"bind":{"/a~2":"/target/to"}}', '/bind/~1a~02', NOT_POINTER],
    [
      '{"bind":{"/a":"/target/to","/a/b":"/target/amount"}}',
      '/bind/~1a~1b',
      'The pointer leads through another one.',
    ],
    [
      '{"bind":{"/a/b":"/target/to","/a":"/target/amount"}}',
      '/bind/~1a',
      'The pointer stands here twice, or another one leads through it.',
    ],
    [
      '{"bind":{"/a":"/target/to"},"free":["/a"]}',
      '/free/0',
      'The pointer stands here twice, or another one leads through it.',
    ],
    [
      `{"bind":{"${'/a'.repeat(17)}":"/target/to"}}`,
      `/bind/${'~1a'.repeat(17)}`,
      'A pointer has at most 16 steps.',
    ],
  ])('%s', (text, path, message) => {
    expect(refusal(() => readMapping(parse(text)))).toEqual(['EE_ARGS_MAPPING', path, message]);
  });

  test('every binding field can be bound', () => {
    const all = 'intent_id execution_id tenant_id action_type rail/network actor/caller target/decimals';
    const bind = Object.fromEntries(all.split(' ').map((field) => [`/x/${field}`, `/${field}`]));
    const by = readMapping(parse(JSON.stringify({ bind })));
    const { intent_id, execution_id, tenant_id, action_type } = envelope;
    const x = {
      ...{ intent_id, execution_id, tenant_id, action_type },
      ...{ rail: { network: 'sepolia' }, actor: { caller: 'agent-7' }, target: { decimals: 6 } },
    };
    expect(bound({ x }, by)).toBe('nothing');
    expect(bound({ x: { ...x, target: { decimals: 7 } } }, by)[1]).toBe('/x/target/decimals');
  });

  test('a name with a slash or a tilde is reached', () => {
    const by = readMapping(parse('{"bind":{"/a~1b~0c":"/target/to"}}'));
    expect(bound({ 'a/b~c': args.to }, by)).toBe('nothing');
  });
});
