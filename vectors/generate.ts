// Computes the published vectors from the inputs. `--check` writes nothing and exits 1 when a file differs.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonicalize, digestText, type ProfileId, profile } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import { type JsonValue, type ParseOptions, parse, stringify } from '@bulla/core/json';
import type { Case, Refusal, Suite } from './inputs/case.ts';
import { parser, suites } from './inputs.ts';
import { logVectors } from './log.ts';

const folder = dirname(fileURLToPath(import.meta.url));

/** The text of every file, by its path below this folder. Throws when a case does not do what its list says. */
export async function generate(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const [id, suite] of Object.entries(suites) as [ProfileId, Suite][]) {
    const { hash, domain, digestPrefix } = profile(id);
    const run = (value: JsonValue, { allow }: Case) => {
      const canonical = canonicalize(value, id, { nonFinite: allow?.includes('non-finite') ?? false });
      const bytes = Buffer.from(canonical);
      const hex = bytes.length === canonical.length ? {} : { canonical_hex: bytes.toString('hex') };
      return { canonical, ...hex, digest: digestText(canonical, id) };
    };
    const head = { profile: id, hash, domain_hex: hexOf(domain), digest_prefix: digestPrefix };
    files.set(`canon/${id}.json`, print({ ...head, ...expected(id, suite, run) }));
  }
  const written = (value: JsonValue) => ({ written: stringify(value) });
  files.set('json/parser.json', print(expected('parser', parser, written)));
  files.set('log/log.json', print(await logVectors()));
  return files;
}

/** The cases of a suite with what the code makes of them. */
function expected(id: string, suite: Suite, run: (value: JsonValue, one: Case) => object) {
  for (const names of [suite.valid, suite.refused].map((list) => list.map(({ name }) => name))) {
    const twice = names.filter((name, i) => names.indexOf(name) !== i);
    if (twice.length > 0) throw new Error(`${id}: names occur twice: ${twice.join(', ')}`);
  }
  const outcome = (one: Case) => run(parse(bytesOf(one), optionsOf(one)), one);
  return {
    valid: suite.valid.map((one) => {
      try {
        return { ...one, ...outcome(one) };
      } catch (error) {
        throw new Error(`${id}: ${one.name} was refused`, { cause: error });
      }
    }),
    refused: suite.refused.map((one) => ({ ...one, ...refusal(id, one, outcome) })),
  };
}

function refusal(id: string, one: Refusal, outcome: (one: Case) => object) {
  try {
    outcome(one);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const { code, path, offset } = error;
    if (code !== one.code) throw new Error(`${id}: ${one.name} was refused with ${code}, not ${one.code}`);
    return { code, ...(path === undefined ? {} : { path }), ...(offset === undefined ? {} : { offset }) };
  }
  throw new Error(`${id}: ${one.name} was accepted`);
}

function bytesOf(one: Case): Uint8Array {
  return 'input' in one ? Buffer.from(one.input) : Buffer.from(one.input_hex, 'hex');
}

function optionsOf({ allow, max_bytes }: Case): ParseOptions {
  return { ...(allow && { allow }), ...(max_bytes !== undefined && { maxBytes: max_bytes }) };
}

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex');
}

/** JSON in ASCII, so that invisible characters are visible. */
function print(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  return `${text.replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  const differing = [...(await generate())].filter(([path, text]) => {
    const file = join(folder, path);
    return !existsSync(file) || readFileSync(file, 'utf8') !== text;
  });
  for (const [path, text] of differing) {
    if (check) {
      console.error(`vectors/${path} differs from what the code computes`);
      continue;
    }
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    console.log(`wrote vectors/${path}`);
  }
  process.exitCode = check && differing.length > 0 ? 1 : 0;
}
