import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { usedSuite } from '../../test/used-suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'bulla-used-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

usedSuite(() => join(folder, 'store.db'));
