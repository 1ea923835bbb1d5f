import { verifyCapsule } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { judged, openSource, verifyChain } from '../chain/index.ts';
import type { Artifact, Verdict } from './artifacts.ts';

/** A capsule, or a chain of them in any of the formats that are read. */
export const chain: Artifact = {
  kind: 'capsules',
  recognises(bytes) {
    const start = Buffer.from(bytes.subarray(0, 1 << 16)).toString('latin1');
    if (start.startsWith('SQLite format 3\u0000')) return true;
    // The empty list is one, so that it can be told that it holds nothing.
    return /^\s*[[{]/.test(start) && (/"signature"\s*:/.test(start) || /^\s*\[\s*\]\s*$/.test(start));
  },
  async verify(file, bytes, trust): Promise<Verdict> {
    if (file === '-')
      throw new BullaError('VERIFY_NEEDS_FILE', 'Capsules are verified from a file; name it.');
    const notProven = [
      'that no records are missing at the end',
      'that the content is true',
      'when the records were sealed',
    ];
    if (trust.keys.length === 0) {
      const message = 'No key is known to verify with; name one with --public-key or --keyring.';
      return { result: 'undecided', code: 'VERIFY_NO_KEY', message, details: {}, notProven };
    }
    const source = openSource(file);
    const { requirePq, allowNonFinite, keys, pqKeys, revoked } = trust;
    if (source.format === 'capsule') {
      // One record by itself has no neighbours to be held against.
      const verdict = judged(
        verifyCapsule(bytes, { keys, pqKeys, requirePq, allowNonFinite }),
        revoked,
        () => false,
      );
      const { ok, code, message, ...details } = verdict;
      return {
        result: ok ? 'good' : 'bad',
        code,
        message: ok ? `One capsule, signed by ${verdict.key}.` : message,
        details,
        notProven,
      };
    }
    const {
      state: _state,
      anchors: _anchors,
      ...found
    } = await verifyChain(source, {
      keys,
      pqKeys,
      revoked,
      requirePq,
      allowNonFinite,
    });
    const details = { format: source.format, ...found };
    if (found.outcome === 'empty')
      return {
        result: 'undecided',
        code: 'CHAIN_EMPTY',
        message: 'There is nothing to verify.',
        details,
        notProven,
      };
    if (found.ok)
      return {
        result: 'good',
        code: 'ok',
        message: `${found.count} ${found.count === 1 ? 'record' : 'records'}, all good.`,
        details,
        notProven,
      };
    const [first] = found.failures;
    const more = found.failureCount > 1 ? ` and ${found.failureCount - 1} more` : '';
    return { result: 'bad', code: first!.code, message: `${first!.error}${more}.`, details, notProven };
  },
};
