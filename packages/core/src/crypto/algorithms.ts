import { BullaError } from '../error.ts';
import { ed25519AcceptsSignature, ed25519KeyProblem } from './ed25519.ts';

/** The names of the signature algorithms, as JOSE spells them. */
export type AlgorithmName = 'Ed25519' | 'ML-DSA-44' | 'ML-DSA-65';

/** All that the rest of the module knows about one signature algorithm. */
export interface Algorithm {
  readonly name: AlgorithmName;
  readonly seedBytes: number;
  readonly publicKeyBytes: number;
  readonly signatureBytes: number;
  /** The size of the expanded private key that some PKCS#8 files carry, where the algorithm has one. */
  readonly expandedKeyBytes: number | null;
  /** The object identifier as a DER element in hex. */
  readonly oid: string;
  /** The key type as node:crypto names it. */
  readonly nodeType: string;
  readonly jwk: JwkNames;
  /** The code of what is wrong with the encoding of a public key of the right size, or null. */
  keyProblem(publicKey: Uint8Array): 'KEY_NOT_CANONICAL' | 'KEY_SMALL_ORDER' | null;
  /** Whether a signature of the right size may be checked at all. */
  acceptsSignature(signature: Uint8Array): boolean;
}

/** How a JWK spells a key of one algorithm. */
interface JwkNames {
  readonly kty: string;
  /** The member that tells the algorithm apart within the key type. */
  readonly selector: 'crv' | 'alg';
  readonly publicMember: string;
  readonly privateMember: string;
  /** The values that an `alg` member may have. */
  readonly alg: readonly string[];
}

const everything = { keyProblem: () => null, acceptsSignature: () => true };

function akp(name: AlgorithmName): JwkNames {
  return { kty: 'AKP', selector: 'alg', publicMember: 'pub', privateMember: 'priv', alg: [name] };
}

// Ed25519: RFC 8032, OID and encodings RFC 8410, JWK RFC 8037 (`EdDSA`) and RFC 9864 (`Ed25519`).
// ML-DSA: FIPS 204, pure with an empty context; OID and encodings RFC 9881; JWK `AKP`.
const table: readonly Algorithm[] = [
  {
    name: 'Ed25519',
    seedBytes: 32,
    publicKeyBytes: 32,
    signatureBytes: 64,
    expandedKeyBytes: null,
    oid: '06032b6570', // 1.3.101.112
    nodeType: 'ed25519',
    jwk: { kty: 'OKP', selector: 'crv', publicMember: 'x', privateMember: 'd', alg: ['EdDSA', 'Ed25519'] },
    keyProblem: ed25519KeyProblem,
    acceptsSignature: ed25519AcceptsSignature,
  },
  {
    name: 'ML-DSA-44',
    seedBytes: 32,
    publicKeyBytes: 1312,
    signatureBytes: 2420,
    expandedKeyBytes: 2560,
    oid: '0609608648016503040311', // 2.16.840.1.101.3.4.3.17
    nodeType: 'ml-dsa-44',
    jwk: akp('ML-DSA-44'),
    ...everything,
  },
  {
    name: 'ML-DSA-65',
    seedBytes: 32,
    publicKeyBytes: 1952,
    signatureBytes: 3309,
    expandedKeyBytes: 4032,
    oid: '0609608648016503040312', // 2.16.840.1.101.3.4.3.18
    nodeType: 'ml-dsa-65',
    jwk: akp('ML-DSA-65'),
    ...everything,
  },
];

/** The descriptor table. Nothing below it names an algorithm. */
export const algorithms: ReadonlyMap<string, Algorithm> = new Map(table.map((entry) => [entry.name, entry]));

/** Finds an algorithm by name; throws `KEY_ALGORITHM` for a name that is not in the table. */
export function algorithm(name: string): Algorithm {
  const found = algorithms.get(name);
  if (found === undefined) {
    throw new BullaError('KEY_ALGORITHM', `There is no signature algorithm named ${JSON.stringify(name)}.`);
  }
  return found;
}
