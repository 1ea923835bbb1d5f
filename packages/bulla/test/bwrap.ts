import { BullaError } from '@bulla/core/error';
import { findBwrap } from '../src/mcp/confine-bwrap.ts';

/** Why servers cannot be confined here, or null. With `BULLA_REQUIRE_BWRAP=1` there must be no reason. */
export const noBwrap: string | null = (() => {
  try {
    findBwrap();
    return null;
  } catch (error) {
    if (!(error instanceof BullaError) || process.env.BULLA_REQUIRE_BWRAP === '1') throw error;
    return error.message;
  }
})();
if (noBwrap !== null) console.warn(`skipped: confined servers were not tested: ${noBwrap}`);
