import { counted, markdownBlock, markdownCell, markdownReferences } from '../text/index.ts';
import type { ManifestDiff } from './diff.ts';
import {
  type ChangeGroup,
  evidence,
  groupsOf,
  MARKED,
  sentenceOf,
  subjectWords,
  verdictSentence,
} from './report.ts';

/**
 * A diff for a pull request: the verdict, a table of what changed, and the details behind headings that open. What the
 * manifests say stands only in code or as character references, every character visible. `maxLength` is in UTF-16
 * units, for a comment on a pull request has a limit; what does not fit is counted, never dropped in silence.
 */
export function diffMarkdown(
  diff: ManifestDiff,
  { maxLength = 60_000 }: { readonly maxLength?: number } = {},
): string {
  const groups = [
    ...groupsOf(diff.breaking).map((group) => ({ group, mark: '🔴', word: 'breaking' })),
    ...groupsOf(diff.non_breaking).map((group) => ({ group, mark: '⚪', word: 'other' })),
  ];
  const lines = [`### ${diff.breaking.length === 0 ? '✅' : '❌'} Manifest`, '', verdictSentence(diff)];
  if (groups.length > 0) lines.push('', '| | What | Changed |', '|---|---|---|');
  let room = maxLength - lines.join('\n').length - 200;
  const put = (texts: readonly string[], left: (count: number) => string) => {
    for (const [i, text] of texts.entries()) {
      room -= text.length + 1;
      if (room < 0) {
        lines.push('', left(texts.length - i));
        return false;
      }
      lines.push(text);
    }
    return true;
  };
  const rows = groups.map(({ group, mark, word }) => row(group, mark, word));
  const fits = put(rows, (count) => `And ${counted(count, 'row')} more, for which there is no room here.`);
  if (fits) {
    const details = groups.map(({ group, mark }) => section(group, mark));
    put(details, (count) => `The details of ${count} more are left out, for which there is no room here.`);
  }
  return `${lines.join('\n')}\n`;
}

function row({ kind, name, changes }: ChangeGroup, mark: string, word: string): string {
  const what = name === '' ? kind : `${kind} ${markdownCell(name)}`;
  return `| ${mark} ${word} | ${what} | ${[...new Set(changes.map(({ code }) => code))].join(', ')} |`;
}

function section(group: ChangeGroup, mark: string): string {
  const text = group.changes
    .flatMap((change) => [sentenceOf(change), ...evidence(change, MARKED).map((line) => `  ${line}`)])
    .join('\n');
  const heading = `${mark} <code>${markdownReferences(subjectWords(group))}</code>`;
  return ['', `<details><summary>${heading}</summary>`, '', markdownBlock(text), '', '</details>'].join('\n');
}
