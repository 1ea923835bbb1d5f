import type { ProfileId } from '@bulla/core/canon';
import { cps, cpsPython, cpsTs } from './inputs/capsule.ts';
import type { Suite } from './inputs/case.ts';
import { jcs } from './inputs/ecmascript.ts';
import { envelope } from './inputs/envelope.ts';
import { khora, khoraIcu } from './inputs/khora.ts';
import { mcptrustV1, mcptrustV1Go, mcptrustV2 } from './inputs/mcptrust.ts';

export { parser } from './inputs/parser.ts';

/** The inputs of every profile, written by hand; `generate.ts` adds what the code makes of them. */
export const suites: Readonly<Record<ProfileId, Suite>> = {
  jcs,
  cps,
  'cps-python': cpsPython,
  'cps-ts': cpsTs,
  'envelope-v1': envelope,
  'envelope-v1-nul': envelope,
  'mcptrust-v1': mcptrustV1,
  'mcptrust-v1-go': mcptrustV1Go,
  'mcptrust-v2': mcptrustV2,
  khora,
  'khora-icu': khoraIcu,
};
