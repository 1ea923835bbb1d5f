import type { ManifestDiff } from './diff-types.ts';
import {
  type ChangeGroup,
  evidence,
  groupsOf,
  MARKED,
  type ReportPaint,
  sentenceOf,
  subjectWords,
  verdictSentence,
} from './report.ts';

interface ManifestTextOptions {
  /** Gives a piece of text its colour. Without it words that came and went are marked `{+so+}` and `[-so-]`. */
  readonly color?: ReportPaint;
}

/**
 * A diff for people at a terminal: the verdict, then what is breaking, then the rest, thing by thing, each with what
 * it was and is, what it means and who has to do what. What the manifests say is shown with each character visible.
 */
export function diffText(diff: ManifestDiff, { color = MARKED }: ManifestTextOptions = {}): string {
  const { breaking, non_breaking } = diff;
  const [grave, other] = [color('breaking', 'BREAKING'), color('dim', 'other')];
  const lines = [
    color(breaking.length === 0 ? 'good' : 'breaking', verdictSentence(diff)),
    ...groupsOf(breaking).flatMap((group) => ['', ...groupLines(group, grave, color)]),
    ...groupsOf(non_breaking).flatMap((group) => ['', ...groupLines(group, other, color)]),
  ];
  return `${lines.join('\n')}\n`;
}

function groupLines(group: ChangeGroup, mark: string, paint: ReportPaint): string[] {
  const lines = [`${mark}  ${paint('name', subjectWords(group))}`];
  for (const change of group.changes) {
    lines.push(`  ${sentenceOf(change)} ${paint('dim', `[${change.code}]`)}`);
    for (const line of evidence(change, paint)) lines.push(`    ${line}`);
  }
  return lines;
}
