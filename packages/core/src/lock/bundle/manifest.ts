import { sortNames } from '../../canon/index.ts';
import { sha256Hex, toUtf8 } from '../../crypto/index.ts';
import { BullaError } from '../../error.ts';
import { JsonNumber, JsonObject, Member, oneCode, parse } from '../../json/index.ts';
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
    return JsonObject.from(Object.entries({ name, sha256: sha256Hex(bytes), size }));
  });
  const document = {
    tool_version: toolVersion,
    compression_method: 'deflate',
    files: list,
    lockfile_hash: sha256Hex(files.get(LOCK_NAME)!),
    signature_hash: sha256Hex(files.get(SIGNATURE_NAME)!),
    canon_version: canonVersion,
  };
  return toUtf8(goIndented(JsonObject.from(Object.entries(document))));
}

const FIELDS = {
  required: ['tool_version', 'files', 'lockfile_hash', 'signature_hash'],
  optional: ['go_version', 'compression_method', 'canon_version'],
};

/** Reads a manifest. Throws the `JSON_…` codes and `BUNDLE_MANIFEST`. */
export function readManifest(bytes: Uint8Array): BundleManifest {
  const root = new Member(parse(bytes), oneCode('BUNDLE_MANIFEST')).record(FIELDS);
  const optional = (key: string) => root.optional(key, (member) => member.text());
  return {
    tool_version: root.get('tool_version').text(),
    go_version: optional('go_version'),
    compression_method: optional('compression_method'),
    files: root
      .get('files')
      .list()
      .map((element) => {
        const file = element.record({ required: ['name', 'sha256', 'size'] });
        return {
          name: file.get('name').text(),
          sha256: file.get('sha256').text(),
          size: file.get('size').natural('bytes'),
        };
      }),
    lockfile_hash: root.get('lockfile_hash').text(),
    signature_hash: root.get('signature_hash').text(),
    canon_version: optional('canon_version'),
  };
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
