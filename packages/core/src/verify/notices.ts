import type { ChainNotice, ChainReport } from '../capsule/index.ts';
import { pointer } from '../json/index.ts';
import { counted } from '../text/index.ts';
import type { History } from './history.ts';
import type { ChainSource } from './source.ts';

const UNSEALED = 'unauthenticated_field';

/** What the seals of records do not cover, and what else was noticed in them: names and texts for a report. */
export function noticeLines(
  { notices, moreNotices, count }: Pick<ChainReport, 'notices' | 'moreNotices' | 'count'>,
  { unread = [], table = '' }: Pick<ChainSource, 'unread' | 'table'>,
): [string, string][] {
  const where = ({ count: n, first }: ChainNotice) =>
    n === count && count > 1 ? 'every record' : n === 1 ? `record ${first}` : `${n} records from ${first} on`;
  const unsealed = notices.filter(({ code }) => code === UNSEALED);
  const others = notices.filter(({ code }) => code !== UNSEALED);
  return [
    ['table', table],
    ['not sealed', unsealed.map((notice) => `${notice.path} (${where(notice)})`).join(', ')],
    ['noticed', others.map((notice) => `${notice.code} ${notice.path} (${where(notice)})`).join(', ')],
    ['not read', unread.join(', ')],
    ['', moreNotices === 0 ? '' : `${moreNotices} more fields or places were noticed, and are not listed`],
  ];
}

/** The same of one record, by its top-level fields. */
export function unsealedPaths(fields: readonly string[]): string[] {
  return fields.map((field) => pointer([field]));
}

/** Which unknown keys records name in `signed_by`, in one sentence. */
export function missingText(missing: Readonly<Record<string, number>>): string {
  const names = Object.entries(missing).map(
    ([name, n]) => `${name === '' ? 'unnamed' : `signed_by ${name}`} (${counted(n, 'record')})`,
  );
  return `Signatures by unknown keys could not be checked: ${names.join(', ')}.`;
}

/** What happened to a chain besides its records: names and texts for a report. */
export function historyLines({ unfinished, orphaned, recoveries, clockBack }: History): [string, string][] {
  const some = (texts: readonly string[], count: number) =>
    `${texts.slice(0, 5).join(', ')}${count > 5 ? ` and ${count - 5} more` : ''}`;
  const told = ({ count, first }: History['unfinished'], what: string) => {
    if (count === 0) return '';
    const calls = first.map(({ id, index }) => `${id} (record ${index})`);
    return `${count === 1 ? '1 call has' : `${count} calls have`} ${what}: ${some(calls, count)}`;
  };
  return [
    ['unfinished', told(unfinished, 'an intent and no outcome')],
    ['orphaned', told(orphaned, 'an outcome that nobody knows, since the process ended')],
    ...recoveries.map(({ index, origin, reason }): [string, string] => [
      'recovered',
      `at record ${index} the chain goes on as ${origin}, although it did not continue its checkpoint: ${reason}`,
    ]),
    ...clockBack.first
      .slice(0, 5)
      .map(({ index, before, after }): [string, string] => [
        'clock',
        `went back at record ${index}, from ${before} to ${after}`,
      ]),
    ['', clockBack.count > 5 ? `the clock went back ${clockBack.count - 5} more times` : ''],
  ];
}
