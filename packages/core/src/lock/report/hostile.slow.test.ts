import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { between, lockOf, type Members, read } from '../../../test/drift.ts';
import { type SurfaceText, surface } from '../../../test/surface.ts';
import { inspectText } from '../../text/index.ts';
import {
  type Drift,
  drift,
  driftJson,
  driftJunit,
  driftMarkdown,
  driftSarif,
  driftText,
  NO_AUTHORIZATION,
} from '../index.ts';

// Whatever a server writes, and wherever it writes it, no report lets it out of its place.

const ATTACKS = [
  '\u001b[2J\u001b[31m',
  '\u009b2J',
  '\u001b]8;;https://evil.example\u0007x\u001b]8;;\u0007',
  '\r',
  '\b\b\b',
  '\u202e',
  '\u2066',
  '\u200b',
  '\u{e0041}',
  '\u2028',
  '\ufeff',
  '\n\nCRITICAL  tool x\n  The tool is gone.\n',
  '\n```\n',
  '````````',
  '`',
  '|',
  '\\|',
  '\n| 🔴 critical | x | y |\n',
  '\n</details>\n\n# Title\n',
  '</code></summary></details>',
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '<!-- -->',
  ']]>',
  '<![CDATA[',
  '&lt;',
  '"/><x a="',
  '@octocat',
  '#1',
  '[text](https://evil.example)',
  '[text\\](https://evil.example)',
  '[text\\\\](https://evil.example)',
  '![i](https://evil.example/i.png)',
  'https://evil.example',
  '{0}',
  '{{',
  "';--",
  '\u0000',
  '\u0001',
  '\ufffe',
  '\uffff',
  'e\u0301\u0301\u0301\u0301\u0301\u0301',
  '⟨U+200B⟩',
  '{+',
  '-]',
];

const text = fc
  .array(
    fc.oneof(fc.constantFrom(...ATTACKS), fc.string({ unit: 'binary', maxLength: 8 }), fc.constant('a b')),
    {
      minLength: 1,
      maxLength: 6,
    },
  )
  .map((parts) => parts.join(''));

/** Two servers that differ in every place where a server may write. */
function drifted([a, b, c, d]: readonly string[]): Drift {
  const tool = (members: Members) => JSON.stringify({ name: 'same', ...members });
  const side = (one: string, other: string): SurfaceText => ({
    serverInfo: JSON.stringify({ name: one, version: one, title: one, [`k${other}`]: one }),
    instructions: one,
    capabilities: JSON.stringify({ tools: {}, [`c${one}`]: { [one]: one } }),
    tools: [
      tool({
        description: one,
        title: one,
        inputSchema: {
          properties: { a: { description: one, enum: [one], default: other, pattern: one }, [`p${one}`]: {} },
          required: [`p${one}`],
        },
        outputSchema: { description: one, [one]: one },
        annotations: { title: one, [`h${one}`]: one },
        _meta: { [one]: one, ui: { resourceUri: `ui://${one}` } },
        icons: [{ src: one }],
        [`m${one}`]: one,
      }),
      JSON.stringify({
        name: `n${one}`,
        description: one,
        inputSchema: { properties: { [one]: { description: one } } },
      }),
      JSON.stringify({ name: `r${one}`, description: 'The same body' }),
      JSON.stringify({ name: `o${d}`, description: one }),
    ],
    prompts: [
      JSON.stringify({ name: 'p', description: one, arguments: [{ name: one, description: one }] }),
      JSON.stringify({ name: `q${one}`, description: one }),
    ],
    resources: [
      JSON.stringify({ uri: 'a:b', name: one, mimeType: one, description: one }),
      JSON.stringify({ uri: `b:${one}`, name: one }),
    ],
    resourceTemplates: [JSON.stringify({ uriTemplate: `a:{${one}}`, name: one, mimeType: one })],
    contents: [{ uri: `ui://${d}`, sha256: (one === a! + b! ? 'a' : 'b').repeat(64), mimeType: one }],
  });
  const identity = (one: string) =>
    ({ transport: 'stdio', command: `c${one}`, args: [one], env: [] }) as const;
  const rights = (one: string) =>
    ({ ...NO_AUTHORIZATION, scheme: 'oauth', issuer: one, scopes: [one] }) as const;
  const was = { identity: identity(`${a}${b}`), authorization: rights(`${a}${b}`) };
  const lock = lockOf(side(a! + b!, c!), { ...was, leftOut: new Set([`o${d}`]) });
  const is = { identity: identity(`${c}${d}`), authorization: rights(`${c}${d}`) };
  return drift(lock, surface(side(c! + d!, a!)), { ...is, otherTools: [b!] });
}

/** Characters that are not what they seem; lines are looked at one by one. */
const unseen = (report: string) => report.split('\n').flatMap((line) => inspectText(line));

/** What each report must hold to. */
const CHECKS: Readonly<Record<string, (found: Drift) => void>> = {
  'text stays in its lines, and moves no terminal'(found) {
    const report = driftText(found, { failOn: 'info' });
    expect(unseen(report)).toEqual([]);
    for (const line of report.split('\n')) expect(line).toMatch(LINE);
    expect(report).not.toMatch(/^CRITICAL {2}tool x$/m);
  },
  'JSON gives back what was written, in characters that are seen'(found) {
    const report = driftJson(found);
    expect(unseen(report)).toEqual([]);
    expect(report).not.toMatch(/[<>&]/);
    const rows = JSON.parse(report).drift as { identifier: string; before?: unknown; after?: unknown }[];
    found.items.forEach(({ kind, name, before, after }, i) => {
      expect(rows[i]!.identifier).toBe(name === '' ? kind : name);
      if (typeof before === 'string') expect(rows[i]!.before).toBe(before);
      if (typeof after === 'string') expect(rows[i]!.after).toBe(after);
    });
  },
  'SARIF has no link and no placeholder in its messages'(found) {
    const report = driftSarif(found);
    expect(unseen(report)).toEqual([]);
    const { results } = JSON.parse(report).runs[0] as { results: { message: { text: string } }[] };
    expect(results.length).toBe(found.items.length);
    for (const { message } of results) {
      expect(unseen(message.text)).toEqual([]);
      // A backslash escapes what comes after it, another one too.
      expect(message.text.replaceAll(/\\./gs, '')).not.toContain('](');
      expect(message.text.replaceAll(/\{\{|\}\}/g, '')).not.toMatch(/[{}]/);
    }
  },
  'JUnit is well-formed, with one case for each difference'(found) {
    const report = driftJunit(found);
    expect(unseen(report)).toEqual([]);
    expect(elements(report)).toEqual({ testcase: found.items.length, failure: found.counts.critical });
  },
  'Markdown has no markup but ours'(found) {
    const report = driftMarkdown(found, { maxLength: 1e9 });
    expect(unseen(report)).toEqual([]);
    expect(foreign(report)).toEqual([]);
  },
};

const LINE =
  /^(?:$|\d+ differences: |(?:CRITICAL|MODERATE|INFO) {2}(?:server|identity|authorization|content|instructions|capabilities|tool|prompt|resource|template)| {2}(?:The |What |A text|How )| {4}(?:\| |- )|Not compared|Left out of the lock on purpose: 1 tool \(|FAIL: )/;

describe('whatever a server writes', () => {
  const found = ATTACKS.map((attack) => drifted(['x', attack, 'y', attack + attack]));
  test.each(Object.entries(CHECKS))('%s', (_, check) => {
    for (const one of found) check(one);
  });

  test('nesting as deep as the parser lets through', () => {
    const deep = (leaf: string) => `${'{"not":'.repeat(900)}${leaf}${'}'.repeat(900)}`;
    const tool = (leaf: string) => `{"name":"a","inputSchema":${deep(leaf)},"_meta":${deep(leaf)}}`;
    const one = between({ tools: [tool('{"description":"A"}')] }, { tools: [tool('{"description":"B"}')] });
    expect(one.items.map(({ code }) => code)).toEqual(['description-changed', 'meta-changed']);
    for (const check of Object.values(CHECKS)) check(one);
  });

  test('a path of the lockfile is no markup either, whatever is in it', () => {
    for (const lockfile of [...ATTACKS, '\ud800', 'a\udc00b', '\udc00\ud800']) {
      const one = found[0]!;
      const uri = JSON.parse(driftSarif(one, { lockfile })).runs[0].results[0].locations[0].physicalLocation;
      expect(uri.artifactLocation.uri).toMatch(/^[!-~]*$/);
      expect(elements(driftJunit(one, { lockfile })).testcase).toBe(one.items.length);
      expect(foreign(driftMarkdown(one, { lockfile, maxLength: 1e9 }))).toEqual([]);
      expect(unseen(driftJson(one, { lockfile }))).toEqual([]);
    }
  });

  test('a long text is cut in every report but the exact one', () => {
    const long = 'word '.repeat(20_000);
    const one = drifted(['x', long, 'y', `${long}z`]);
    for (const report of [driftText(one), driftSarif(one), driftJunit(one), driftMarkdown(one)])
      expect(report.length).toBeLessThan(1_000_000);
  });

  test('all of it holds for any text', () => {
    fc.assert(
      fc.property(fc.tuple(text, text, text, text), (texts) => {
        const one = drifted(texts);
        for (const check of Object.values(CHECKS)) check(one);
      }),
      { numRuns: 25 * inject('soak') },
    );
  });
});

/** How many of some elements a document has; a browser's own parser counts them where there is one. */
function elements(xml: string): { testcase: number; failure: number } {
  if (typeof DOMParser !== 'undefined') {
    const document = new DOMParser().parseFromString(xml, 'application/xml');
    expect(document.querySelector('parsererror')?.textContent).toBeUndefined();
    const count = (name: string) => document.getElementsByTagName(name).length;
    return { testcase: count('testcase'), failure: count('failure') };
  }
  const counts: Record<string, number> = { testcase: 0, failure: 0 };
  const open: string[] = [];
  const rest = xml
    .replace(/^<\?xml [^?]*\?>/, '')
    .replace(/<(\/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>/g, (_, end, name, __, empty) => {
      if (end === '/') expect(open.pop()).toBe(name);
      else {
        if (empty !== '/') open.push(name);
        if (name in counts) counts[name]!++;
      }
      return '';
    });
  expect(open).toEqual([]);
  expect(rest).not.toMatch(
    /[<>]|&(?!(?:amp|lt|gt|quot|apos);)|[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u,
  );
  return counts as { testcase: number; failure: number };
}

/** The lines of a report that hold something of a server's outside code. */
function foreign(markdown: string): string[] {
  let fence: string | null = null;
  return markdown.split('\n').filter((line) => {
    if (fence !== null) {
      // Only as many backticks or more, alone on a line, end a fenced block (CommonMark §4.5).
      const closing = /^ {0,3}(`{3,})[ \t]*$/.exec(line)?.[1];
      if (closing !== undefined && closing.length >= fence.length) fence = null;
      return false;
    }
    fence = /^(`{3,})text$/.exec(line)?.[1] ?? null;
    return fence === null && !OURS.some((form) => form.test(withoutCode(line)));
  });
}

const NAMES =
  '(?:server|identity|authorization|content|instructions|capabilities|tool|prompt|resource|template)';
const OURS = [
  /^$/,
  /^### ❌ Drift of CODE$/,
  /^\d+ differences: [a-z0-9, ]+\.$/,
  /^\| \| What \| Changed \|$/,
  /^\|---\|---\|---\|$/,
  new RegExp(
    `^\\| (?:🔴 critical|🟡 moderate|⚪ info) \\| ${NAMES}(?: CODE(?: → CODE)?)? \\| [a-z ,()-]+ \\|$`,
    'u',
  ),
  // Character references alone, in a block that Markdown does not read.
  new RegExp(
    `^<details><summary>(?:🔴|🟡|⚪) <code>${NAMES}(?:[A-Za-z0-9 \\u0080-\\u{10ffff}]|&#\\d+;)*</code></summary>$`,
    'u',
  ),
  /^<\/details>$/,
  /^Left out of the lock on purpose: 1 tool \(CODE\)\.$/,
  /^Not compared, because one side does not tell: [A-Za-z, ]+\.$/,
];

/** A line with `CODE` for its code spans (CommonMark §6.1); in a table a bar ends even those (GFM §4.10). */
function withoutCode(line: string): string {
  return line.replace(/(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)/g, (_, __, code: string) => {
    expect(line.startsWith('| ') && code.includes('|')).toBe(false);
    return 'CODE';
  });
}

test('however many differences there are, each is told', () => {
  const count = 130_000; // more than the stack has room for as the arguments of one call
  const properties = Object.fromEntries(Array.from({ length: count }, (_, i) => [`b${i}`, {}]));
  const tools = [{}, properties].map((properties) => [read({ inputSchema: { type: 'object', properties } })]);
  const found = between({ tools: tools[0]! }, { tools: tools[1]! });
  const lines = driftText(found, { failOn: 'critical' }).split('\n');
  const told = lines.filter((line) => /^ {4}- "b\d+" is new: of any type, may be left out\.$/.test(line));
  expect(told.length).toBe(count);
  expect(lines.at(-2)).toBe('PASS: nothing is critical.');
});
