import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { refusal } from '../../test/mcp.ts';
import { type Handler, tlsServer } from '../../test/registry.ts';
import { TEST_CERTIFICATE } from '../../test/tls.ts';
import { createFetcher } from '../os/index.ts';
import { parseDocker } from './command.ts';
import { imageAddress, resolveOci } from './oci.ts';

const MANIFEST = '{"schemaVersion":2}';
const DIGEST = `sha256:${createHash('sha256').update(MANIFEST).digest('hex')}`;

async function resolved(handler: Handler, image = 'team/server:1.0') {
  const { url, asked } = await tlsServer(handler);
  const fetcher = createFetcher({ ca: [TEST_CERTIFICATE], privateOrigins: new Set([url.origin]) });
  onTestFinished(() => fetcher.close());
  const command = parseDocker(['run', '-i', `${url.host}/${image}`]);
  return { asked, url, artifact: resolveOci(command, () => fetcher) };
}

test('a name that begins with a host says where the image comes from', () => {
  const line = (image: string) => {
    const address = imageAddress(image);
    return address === null ? null : `${address.base.href} ${address.repository} ${address.tag}`;
  };
  expect(['images.example/a/b:x', 'localhost:5000/a'].map(line)).toEqual([
    'https://images.example/v2/ a/b x',
    'https://localhost:5000/v2/ a latest',
  ]);
  expect(['redis', 'mcp/time:1', 'docker.io/a/b', 'a.b:99999/y'].map(line)).toEqual([null, null, null, null]);
});

test('a short name needs a digest', async () => {
  const command = parseDocker(['run', 'mcp/time:1']);
  await expect(
    resolveOci(command, () => {
      throw new Error('asked');
    }),
  ).rejects.toMatchObject({ code: 'PIN_REGISTRY_ANSWER' });
});

test('a digest in the command needs nobody', async () => {
  const command = parseDocker(['run', `mcp/time@${DIGEST}`]);
  const artifact = await resolveOci(command, () => {
    throw new Error('asked');
  });
  expect([artifact.type, artifact.image, artifact.digest, artifact.tree]).toEqual([
    'oci',
    'mcp/time',
    DIGEST,
    null,
  ]);
});

test('a tag is resolved to the hash of the manifest that it names', async () => {
  const { asked, artifact, url } = await resolved((_, response) => {
    response.setHeader('docker-content-digest', DIGEST).end(MANIFEST);
  });
  expect((await artifact).digest).toBe(DIGEST);
  expect((await artifact).image).toBe(`${url.host}/team/server:1.0`);
  expect(asked).toEqual(['GET /v2/team/server/manifests/1.0']);
});

test('a token that everybody gets is asked for, and shown to the registry only', async () => {
  const handler: Handler = (request, response) => {
    if (request.url!.startsWith('/token')) return void response.end('{"token":"open"}');
    if (request.headers.authorization === 'Bearer open') return void response.end(MANIFEST);
    const realm = `https://${request.headers.host}/token`;
    response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="reg"` }).end();
  };
  const { asked, artifact } = await resolved(handler);
  expect((await artifact).digest).toBe(DIGEST);
  expect(asked[1]).toBe('GET /token?service=reg&scope=repository%3Ateam%2Fserver%3Apull');
});

test('a registry that contradicts itself, or wants credentials, is refused', async () => {
  const lying = await resolved((_, response) => {
    response.setHeader('docker-content-digest', DIGEST).end('{}');
  });
  expect((await refusal(lying.artifact)).code).toBe('PIN_INTEGRITY');
  const closed = await resolved((_, response) => void response.writeHead(401).end());
  expect((await refusal(closed.artifact)).code).toBe('PIN_REGISTRY_ANSWER');
  const inward = await resolved((_, response) => {
    response.writeHead(401, { 'www-authenticate': 'Bearer realm="https://169.254.169.254/token"' }).end();
  });
  expect((await refusal(inward.artifact)).code).toBe('DOWNLOAD_PRIVATE');
  const gone = await resolved((_, response) => void response.writeHead(404).end());
  expect((await refusal(gone.artifact)).code).toBe('PIN_REGISTRY_ANSWER');
});
