import { sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { expect, test } from 'vitest';
import { type ErrorFrame, parseFrame, type ResultFrame } from '../../mcp/index.ts';
import type { Pins } from '../lists/pins.ts';
import { addressKey } from '../lists/uri.ts';
import { checkContents } from './contents.ts';

const page = { uri: 'ui://page', sha256: sha256Hex(toUtf8('good')), mimeType: null };
const pins = { contentLike: (uri) => (addressKey(uri) === 'ui:page' ? page : undefined) } as Pins;

function check(body: string, own: readonly string[] = []): void {
  const frame = parseFrame(toUtf8(`{"jsonrpc":"2.0","id":1,${body}}`));
  checkContents(frame as ResultFrame | ErrorFrame, null, own, pins);
}

const refused = expect.objectContaining({ code: 'GATEWAY_CONTENT_CHANGED' });

test('an error carries nothing that could be taken for a page', () => {
  const error = (data: string) => `"error":{"code":1,"message":"x","data":${data}}`;
  check(error('{"uri":"ui://page","text":"good"}'));
  expect(() => check(error('[{"a":{"uri":"ui://page","text":"evil"}}]'))).toThrow(refused);
});

test('what is looked at elsewhere is only what stands there by that name', () => {
  const evil = '{"uri":"ui://page","text":"evil"}';
  check(`"result":{"structuredContent":${evil}}`, ['structuredContent']);
  expect(() => check(`"result":{"a":{"structuredContent":${evil}}}`, ['structuredContent'])).toThrow(refused);
  expect(() => check(`"result":{"structuredContent":${evil}}`)).toThrow(refused);
});

test('an answer is looked through however deep and wide it is', () => {
  const evil = '{"uri":"ui://page","text":"evil"}';
  expect(() => check(`"result":{"a":${'['.repeat(990)}${evil}${']'.repeat(990)}}`)).toThrow(refused);
  const many = Array.from({ length: 200_000 }, (_, i) => `{"uri":"ui://${i}","k":{}}`).join();
  expect(() => check(`"result":{"content":[${evil},${many}]}`)).toThrow(refused);
});
