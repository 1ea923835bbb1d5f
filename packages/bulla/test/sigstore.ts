import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { bundleToJSON, toDSSEBundle } from '@sigstore/bundle';
import { fulcioHandler, initializeCA, initializeCTLog, initializeTLog } from '@sigstore/mock';
import {
  HashAlgorithm,
  PublicKeyDetails,
  type TransparencyLogInstance,
  TrustedRoot,
} from '@sigstore/protobuf-specs';

const REKOR = 'https://rekor.example';
const TYPE = 'application/vnd.in-toto+json';
/** What the log answers with; its own types are of a package that is not here. */
interface Logged {
  readonly body: string;
  readonly logID: string;
  readonly logIndex: number;
  readonly integratedTime: number;
  readonly verification: {
    readonly inclusionProof: { readonly rootHash: string; readonly checkpoint: string };
    readonly signedEntryTimestamp: string;
  };
}

const pair = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** A certificate authority, its log, and a transparency log, with real keys that nobody else has. */
export async function sigstore() {
  const ctlog = await initializeCTLog(pair());
  const ca = await initializeCA(pair(), ctlog);
  const tlog = await initializeTLog(REKOR, pair());
  const log = (publicKey: Buffer, keyId: Buffer): TransparencyLogInstance => ({
    baseUrl: REKOR,
    hashAlgorithm: HashAlgorithm.SHA2_256,
    logId: { keyId },
    publicKey: {
      ...{ rawBytes: publicKey, keyDetails: PublicKeyDetails.PKIX_ECDSA_P256_SHA_256 },
      validFor: { start: new Date(0) },
    },
    checkpointKeyId: undefined,
    operator: '',
  });
  const root: TrustedRoot = {
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [log(tlog.publicKey, createHash('sha256').update(tlog.publicKey).digest())],
    ctlogs: [log(ctlog.publicKey, Buffer.from(ctlog.logID as Uint8Array))],
    certificateAuthorities: [
      {
        subject: { commonName: 'sigstore', organization: 'sigstore.mock' },
        uri: 'https://fulcio.example',
        certChain: { certificates: [{ rawBytes: Buffer.from(ca.rootCertificate as Uint8Array) }] },
        validFor: { start: new Date(0) },
        operator: '',
      },
    ],
    timestampAuthorities: [],
  };
  return {
    trustedRoot: Buffer.from(JSON.stringify(TrustedRoot.toJSON(root))),
    /** Signs a statement as a workflow with these claims of its token would, and gives the bundle. */
    async attest(statement: object, claims: Record<string, string>): Promise<Buffer> {
      const payload = Buffer.from(JSON.stringify(statement));
      const { privateKey, publicKey } = pair();
      const pae = Buffer.concat([Buffer.from(`DSSEv1 ${TYPE.length} ${TYPE} ${payload.length} `), payload]);
      const signature = sign('sha256', pae, privateKey);
      const certificate = await issue(claims, publicKey.export({ format: 'pem', type: 'spki' }).toString());
      const bundle = toDSSEBundle({ artifact: payload, artifactType: TYPE, signature, certificate });
      const body = {
        ...{ apiVersion: '0.0.1', kind: 'dsse' },
        spec: {
          payloadHash: { algorithm: 'sha256', value: createHash('sha256').update(payload).digest('hex') },
          signatures: [{ signature: signature.toString('base64'), verifier: '' }],
        },
      };
      const entry = Object.values((await tlog.log(body)) as Record<string, Logged>)[0]!;
      const { inclusionProof: proof, signedEntryTimestamp } = entry.verification;
      bundle.verificationMaterial.tlogEntries = [
        {
          logIndex: '0',
          logId: { keyId: Buffer.from(entry.logID, 'hex') },
          kindVersion: { kind: 'dsse', version: '0.0.1' },
          integratedTime: String(entry.integratedTime),
          inclusionPromise: { signedEntryTimestamp: Buffer.from(signedEntryTimestamp, 'base64') },
          inclusionProof: {
            ...{ logIndex: '0', treeSize: '1', hashes: [] },
            rootHash: Buffer.from(proof.rootHash, 'hex'),
            checkpoint: { envelope: proof.checkpoint },
          },
          canonicalizedBody: Buffer.from(entry.body, 'base64'),
        },
      ];
      // The promise is over the place in the log; the mock's proof is of a log with one entry.
      bundle.verificationMaterial.tlogEntries[0]!.logIndex = String(entry.logIndex);
      return Buffer.from(JSON.stringify(bundleToJSON(bundle)));
    },
  };

  async function issue(claims: Record<string, string>, pem: string): Promise<Buffer> {
    const token = ['{"alg":"none"}', JSON.stringify(claims), ''].map((part) =>
      Buffer.from(part).toString('base64url'),
    );
    const request = {
      credentials: { oidcIdentityToken: token.join('.') },
      publicKeyRequest: { publicKey: { content: pem } },
    };
    const reply = await fulcioHandler(ca).fn(JSON.stringify(request));
    const { signedCertificateEmbeddedSct } = JSON.parse(String(reply.response));
    const [leaf] = signedCertificateEmbeddedSct.chain.certificates as string[];
    return Buffer.from(leaf!.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  }
}

export const WORKFLOW = 'https://github.com/team/shop/.github/workflows/release.yml@refs/tags/v1.0.0';

/** The token of that workflow, as GitHub would write it. */
export const CLAIMS: Readonly<Record<string, string>> = {
  ...{ iss: 'https://token.actions.githubusercontent.com', sub: WORKFLOW },
  ...{ repository: 'team/shop', ref: 'refs/tags/v1.0.0' },
};

/** A SLSA statement about a tarball. */
export function statement(integrity: string, more: object = {}): object {
  const digest = { sha512: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') };
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'pkg:npm/shop@1.0.0', digest }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        externalParameters: {
          workflow: {
            ref: 'refs/tags/v1.0.0',
            repository: 'https://github.com/team/shop',
            path: '.github/workflows/release.yml',
          },
        },
      },
      runDetails: { builder: { id: 'https://github.com/actions/runner/github-hosted' } },
    },
    ...more,
  };
}
