import { describe, expect, test } from 'vitest';
import { lines, lockOf, READ, read, tool } from '../../../test/drift.ts';
import { options, refusal, surface, utf8, whole } from '../../../test/surface.ts';
import type { JsonObject } from '../../json/index.ts';
import {
  drift,
  driftText,
  matchNames,
  narrowed,
  readLock,
  verdict,
  withoutTools,
  writeLock,
} from '../index.ts';

const remove = (description = 'Removes a file.') => tool('remove', { description });
const offered = { tools: [read(), remove(), tool('write')] };
const subset = lockOf(offered, { leftOut: new Set(['remove', 'write']) });
const now = (tools: readonly string[]) => drift(subset, surface({ tools }), { identity: options.identity });

describe('a lock of a subset', () => {
  test('holds the approved tools whole, and of the others no more than their digests', () => {
    expect([...subset.tools.keys()]).toEqual(['read']);
    expect([...subset.native!.tools.keys()]).toEqual(['read']);
    const all = lockOf(offered).native!;
    expect([...subset.native!.leftOut]).toEqual(
      ['remove', 'write'].map((name) => [name, { digest: all.tools.get(name)!.digest, sourceDigest: null }]),
    );
    expect(JSON.stringify(subset.document.get('bulla'))).not.toContain('Removes a file');
    // The released program reads version 3 with one more key.
    expect((subset.document.get('tools') as JsonObject).size).toBe(1);
    expect(lockOf(offered).document.get('bulla')).not.toMatchObject({
      keys: expect.arrayContaining(['leftOut']),
    });
  });

  test('has not drifted while the server offers the rest as it was', () => {
    const found = now(offered.tools);
    expect([lines(found), found.leftOut]).toEqual([[], ['remove', 'write']]);
    expect(driftText(found)).toContain('Left out of the lock on purpose: 2 tools (remove, write).');
    expect(lines(now([read()]))).toEqual([]);
  });

  test('tells what is new, what was left out and changed, and what was approved and changed', () => {
    expect(lines(now([...offered.tools, tool('new')]))).toEqual(['critical tool-added /tools/new']);
    const changed = now([read(), remove('Removes a file for good.'), tool('write')]);
    expect(lines(changed)).toEqual(['info tool-left-out-changed /tools/remove']);
    expect(verdict(changed).outcome).toBe('PASS');
    expect(lines(now([remove(), tool('write')]))).toEqual(['critical tool-removed /tools/read']);
    // A tool that was left out does not pass for an approved one under another name.
    expect(lines(now([tool('remove', READ), tool('write')]))).toEqual([
      'critical tool-removed /tools/read',
      'info tool-left-out-changed /tools/remove',
    ]);
  });

  test('against another lock, what is approved or left out meanwhile is a change', () => {
    const all = lockOf(offered);
    expect(lines(drift(subset, all))).toEqual([
      'critical tool-added /tools/remove',
      'critical tool-added /tools/write',
    ]);
    const approved = drift(subset, all);
    expect([approved.items.map(({ sentence }) => sentence), approved.leftOut]).toEqual([
      new Array(2).fill('The tool was left out before, and is approved now.'),
      [],
    ]);
    expect(drift(subset, subset).leftOut).toEqual(['remove', 'write']);
    const back = drift(all, subset);
    expect(back.items.map(({ code, sentence }) => `${code}: ${sentence}`)).toEqual([
      'tool-removed: The tool is left out on purpose now.',
      'tool-removed: The tool is left out on purpose now.',
    ]);
  });

  test('pins no content that only left-out tools point to', () => {
    const content = (uri: string) => ({ uri, sha256: 'ab'.repeat(32), mimeType: null });
    const paged = (name: string, uri: string) => tool(name, { _meta: { ui: { resourceUri: uri } } });
    const pages = ['ui://shared', 'ui://out'];
    const lock = lockOf(
      {
        tools: [paged('in', 'ui://shared'), paged('out', 'ui://out'), paged('both', 'ui://shared')],
        contents: pages.map(content),
      },
      { leftOut: new Set(['out', 'both']) },
    );
    expect([...lock.native!.contents.keys()]).toEqual(['ui://shared']);
  });

  test('is refused in a format that cannot say so', () => {
    for (const format of ['v1', 'v2', 'v3'] as const)
      expect(refusal(() => writeLock(whole, { ...options, format, leftOut: new Set(['add']) }))).toBe(
        'LOCK_SELECTION',
      );
  });

  test.each([
    ['no digest', '{"tools":{"x":{}}}', 'LOCK_FIELD /bulla/leftOut/tools/x/digest'],
    ['another digest', '{"tools":{"x":{"digest":"md5:1"}}}', 'LOCK_FIELD /bulla/leftOut/tools/x/digest'],
    ['another list', '{"tools":{},"prompts":{}}', 'LOCK_FIELD /bulla/leftOut/prompts'],
    [
      'a tool that is locked',
      `{"tools":{"read":{"digest":"sha256:${'0'.repeat(64)}"}}}`,
      'LOCK_INCONSISTENT /bulla/leftOut/tools/read',
    ],
  ])('is read strictly: %s', (_, leftOut, expected) => {
    const text = writeLock(surface({ tools: [read()] }), options).text;
    const edited = text.replace(/("flags": \[\])/, `$1,"leftOut":${leftOut}`);
    expect(edited).not.toBe(text);
    expect(refusal(() => readLock(utf8(edited)))).toBe(expected);
  });
});

test('names are matched whole, or with * for any text', () => {
  const names = ['read_file', 'read_dir', 'write_file', 'a*b'];
  const matched = (...patterns: string[]) => [...matchNames(patterns, names)];
  expect(matched('read_file')).toEqual(['read_file']);
  expect(matched('read_*')).toEqual(['read_file', 'read_dir']);
  expect(matched('*_file', 'read*')).toEqual(['read_file', 'write_file', 'read_dir']);
  expect(matched('*d*i*e')).toEqual(['read_file']);
  expect(matched('*')).toEqual(names);
  for (const pattern of ['read', 'READ_FILE', 'file_*', 'read_filee*', 'read_file*e', ''])
    expect(
      refusal(() => matched(pattern)),
      pattern,
    ).toBe('LOCK_SELECTION');
});

test('what is said of tools that are left out now is no question any more', () => {
  const found = withoutTools(now([remove(), tool('write'), tool('new')]), new Set(['new']));
  expect(lines(found)).toEqual(['critical tool-removed /tools/read']);
  expect(found.counts).toEqual({ critical: 1, moderate: 0, info: 0, total: 1 });
});

test('a lock is narrowed to what was asked for, and stays the same lock', () => {
  const lock = lockOf(offered);
  const few = narrowed(lock, ['re*']);
  expect([...few.tools.keys()]).toEqual(['read', 'remove']);
  expect([...few.native!.tools.keys()]).toEqual(['read', 'remove']);
  expect(few.document).toBe(lock.document);
  expect(refusal(() => narrowed(subset, ['remove']))).toBe('LOCK_SELECTION');
});
