import { BullaError } from '../error.ts';
import { JsonObject, type JsonValue, list, parse, pointer, record, stringify, word } from '../json/index.ts';
import { type Authorization, claimFields, readClaims } from './authorization.ts';
import { actionType, type Envelope } from './envelope.ts';

/** The `type` of our object in `authorization_details` (RFC 9396 §2). */
const AUTHORIZATION_DETAILS_TYPE = 'bulla.execution-envelope.v1';

const { aud, jti, ...others } = claimFields;
const schema = record({
  type: word(AUTHORIZATION_DETAILS_TYPE),
  locations: list(aud, 1, 1),
  actions: list(actionType, 1, 1),
  identifier: jti,
  ...others,
});

/**
 * An authorization as one `authorization_details` object: the audience is its location, the id its identifier, the
 * envelope's action type its action, and the other claims keep their names. It carries no signature, so it asks for
 * or describes an authorization and is none.
 */
export function toAuthorizationDetails(claims: Authorization, envelope: Envelope): JsonObject {
  const { aud, jti, ...rest } = claims;
  const details = {
    type: AUTHORIZATION_DETAILS_TYPE,
    locations: [aud],
    actions: [envelope.action_type],
    identifier: jti,
    ...rest,
  };
  return parse(stringify(details)) as JsonObject;
}

/** Reads such an object back. Throws `EE_AO_DETAILS` with the path for anything that is not exactly one. */
export function fromAuthorizationDetails(value: JsonValue): {
  readonly claims: Authorization;
  readonly action_type: string;
} {
  schema.run(value, [], (_, at, sentence) => {
    throw new BullaError('EE_AO_DETAILS', sentence, { path: pointer(at) });
  });
  const object = value as JsonObject;
  const [aud] = object.get('locations') as [string];
  const [action_type] = object.get('actions') as [string];
  const members = Object.keys(others).map((key): [string, JsonValue] => [key, object.get(key)!]);
  const claims = JsonObject.from([...members, ['aud', aud], ['jti', object.get('identifier')!]]);
  try {
    return { claims: readClaims(claims, []), action_type };
  } catch (cause) {
    const { message, path } = cause as BullaError;
    throw new BullaError('EE_AO_DETAILS', message, { path: path ?? '', cause });
  }
}
