import { sortNames } from '../../canon/index.ts';
import { sha256Hex, toUtf8 } from '../../crypto/index.ts';
import { BullaError } from '../../error.ts';
import { JsonNumber, JsonObject, type JsonValue, parse } from '../../json/index.ts';
import { goIndented } from '../file/go-json.ts';

export const LOCK_NAME = 'mcp-lock.json';
export const SIGNATURE_NAME = 'mcp-lock.json.sig';
export const MANIFEST_NAME = 'manifest.json';
export const README_NAME = 'README.txt';

/** What a bundle says of its files; the members are the released program's. Nothing in it is signed. */
export interface BundleManifest {
  readonly tool_version: string;
  /** Only the released program has one. */
  readonly go_version: string | null;
  readonly compression_method: string | null;
  readonly files: readonly { readonly name: string; readonly sha256: string; readonly size: number }[];
  readonly lockfile_hash: string;
  readonly signature_hash: string;
  readonly canon_version: string | null;
}

/** The manifest of these files, which leaves out itself and the README. */
export function writeManifest(
  files: ReadonlyMap<string, Uint8Array>,
  toolVersion: string,
  canonVersion: 'v1' | 'v2',
): Uint8Array {
  const list = sortNames([...files.keys()], 'mcptrust-v1').map((name) => {
    const bytes = files.get(name)!;
    const size = new JsonNumber(String(bytes.length));
    return JsonObject.from([
      ['name', name],
      ['sha256', sha256Hex(bytes)],
      ['size', size],
    ]);
  });
  const document = JsonObject.from([
    ['tool_version', toolVersion],
    ['compression_method', 'deflate'],
    ['files', list],
    ['lockfile_hash', sha256Hex(files.get(LOCK_NAME)!)],
    ['signature_hash', sha256Hex(files.get(SIGNATURE_NAME)!)],
    ['canon_version', canonVersion],
  ]);
  return toUtf8(goIndented(document));
}

const REQUIRED = ['tool_version', 'files', 'lockfile_hash', 'signature_hash'];
const OPTIONAL = ['go_version', 'compression_method', 'canon_version'];

/** Reads a manifest. Throws the `JSON_…` codes and `BUNDLE_MANIFEST`. */
export function readManifest(bytes: Uint8Array): BundleManifest {
  const root = record(parse(bytes), REQUIRED, OPTIONAL);
  const files = root.get('files')!;
  if (!Array.isArray(files)) throw malformed('files must be a list');
  return {
    tool_version: text(root, 'tool_version'),
    go_version: root.has('go_version') ? text(root, 'go_version') : null,
    compression_method: root.has('compression_method') ? text(root, 'compression_method') : null,
    files: files.map((element) => {
      const file = record(element, ['name', 'sha256', 'size'], []);
      const size = file.get('size');
      if (!(size instanceof JsonNumber) || !/^[0-9]{1,15}$/.test(size.lexeme))
        throw malformed('a size must be a number');
      return { name: text(file, 'name'), sha256: text(file, 'sha256'), size: size.toNumber() };
    }),
    lockfile_hash: text(root, 'lockfile_hash'),
    signature_hash: text(root, 'signature_hash'),
    canon_version: root.has('canon_version') ? text(root, 'canon_version') : null,
  };
}

function record(value: JsonValue, required: readonly string[], optional: readonly string[]): JsonObject {
  if (!(value instanceof JsonObject)) throw malformed('an object is missing');
  const unknown = value.keys.find((key) => !required.includes(key) && !optional.includes(key));
  if (unknown !== undefined) throw malformed(`the key ${JSON.stringify(unknown)} is unknown`);
  const missing = required.find((key) => !value.has(key));
  if (missing !== undefined) throw malformed(`the key ${JSON.stringify(missing)} is missing`);
  return value;
}

function text(value: JsonObject, key: string): string {
  const found = value.get(key);
  if (typeof found !== 'string') throw malformed(`${key} must be a string`);
  return found;
}

function malformed(what: string): BullaError {
  return new BullaError('BUNDLE_MANIFEST', `The manifest is not one: ${what}.`);
}

/** Throws `BUNDLE_MISMATCH` where a file is not what the manifest says, and for a file on one side only. */
export function checkManifest(manifest: BundleManifest, files: ReadonlyMap<string, Uint8Array>): void {
  const listed = new Map(manifest.files.map((file) => [file.name, file]));
  if (listed.size !== manifest.files.length) throw mismatch('The manifest lists a file twice.');
  for (const name of files.keys()) {
    if (!listed.has(name) && name !== MANIFEST_NAME && name !== README_NAME)
      throw mismatch(`The manifest does not list ${name}.`);
  }
  for (const [name, { sha256, size }] of listed) {
    const bytes = files.get(name);
    if (bytes === undefined)
      throw mismatch(`The manifest lists ${JSON.stringify(name)}, which is not there.`);
    if (bytes.length !== size || sha256Hex(bytes) !== sha256)
      throw mismatch(`${name} is not what the manifest says.`);
  }
  if (
    manifest.lockfile_hash !== listed.get(LOCK_NAME)?.sha256 ||
    manifest.signature_hash !== listed.get(SIGNATURE_NAME)?.sha256
  )
    throw mismatch('The manifest names other hashes of lock and signature than of the files.');
}

function mismatch(message: string): BullaError {
  return new BullaError('BUNDLE_MISMATCH', message);
}
