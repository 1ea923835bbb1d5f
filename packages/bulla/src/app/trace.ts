import { type Trace, type Trust, trace } from '@bulla/core/verify';
import { naming } from '../os/index.ts';
import { openArtifact } from './verify.ts';

/**
 * Walks from a capsule, by its id or hash, to everything that it rests on among these files. Throws `TRACE_NO_RECORD`,
 * `EVIDENCE_INVALID`, and for a file that cannot be read or recognised what `recognise` throws.
 */
export function traceFiles(capsule: string, files: readonly string[], trust: Trust): Promise<Trace> {
  const artifacts = files.map((file) => naming(file, () => openArtifact(file)));
  return trace(capsule, artifacts, trust);
}
