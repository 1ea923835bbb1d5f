const NUMBER = '(?:0|[1-9]\\d*)';
const PRE = `(?:${NUMBER}|\\d*[A-Za-z-][0-9A-Za-z-]*)`;
const BUILD = '[0-9A-Za-z-]+';
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${PRE}(?:\\.${PRE})*)?(?:\\+${BUILD}(?:\\.${BUILD})*)?$`,
);

/** Whether a text is a version by the grammar of SemVer 2.0.0. */
export function isSemver(text: string): boolean {
  return SEMVER.test(text);
}
