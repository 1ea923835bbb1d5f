import { expect, test } from 'vitest';
import { complaints } from './check-imports.mjs';

test('what follows the direction passes', () => {
  expect(
    complaints(
      'packages/core/src/canon/x.ts',
      "import { parse } from '../json/index.ts';\nimport { a } from './b.ts';",
    ),
  ).toEqual([]);
  expect(
    complaints(
      'packages/bulla/src/cli/x.ts',
      "import { parse } from '@bulla/core/json';\nimport fs from 'node:fs';",
    ),
  ).toEqual([]);
});

test.each([
  [
    'packages/core/src/json/x.ts',
    "import { digest } from '../canon/index.ts';",
    'core/json must not import core/canon',
  ],
  [
    'packages/core/src/canon/x.ts',
    "import { fail } from '../json/text.ts';",
    'reaches past the index of json',
  ],
  ['packages/core/src/canon/x.ts', "import { readFile } from 'node:fs';", 'core is pure'],
  ['packages/core/src/canon/x.ts', "import { x } from 'bulla';", 'core must not import bulla'],
  [
    'packages/core/src/canon/x.ts',
    "export { x } from '../../../bulla/src/cli/io.ts';",
    "outside the package's sources",
  ],
  [
    'packages/bulla/src/cli/x.ts',
    "const x = await import('@bulla/console');",
    'bulla must not import @bulla/console',
  ],
  [
    'packages/core/src/canon/x.ts',
    "import {\n  a,\n  b,\n} from '../lock/index.ts';",
    'core/canon must not import core/lock',
  ],
  [
    'packages/bulla/src/os/x.ts',
    "import { loadKeyring } from '../keys/index.ts';",
    'bulla/os must not import bulla/keys',
  ],
  [
    'packages/bulla/src/store/x.ts',
    "import { exportTiles } from '../log/index.ts';",
    'bulla/store must not import bulla/log',
  ],
  [
    'packages/bulla/src/gateway/x.ts',
    "import { print } from '../cli/index.ts';",
    'bulla/gateway must not import bulla/cli',
  ],
  [
    'packages/core/src/envelope/x.ts',
    "import { parsePolicy } from '../policy/index.ts';",
    'core/envelope must not import core/policy',
  ],
  [
    'packages/core/src/consent/x.ts',
    "import { evidence } from '../evidence/index.ts';",
    'core/consent must not import core/evidence',
  ],
])('%s: %s', (file, text, complaint) => {
  expect(complaints(file, text).join('\n')).toContain(complaint);
});
