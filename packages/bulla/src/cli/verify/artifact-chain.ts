import { verifyCapsule } from '@bulla/core/capsule';
import { type Anchor, isLogOf } from '@bulla/core/log';
import { type ChainSource, judged, openBytes, openSource, originIn, verifyChain } from '../../chain/index.ts';
import { counted } from '../terminal/words.ts';
import { rootOf } from './artifact-root.ts';
import type { Artifact, Trust, Verdict } from './artifacts.ts';
import { historyLines, missingText, noticeLines, unsealedPaths } from './notices.ts';

function isSqlite(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 16)).toString('latin1') === 'SQLite format 3\u0000';
}

/** The records of a file that `chain` recognises. */
export function sourceOf(file: string, bytes: Uint8Array): ChainSource {
  return isSqlite(bytes) ? openSource(file) : openBytes(file, bytes);
}

/** A checkpoint that was named beside a chain; where they were not compared, why. */
interface Beside {
  readonly file: string;
  readonly anchor: Anchor | null;
  readonly reason: string | null;
}

/** A chain is held against the checkpoints of its own log; of those that are not, the report tells. */
async function checkpointsBeside(file: string, source: ChainSource, trust: Trust): Promise<Beside[]> {
  const named = trust.anchors().filter((one) => one.file !== file);
  if (named.length === 0) return [];
  let origin: string | undefined;
  for await (const record of source.records()) {
    origin = originIn(record);
    break;
  }
  return named.map((one): Beside => {
    if ('error' in one) return { file: one.file, anchor: null, reason: one.error.message };
    const { anchor } = one;
    const other = anchor.checkpoint.origin;
    if (origin === undefined || isLogOf(other, origin)) return { file: one.file, anchor, reason: null };
    const reason = `it is of the log ${other}, and the chain of ${origin}.`;
    return { file: one.file, anchor: null, reason };
  });
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
    const limits = ['that the content is true', 'when the records were sealed'];
    const notProven = ['that no records are missing at the end', ...limits];
    if (trust.keys.length === 0) {
      const message = 'No key is known to verify with; name one with --public-key or --keyring.';
      return { result: 'undecided', code: 'VERIFY_NO_KEY', message, details: {}, notProven };
    }
    const source = sourceOf(file, bytes);
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
    // A SQLite file is closed behind its records.
    const beside = await checkpointsBeside(file, sourceOf(file, bytes), trust);
    const anchors = beside.flatMap(({ anchor }) => anchor ?? []);
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
      ...(anchors.length > 0 && { anchors: { anchors } }),
    });
    const details = {
      format: source.format,
      table: source.table ?? null,
      ...found,
      not_read: source.unread ?? [],
      checkpoints: beside.map(({ anchor, reason, ...one }) => ({
        ...one,
        size: anchor?.checkpoint.size ?? null,
        not_compared: reason,
      })),
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
      for (const { file: other, anchor, reason } of beside)
        lines.push(
          anchor === null
            ? `not compared with ${other}: ${reason}`
            : `continues ${other}, a checkpoint of ${counted(anchor.checkpoint.size, 'record')}`,
        );
      const message = `${counted(found.count, 'record')}, all good.`;
      const isCovered = anchors.some(({ checkpoint }) => checkpoint.size === found.count);
      const open = isCovered ? ['that no records followed the last checkpoint', ...limits] : notProven;
      return { result: 'good', code: 'ok', message, lines, details, notProven: open };
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
