import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const repo = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const thirdParty = process.env.BULLA_VECTORS ? resolve(repo, process.env.BULLA_VECTORS) : undefined;
const required = process.env.BULLA_REQUIRE_VECTORS === '1';

/** Whether the third-party suites are at hand; without them their tests are skipped, or fail where they are required. */
export const hasVectors = thirdParty !== undefined && existsSync(thirdParty);
if (required && !hasVectors) throw new Error('BULLA_REQUIRE_VECTORS=1, but BULLA_VECTORS names no folder');

function place(path: string): string {
  return path.startsWith('own:') ? join(repo, 'vectors', path.slice(4)) : join(thirdParty ?? '', path);
}

/** Reads a third-party vector file, or one of ours when the path starts with `own:`. */
export async function readBytes(path: string): Promise<Uint8Array> {
  return new Uint8Array(readFileSync(place(path)));
}

export async function readText(path: string): Promise<string> {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readBytes(path));
}

export async function listFiles(folder: string): Promise<string[]> {
  return readdirSync(place(folder)).sort();
}
