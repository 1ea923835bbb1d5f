import { shownKeyId } from '@bulla/core/crypto';
import type { AnchoredRange, AnchorReport } from '@bulla/core/log';
import { counted } from '@bulla/core/text';
import {
  type ChainSource,
  historyLines,
  missingText,
  noticeLines,
  type VerifiedChain,
} from '@bulla/core/verify';
import { timeText } from '../../app/index.ts';
import type { FoundAnchors } from '../log/anchors.ts';
import { colors, markOf } from '../terminal/io.ts';
import { NAME_RECORD_KEYS } from '../verify/hints.ts';

/** What of a chain was looked at, and against what. */
export interface CheckedHow {
  structural?: boolean;
  hashes?: boolean;
  byCheckpoint?: boolean;
  expectLength?: number;
  expectHead?: string;
}

/** Records that were not read again, and the file whose word is taken for them. */
interface Resumed {
  readonly file: string;
  readonly count: number;
}

/** What a good verdict leaves open. */
export function notProven(
  options: CheckedHow,
  ranges: readonly AnchoredRange[],
  resumed: Resumed | null,
): string[] {
  const expected = options.expectLength !== undefined || options.expectHead !== undefined;
  const last = ranges.at(-1);
  return [
    ...(resumed === null
      ? []
      : [`the first ${counted(resumed.count, 'record')}, but for the word of ${resumed.file}`]),
    ...(options.structural ? ['that the content has the stored hashes, or that anyone signed it'] : []),
    ...(options.hashes ? ['that anyone signed it: no signature was checked'] : []),
    ...(expected
      ? []
      : last === undefined || last.kind === 'unanchored'
        ? ['that no records are missing at the end']
        : ['that no records followed the last checkpoint']),
    ...(ranges.some(({ kind }) => kind === 'local')
      ? ['that the holder of the key did not replace the records that no witness saw']
      : []),
    ...(options.byCheckpoint
      ? ['the signatures of the records that the checkpoint covers, but for the word of who signed it']
      : []),
    'that the content is true',
    ranges.some(({ kind }) => kind === 'anchored')
      ? 'when the records were sealed, but that it was before the witnesses saw them'
      : 'when the records were sealed',
  ];
}

type LeftOut = Pick<FoundAnchors, 'unverified' | 'revoked'>;
export const NONE_LEFT_OUT: LeftOut = { unverified: 0, revoked: 0 };

/** Which records are covered by what, a line for each range. */
function rangeLines(anchors: AnchorReport | null, { unverified, revoked }: LeftOut): [string, string][] {
  const lines = (anchors?.ranges ?? []).map(({ from, to, kind, witnesses }): [string, string] => {
    const records = to - from === 1 ? `record ${from}` : `records ${from} to ${to - 1}`;
    const who = witnesses.map(({ name, time }) => `${name} at ${timeText(time)}`).join(', ');
    if (kind === 'anchored') return ['anchored', `${records}, by ${who}`];
    if (kind === 'local') return ['anchored', `${records}, locally only: no witness saw them`];
    return ['unanchored', records];
  });
  const tell = (count: number, why: string) => {
    if (count === 0) return;
    const verb = count === 1 ? 'was' : 'were';
    lines.push(['', `${counted(count, 'checkpoint')} of the store ${verb} left out: ${why}`]);
  };
  tell(unverified - revoked, 'not signed by a known key');
  tell(revoked, 'signed by a key that is revoked, and not witnessed before that');
  return lines;
}

/** What a verdict rests on beside the records. */
interface VerdictContext {
  readonly keysFrom: string;
  readonly limits: readonly string[];
  readonly leftOut: LeftOut;
  readonly copied: string | null;
  readonly resumed: Resumed | null;
}

/** What an outcome means for the exit code, and for the first line. */
export const RESULTS = { ok: 'good', failed: 'bad', empty: 'undecided', undecided: 'undecided' } as const;

/** The verdict for people, in lines. */
export function verdictText(
  result: VerifiedChain,
  source: ChainSource,
  seconds: number,
  { keysFrom, limits, leftOut, copied, resumed }: VerdictContext,
  options: CheckedHow,
): string[] {
  const rate = seconds > 0.5 ? `, ${Math.round(result.count / seconds).toLocaleString('en')} a second` : '';
  const counts = (record: Readonly<Record<string, number>>, shown = (name: string) => name) =>
    Object.entries(record)
      .map(([name, n]) => `${shown(name)} ${n.toLocaleString('en')}`)
      .join(', ');
  const isMissing = Object.keys(result.missingKeys).length > 0;
  const missing = missingText(result.missingKeys);
  const facts: [string, string][] = [
    ['read', `${source.format}, ${counted(result.count, 'record')} in ${seconds.toFixed(1)} s${rate}`],
    ['from', copied ?? ''],
    [
      'resumed',
      resumed === null
        ? ''
        : `the first ${counted(resumed.count, 'record')} were not verified again: ${resumed.file} says what they are`,
    ],
    ['checked', checkedText(options, keysFrom)],
    ['head', result.head === null ? '' : `${result.head.sequence}  ${result.head.hash}`],
    ['keys', counts(result.keys, shownKeyId)],
    ['not checked', result.outcome === 'failed' && isMissing ? `${missing} ${NAME_RECORD_KEYS}` : ''],
    ['forms', counts(result.profiles)],
    ['warnings', counts(result.warnings)],
    ...noticeLines(result, source),
    ...historyLines(result.history),
    ...rangeLines(result.anchors, leftOut),
  ];
  const failures = result.failures.slice(0, 20).map(({ index, sequence, id, code, error }) => {
    const place =
      index === null ? 'chain' : `record ${index}${sequence === null ? '' : ` (sequence ${sequence})`}`;
    return `  ${colors.red('✗')} ${place}: ${error} ${colors.dim(`[${code}]${id === null ? '' : ` ${id}`}`)}`;
  });
  if (result.failureCount > failures.length)
    failures.push(`  … and ${result.failureCount - failures.length} more; --json lists up to 1,000`);
  const summary = {
    ok: `${counted(result.count, 'record')}, unbroken from the first to the last${unchecked(options)}`,
    failed: `${result.failureCount} of the checks failed`,
    empty: 'there is nothing to verify',
    undecided: `${missing} ${NAME_RECORD_KEYS}`,
  }[result.outcome];
  return [
    `${markOf(RESULTS[result.outcome])}  ${summary}`,
    ...facts
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `  ${colors.dim(name.padEnd(12))}${value}`),
    ...failures,
    ...(result.outcome === 'ok' ? [colors.dim(`  not proven: ${limits.join('; ')}`)] : []),
  ];
}

function checkedText({ structural, hashes, byCheckpoint }: CheckedHow, keysFrom: string): string {
  if (structural) return 'order and links';
  if (hashes) return 'order, links and hashes, and no signature';
  const signatures = byCheckpoint ? 'signers, the signature of the checkpoint' : 'signatures';
  return `order, links, hashes and ${signatures}, with ${keysFrom}`;
}

/** What a level of verification leaves out, in the first line. */
function unchecked({ structural, hashes }: { structural?: boolean; hashes?: boolean }): string {
  if (structural) return '; contents and signatures were NOT checked';
  return hashes ? '; signatures were NOT checked' : '';
}
