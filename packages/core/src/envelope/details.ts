import { type JsonObject, parse, stringify } from '../json/index.ts';
import type { Authorization } from './authorization.ts';
import type { Envelope } from './envelope.ts';

/** The `type` of our object in `authorization_details` (RFC 9396 §2). */
const AUTHORIZATION_DETAILS_TYPE = 'bulla.execution-envelope.v1';

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
