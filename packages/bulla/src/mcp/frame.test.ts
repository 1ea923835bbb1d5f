import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonNumber, number, stringify } from '@bulla/core/json';
import { describe, expect, it } from 'vitest';
import { errorFrame, idKey, notificationFrame, parseFrame, requestFrame, resultFrame } from './frame.ts';

const parse = (text: string, options = {}) => parseFrame(toUtf8(text), options);

function codeOf(text: string, options = {}): string {
  try {
    parse(text, options);
  } catch (error) {
    if (error instanceof BullaError) return error.code;
    throw error;
  }
  return 'none';
}

describe('parseFrame', () => {
  it('tells the four kinds apart and keeps the bytes', () => {
    const request =
      '{"method":"tools/call","params":{"a":1.50},"id":10000000000000000000001,"jsonrpc":"2.0"} ';
    const frame = parse(request);
    expect(frame).toMatchObject({ kind: 'request', method: 'tools/call', bytes: toUtf8(request) });
    expect(frame.kind === 'request' && idKey(frame.id)).toBe('10000000000000000000001');
    expect(frame.kind === 'request' && stringify(frame.params)).toBe('{"a":1.50}');
    expect(parse('{"jsonrpc":"2.0","method":"x"}')).toMatchObject({ kind: 'notification', params: null });
    expect(parse('{"jsonrpc":"2.0","id":"a","result":{}}')).toMatchObject({ kind: 'result', id: 'a' });
    expect(
      parse('{"jsonrpc":"2.0","id":-1,"error":{"code":-32601,"message":"no","data":[1]}}'),
    ).toMatchObject({
      kind: 'error',
      id: new JsonNumber('-1'),
      error: { code: -32601, message: 'no' },
    });
    expect(parse('{"jsonrpc":"2.0","error":{"code":1,"message":""}}')).toMatchObject({
      kind: 'error',
      id: null,
    });
    expect(parse('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}')).toMatchObject({ id: null });
  });

  it('tells ids of different types apart', () => {
    expect(idKey('1')).toBe('"1"');
    expect(idKey(number('1'))).toBe('1');
    expect(idKey(number('-0'))).toBe('-0');
  });

  it.each([
    ['', 'MCP_FRAME_JSON'],
    ['nothing', 'MCP_FRAME_JSON'],
    ['{"jsonrpc":"2.0","method":"x"} {}', 'MCP_FRAME_JSON'],
    ['{"jsonrpc":"2.0","method":"x","method":"y"}', 'MCP_FRAME_JSON'],
    ['\ufeff{"jsonrpc":"2.0","method":"x"}', 'MCP_FRAME_JSON'],
    ['{"jsonrpc":"2.0","method":"\\ud800"}', 'MCP_FRAME_JSON'],
    ['[]', 'MCP_FRAME_BATCH'],
    ['[{"jsonrpc":"2.0","method":"x"}]', 'MCP_FRAME_BATCH'],
    ['null', 'MCP_FRAME_SHAPE'],
    ['"x"', 'MCP_FRAME_SHAPE'],
    ['{}', 'MCP_FRAME_SHAPE'],
    ['{"method":"x"}', 'MCP_FRAME_SHAPE'],
    [`{"jsonrpc":"2.0","id":"${'x'.repeat(1025)}","method":"x"}`, 'MCP_FRAME_SHAPE'],
    [`{"jsonrpc":"2.0","id":${'1'.repeat(1025)},"method":"x"}`, 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"1.0","method":"x"}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":2.0,"method":"x"}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0"}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"method":7}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":null,"method":"x"}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1.0,"method":"x"}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1e3,"method":"x"}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":{},"method":"x"}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","method":"x","params":[1]}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","method":"x","params":null}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"method":"x","result":{}}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":null}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"result":[]}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"result":{},"params":{}}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","result":{}}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":null,"result":{}}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"error":"no"}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":""}}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1}}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","more":1}}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","id":1,"result":{},"trace":1}', 'MCP_FRAME_SHAPE'],
    ['{"jsonrpc":"2.0","method":"ping","Method":"tools/call"}', 'MCP_FRAME_CASE_TWIN'],
    ['{"jsonrpc":"2.0","method":"ping","paramſ":{}}', 'MCP_FRAME_CASE_TWIN'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","Code":2}}', 'MCP_FRAME_CASE_TWIN'],
  ])('refuses %s: %s', (text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  it('tells the parser’s own reason and where it is', () => {
    expect(() => parse('{"jsonrpc":"2.0",}')).toThrow(
      expect.objectContaining({
        code: 'MCP_FRAME_JSON',
        offset: 17,
        cause: expect.objectContaining({ code: 'JSON_SYNTAX' }),
      }),
    );
  });

  it('has a limit, to the byte', () => {
    const text = '{"jsonrpc":"2.0","method":"x"}';
    expect(codeOf(text, { maxBytes: text.length })).toBe('none');
    expect(codeOf(text, { maxBytes: text.length - 1 })).toBe('MCP_FRAME_TOO_LARGE');
  });
});

describe('the messages that are written', () => {
  it.each([
    [requestFrame(1, 'ping'), '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    [requestFrame(2, 'x', { a: [null] }), '{"jsonrpc":"2.0","id":2,"method":"x","params":{"a":[null]}}'],
    [notificationFrame('n'), '{"jsonrpc":"2.0","method":"n"}'],
    [resultFrame('é', {}), '{"jsonrpc":"2.0","id":"é","result":{}}'],
    [
      resultFrame(number('12345678901234567890'), {}),
      '{"jsonrpc":"2.0","id":12345678901234567890,"result":{}}',
    ],
    [errorFrame(null, -1, 'no'), '{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}'],
  ])('%#', (frame, text) => {
    expect(Buffer.from(frame.bytes).toString()).toBe(text);
  });
});
