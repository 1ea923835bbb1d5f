import { expect, test } from 'vitest';
import * as canon from '../src/canon/index.ts';
import * as capability from '../src/capability/index.ts';
import * as capsule from '../src/capsule/index.ts';
import * as cel from '../src/cel/index.ts';
import * as consent from '../src/consent/index.ts';
import * as crypto from '../src/crypto/index.ts';
import * as envelope from '../src/envelope/index.ts';
import * as error from '../src/error.ts';
import * as json from '../src/json/index.ts';
import * as lock from '../src/lock/index.ts';
import * as log from '../src/log/index.ts';
import * as manifest from '../src/manifest/index.ts';
import * as policy from '../src/policy/index.ts';
import * as schema from '../src/schema/index.ts';
import * as text from '../src/text/index.ts';
import * as verify from '../src/verify/index.ts';

const doors = { canon, capability, cel, capsule, consent, crypto, envelope, error, json };
const more = { lock, log, manifest, policy, schema, text, verify };

test('all of core can be loaded, on any runtime', () => {
  for (const [name, door] of Object.entries({ ...doors, ...more }))
    expect(Object.values(door).filter((value) => value !== undefined).length, name).toBeGreaterThan(0);
});
