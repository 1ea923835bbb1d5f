import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type Artifact, type TreePackage, treeOf } from '@bulla/core/lock';
import { Header } from 'tar';
import { onTestFinished } from 'vitest';
import {
  type NpmArtifact,
  type NpmSettings,
  networkOf,
  openRegistry,
  type Registry,
} from '../src/pin/index.ts';
import { TEST_CERTIFICATE, TEST_KEY } from './tls.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server on this machine that speaks TLS. */
export async function tlsServer(handler: Handler): Promise<{ url: URL; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer({ cert: TEST_CERTIFICATE, key: TEST_KEY }, (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    handler(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return { url: new URL(`https://localhost:${(server.address() as AddressInfo).port}/`), asked };
}

export interface TarEntry {
  readonly path: string;
  readonly text?: string | Uint8Array;
  readonly type?: string;
  readonly mode?: number;
  readonly linkpath?: string;
}

/** A tarball with exactly these entries, however strange. */
export function tarball(entries: readonly TarEntry[], end: Uint8Array = new Uint8Array(1024)): Buffer {
  const blocks = entries.flatMap(({ path, text = '', type = 'File', mode = 0o644, linkpath }) => {
    const body = Buffer.from(text);
    const block = Buffer.alloc(512);
    const fields = { path, mode, size: body.length, type, mtime: new Date(0), linkpath };
    new Header(fields as ConstructorParameters<typeof Header>[0]).encode(block);
    return [block, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...blocks, end]));
}

export interface TestPackage {
  readonly name: string;
  readonly version: string;
  readonly manifest?: Record<string, unknown>;
  readonly files?: Readonly<Record<string, string>>;
  /** The tarball, where it is not made of the rest. */
  readonly packed?: Uint8Array;
}

export function pack({ name, version, manifest = {}, files = {}, packed }: TestPackage): Buffer {
  if (packed !== undefined) return Buffer.from(packed);
  const all = { 'package.json': JSON.stringify({ name, version, ...manifest }), ...files };
  return tarball(Object.entries(all).map(([path, text]) => ({ path: `package/${path}`, text })));
}

export function sri(bytes: Uint8Array): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
}

export interface TestRegistry {
  readonly url: URL;
  readonly asked: string[];
  readonly settings: NpmSettings;
  open(allowPrivate?: boolean): Registry;
  /** What it serves from now on under a path, instead of what it should. */
  readonly instead: Map<string, Handler>;
}

export function tarballPath({ name, version }: Pick<TestPackage, 'name' | 'version'>): string {
  return `${name}/-/${name.slice(name.indexOf('/') + 1)}-${version}.tgz`;
}

/** A registry that has these packages; the last of a name is the latest. */
export async function testRegistry(packages: readonly TestPackage[]): Promise<TestRegistry> {
  const instead = new Map<string, Handler>();
  const documents = new Map<string, Buffer>();
  const server = await tlsServer((request, response) => {
    const path = decodeURIComponent(request.url!).slice(1);
    const other = instead.get(path);
    if (other !== undefined) return other(request, response);
    const body = documents.get(path);
    response.writeHead(body === undefined ? 404 : 200).end(body ?? '{}');
  });
  const packuments = new Map<string, { name: string; 'dist-tags': { latest: string }; versions: object }>();
  for (const one of packages) {
    const { name, version, manifest = {} } = one;
    const bytes = pack(one);
    const dist = { integrity: sri(bytes), tarball: new URL(tarballPath(one), server.url).href };
    const document = { name, version, ...manifest, dist };
    documents.set(tarballPath(one), bytes);
    documents.set(`${name}/${version}`, Buffer.from(JSON.stringify(document)));
    const known = packuments.get(name)?.versions ?? {};
    const packument = { name, 'dist-tags': { latest: version }, versions: { ...known, [version]: document } };
    packuments.set(name, packument);
    documents.set(name, Buffer.from(JSON.stringify(packument)));
  }
  const settings: NpmSettings = {
    ...{ registry: server.url, scopes: new Map(), ca: [TEST_CERTIFICATE], proxy: null, noProxy: [] },
  };
  return {
    ...{ url: server.url, asked: server.asked, settings, instead },
    open(allowPrivate = true) {
      const registry = openRegistry(settings, networkOf(settings, allowPrivate));
      onTestFinished(() => registry.close());
      return registry;
    },
  };
}

/** The artifact of the first of these packages, whose tree is all of them, each by its folder. */
export function artifactOf(
  packages: Readonly<Record<string, TestPackage>>,
  more: Readonly<Record<string, Partial<TreePackage>>> = {},
): NpmArtifact {
  const entries = Object.entries(packages).map(([folder, one]): [string, TreePackage] => {
    const { name, version } = one;
    const flags = { optional: false, os: null, cpu: null, libc: null, hasInstallScript: false };
    const entry = { name, version, integrity: sri(pack(one)), tarball: tarballPath(one), ...flags };
    return [`node_modules/${folder}`, { ...entry, ...more[folder] }];
  });
  const tree = treeOf(entries);
  const root = entries[0]![1];
  const artifact: Artifact = {
    ...{ type: 'npm', name: root.name, version: root.version, registry: null, integrity: root.integrity },
    ...{ tarball_url: root.tarball, tarball_sha256: null, tarball_size: null, image: null, digest: null },
    ...{ provenance: null, tree },
  };
  return artifact as NpmArtifact;
}
