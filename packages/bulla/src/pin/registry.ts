import { BullaError } from '@bulla/core/error';
import { JsonObject, memberAt, parse, textAt } from '@bulla/core/json';
import type { TreePackage } from '@bulla/core/lock';
import { createFetcher, type Fetcher, type Network, readBody, readInput } from '../os/index.ts';
import { runNpm } from './npm.ts';

/** What npm is configured with: by its user, its machine and the environment, but by no project. */
export interface NpmSettings {
  readonly registry: URL;
  /** The registries of scopes, such as `@corp`. */
  readonly scopes: ReadonlyMap<string, URL>;
  readonly ca: readonly string[] | undefined;
  readonly proxy: URL | null;
  readonly noProxy: readonly string[];
}

/**
 * Asks npm. Tokens are not among what it tells, so that a registry that wants one cannot be used. Rejects with
 * `PIN_NPM_FAILED`, and `PIN_NPM_CONFIG` for a setting that cannot be used.
 */
export async function npmSettings(): Promise<NpmSettings> {
  const { stdout } = await runNpm(['config', 'list', '--json']);
  return readSettings(stdout);
}

/** The same from what `npm config list --json` wrote. Throws `PIN_NPM_CONFIG`. */
export function readSettings(text: string): NpmSettings {
  const settings = parseObject(text);
  if (settings === null) throw badSetting('npm config list --json', 'did not give a JSON object');
  const scopes = settings.keys.filter((key) => /^@[^:]+:registry$/.test(key));
  return {
    registry: registryUrl(settings, 'registry'),
    scopes: new Map(scopes.map((key) => [key.slice(0, key.indexOf(':')), registryUrl(settings, key)])),
    ca: authorities(settings),
    proxy: proxyUrl(settings),
    noProxy: listOf(settings.get('noproxy')),
  };
}

function parseObject(text: string): JsonObject | null {
  try {
    // Readmes are part of some answers, and hold what people typed.
    const value = parse(text, { allow: ['lone-surrogates'] });
    return value instanceof JsonObject ? value : null;
  } catch (error) {
    if (error instanceof BullaError) return null;
    throw error;
  }
}

function badSetting(name: string, what: string): BullaError {
  return new BullaError('PIN_NPM_CONFIG', `npm's setting ${name} ${what}.`);
}

/** The address of a registry ends with a slash, so that paths stand below it. */
function registryUrl(settings: JsonObject, key: string): URL {
  const value = settings.get(key);
  const url = typeof value === 'string' ? URL.parse(value.endsWith('/') ? value : `${value}/`) : null;
  if (url === null || !['https:', 'http:'].includes(url.protocol) || url.search !== '' || url.hash !== '')
    throw badSetting(key, 'is not the address of a registry');
  // The text is not shown: it holds a secret.
  if (url.username !== '' || url.password !== '') throw badSetting(key, 'holds a user name or a password');
  return url;
}

function authorities(settings: JsonObject): readonly string[] | undefined {
  const given = listOf(settings.get('ca')).filter((text) => text !== '');
  if (given.length > 0) return given.map((pem) => pem.replaceAll('\\n', '\n'));
  const file = settings.get('cafile');
  if (typeof file !== 'string' || file === '') return undefined;
  try {
    return (
      Buffer.from(readInput(file, 'signature'))
        .toString()
        .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    );
  } catch (cause) {
    throw new BullaError('PIN_NPM_CONFIG', `npm's setting cafile names a file that cannot be read.`, {
      cause,
    });
  }
}

function proxyUrl(settings: JsonObject): URL | null {
  const value = settings.get('https-proxy') || settings.get('proxy');
  if (value === null || value === undefined || value === false || value === '') return null;
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null || !['https:', 'http:'].includes(url.protocol))
    throw badSetting('https-proxy', 'is not the address of a proxy');
  return url;
}

function listOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(',').map((part) => part.trim());
  return Array.isArray(value) ? value.filter((part) => typeof part === 'string') : [];
}

/** The registry that has packages of this name. */
export function registryOf(settings: NpmSettings, name: string): URL {
  const scope = name.startsWith('@') ? settings.scopes.get(name.slice(0, name.indexOf('/'))) : undefined;
  return scope ?? settings.registry;
}

function originsOf({ registry, scopes }: NpmSettings): string[] {
  return [registry, ...scopes.values()].map(({ origin }) => origin);
}

/** How downloads reach the registries that npm is configured with. */
export function networkOf(settings: NpmSettings, allowPrivate: boolean): Network {
  return {
    ca: settings.ca,
    proxy: settings.proxy,
    isDirect: (hostname) =>
      settings.noProxy.some((rule) => {
        const name = rule.replace(/^\*?\./, '');
        return rule === '*' || (name !== '' && (hostname === name || hostname.endsWith(`.${name}`)));
      }),
    privateOrigins: new Set(allowPrivate ? originsOf(settings) : []),
  };
}

/** Says what lets npm's own registry be at a private address, where that is what was refused. */
function advising(fetcher: Fetcher, settings: NpmSettings, { privateOrigins }: Network): Fetcher {
  const own = originsOf(settings);
  return {
    ...fetcher,
    async get(url, options) {
      try {
        return await fetcher.get(url, options);
      } catch (error) {
        const isOwn = own.includes(url.origin) && !privateOrigins?.has(url.origin);
        if (!isOwn || !(error instanceof BullaError) || !isAboutAddress(error, url)) throw error;
        throw new BullaError(error.code, `${error.message} ${ALLOW}`);
      }
    },
  };
}

const ALLOW = 'It is the registry that npm is configured with: --allow-private-registry lets it be there.';

/** Not that of a redirect. */
function isAboutAddress({ code, message }: BullaError, { protocol, hostname }: URL): boolean {
  if (code === 'DOWNLOAD_ADDRESS') return protocol === 'http:' && message.startsWith('http://');
  return code === 'DOWNLOAD_PRIVATE' && message.startsWith(`${hostname} `);
}

const MAX_MANIFEST = 64 * 1024 * 1024;

export type Registry = ReturnType<typeof openRegistry>;

export function openRegistry(settings: NpmSettings, network: Network) {
  const fetcher = advising(createFetcher(network), settings, network);
  const document = async (url: URL): Promise<JsonObject | null> => {
    const headers = { accept: 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8' };
    const reply = await fetcher.get(url, { headers, maxBytes: MAX_MANIFEST });
    const bytes = await readBody(reply);
    if (reply.status === 404 || reply.status === 405) return null;
    if (reply.status !== 200) throw answer(url, `answered with status ${reply.status}`);
    const found = parseObject(bytes.toString());
    if (found === null) throw answer(url, 'did not answer with a JSON object');
    return found;
  };
  return {
    settings,
    fetcher,
    tarballUrl: ({ name, tarball }: Pick<TreePackage, 'name' | 'tarball'>): URL =>
      new URL(tarball, registryOf(settings, name)),
    /**
     * What the registry says is the integrity of a version; null when it has no such version, or no SHA-512 of it.
     * Rejects with the `DOWNLOAD_…` codes and `PIN_REGISTRY_ANSWER`.
     */
    async integrityOf(name: string, version: string): Promise<string | null> {
      const escaped = name.replace('/', '%2f');
      const base = registryOf(settings, name);
      const manifest = await document(new URL(`${escaped}/${version}`, base));
      // Not every registry serves single versions.
      const found = manifest ?? memberAt(await document(new URL(escaped, base)), ['versions', version]);
      if (!(found instanceof JsonObject)) return null;
      if (found.get('name') !== name || found.get('version') !== version)
        throw answer(base, `answered for another package than ${name} ${version}`);
      return sha512In(textAt(found, ['dist', 'integrity']) ?? '');
    },
    close: (): void => fetcher.close(),
  };
}

function answer(url: URL, what: string): BullaError {
  return new BullaError('PIN_REGISTRY_ANSWER', `The registry ${url.host} ${what}.`);
}

/** The SHA-512 among the hashes of an integrity, or null. */
export function sha512In(integrity: string): string | null {
  return integrity.split(/\s+/).find((hash) => hash.startsWith('sha512-')) ?? null;
}
