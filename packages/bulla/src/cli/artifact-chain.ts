import { verifyCapsule } from '@bulla/core/capsule';
import { judged, openBytes, openSource, verifyChain } from '../chain/index.ts';
import { rootOf } from './artifact-root.ts';
import type { Artifact, Verdict } from './artifacts.ts';
import { historyLines, missingText, noticeLines, unsealedPaths } from './notices.ts';
import { counted } from './words.ts';

function isSqlite(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 16)).toString('latin1') === 'SQLite format 3\u0000';
}

/** A capsule, or a chain of them in any of the formats that are read. */
export const chain: Artifact = {
  kind: 'capsules',
  isSigned: true,
  recognises(bytes) {
    if (isSqlite(bytes)) return true;
    const root = rootOf(bytes);
    if (root !== null && root !== 'broken') return root.has('signature') || root.has('capsules');
    const start = Buffer.from(bytes.subarray(0, 1 << 16)).toString('latin1');
    // The empty list is one, so that it can be told that it holds nothing.
    return /^\s*[[{]/.test(start) && (/"signature"\s*:/.test(start) || /^\s*\[\s*\]\s*$/.test(start));
  },
  async verify(file, bytes, trust): Promise<Verdict> {
    const notProven = [
      'that no records are missing at the end',
      'that the content is true',
      'when the records were sealed',
    ];
    if (trust.keys.length === 0) {
      const message = 'No key is known to verify with; name one with --public-key or --keyring.';
      return { result: 'undecided', code: 'VERIFY_NO_KEY', message, details: {}, notProven };
    }
    const source = isSqlite(bytes) ? openSource(file) : openBytes(file, bytes);
    const { requirePq, allowNonFinite, keys, pqKeys, facts, revoked } = trust;
    if (source.format === 'capsule') {
      // One record by itself has no neighbours to be held against.
      const verdict = judged(
        verifyCapsule(bytes, { keys, pqKeys, facts, requirePq, allowNonFinite }),
        revoked,
        () => false,
      );
      const { ok, code, message, ...details } = verdict;
      const unsealed = unsealedPaths(verdict.unauthenticated);
      const limit = unsealed.length === 0 ? '' : ` The seal does not cover ${unsealed.join(', ')}.`;
      const warned = verdict.warnings
        .filter((warning) => warning.code !== 'unauthenticated_field')
        .map((warning) => ` ${warning.path || '(root)'}: ${warning.message}`);
      return {
        result: ok ? 'good' : code === 'unknown_key' ? 'undecided' : 'bad',
        code,
        message: ok ? `One capsule, signed by ${verdict.key}.${limit}${warned.join('')}` : message,
        details: { ...details, not_sealed: unsealed },
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
      facts,
      revoked,
      requirePq,
      allowNonFinite,
    });
    const details = {
      format: source.format,
      table: source.table ?? null,
      ...found,
      not_read: source.unread ?? [],
    };
    if (found.outcome === 'empty')
      return {
        result: 'undecided',
        code: 'CHAIN_EMPTY',
        message: 'There is nothing to verify.',
        details,
        notProven,
      };
    if (found.outcome === 'undecided') {
      const message = missingText(found.missingKeys);
      return { result: 'undecided', code: 'unknown_key', message, details, notProven };
    }
    if (found.ok) {
      const lines = [...noticeLines(found, source), ...historyLines(found.history)].flatMap(([name, text]) =>
        text === '' ? [] : `${name} ${text}`.trimStart(),
      );
      const message = `${counted(found.count, 'record')}, all good.`;
      return { result: 'good', code: 'ok', message, lines, details, notProven };
    }
    const [first] = found.failures;
    const more = found.failureCount > 1 ? ` and ${found.failureCount - 1} more` : '';
    return {
      result: 'bad',
      code: first!.code,
      message: `${first!.error.replace(/\.$/, '')}${more}.`,
      details,
      notProven,
    };
  },
};
