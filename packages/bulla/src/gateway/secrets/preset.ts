import { setImmediate } from 'node:timers/promises';
import type { Range } from './range.ts';

/** How many UTF-16 units secretlint is given at once: some of its work grows faster than the text. */
const WINDOW = 16 * 1024;
/** How much of a window is in the next one too: the longest token that is found wherever it stands. */
const OVERLAP = 2 * 1024;

const PREFIX = '@secretlint/secretlint-rule-';
/** With this rule, a text could say of itself that it is not to be searched. */
const COMMENTS = `${PREFIX}filter-comments`;

/** The secrets in a text that the recommended rules of secretlint find; each kind is the name of the rule. */
export async function presetRanges(text: string): Promise<Range[]> {
  loading ??= load();
  const { lintSource, rules } = await loading;
  const found: Range[] = [];
  for (let from = 0; from < text.length; from += WINDOW - OVERLAP) {
    if (from > 0) await setImmediate();
    // In front stands a newline, because a byte order mark there would be cut, and all ranges moved.
    const content = `\n${text.slice(from, from + WINDOW)}`;
    const { messages } = await lintSource({
      // Rules look at the names of files, and open some; without one they search the text.
      source: { content, contentType: 'text', filePath: '', ext: '.txt' },
      options: { noPhysicFilePath: true, config: { rules } },
    });
    for (const { ruleId, range } of messages)
      found.push({ start: from + range[0] - 1, end: from + range[1] - 1, kind: ruleId.slice(PREFIX.length) });
    if (from + WINDOW >= text.length) break;
  }
  return found;
}

let loading: ReturnType<typeof load> | undefined;

/** Loads secretlint when it is used first; calls without such a rule do not wait for it. */
async function load() {
  const [{ lintSource }, preset, { secretLintProfiler }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/secretlint-rule-preset-recommend'),
    import('@secretlint/profiler'),
  ]);
  // It would keep marks of every rule of every search for ever, and take most of the time.
  secretLintProfiler.setEnabled(false);
  const rules = preset.rules
    .filter(({ meta }) => meta.id !== COMMENTS)
    .map((rule) => ({ id: rule.meta.id, rule }));
  return { lintSource, rules };
}
