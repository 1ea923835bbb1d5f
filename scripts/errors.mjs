/** Writes `docs/errors.md` from the table of codes: `npm run errors`. */
import { writeFileSync } from 'node:fs';
import { AREAS, KINDS } from '../packages/core/src/codes.ts';

const MEANING = {
  usage: 'the call is wrong: an option, an argument, a setting',
  input: 'what was given to read is not what it should be',
  limit: 'what was given is larger, deeper or more than allowed',
  missing: 'what is named does not exist',
  conflict: 'it does not fit the present state: done already, changed meanwhile, not begun',
  bad: 'what was checked is bad: changed, forged, contradictory',
  denied: 'a rule, a person or a switch forbids it',
  unavailable: 'what would do or decide it is not at hand, or fails now',
  peer: 'another program answered with what cannot be used',
  timeout: 'another program did not answer in time',
  defect: 'Bulla itself failed',
  warning: 'nothing failed; a report or a log has it beside its result',
};

const row = (...cells) => `| ${cells.join(' | ')} |`;

/** The whole document. */
export function errorsDocument() {
  const kinds = Object.entries(KINDS).map(([kind, { exit, http, rpc }]) =>
    row(kind, MEANING[kind], ...(kind === 'warning' ? ['–', '–', '–'] : [exit, http, rpc])),
  );
  const areas = Object.entries(AREAS).flatMap(([title, rows]) => [
    `## ${title}`,
    '',
    row('code', 'kind', 'what it means'),
    '|---|---|---|',
    ...Object.entries(rows).map(([code, [kind, help]]) => row(`\`${code}\``, kind, help)),
    '',
  ]);
  return `${[
    '# Error codes',
    '',
    '<!-- Written by `npm run errors` from packages/core/src/codes.ts. -->',
    '',
    'Every error has a code that does not change, a plain sentence, and where it is known the path (JSON Pointer) or the byte offset. Programs go by the code, or by its kind.',
    '',
    '## Kinds',
    '',
    'The exit code of a command, the status of an HTTP answer and the code of a JSON-RPC error follow from the kind. Where a protocol has a number of its own for a case (an unknown method, a text that is not JSON), it has precedence. A few commands know better than the code: what cannot be locked is `bad` when a server shows it, and `input` when a file holds it. A file that is verified is `bad` or undecided, whatever is wrong with it.',
    '',
    row('kind', 'what it means', 'exit', 'HTTP', 'JSON-RPC'),
    '|---|---|---|---|---|',
    ...kinds,
    '',
    ...areas,
  ]
    .join('\n')
    .trimEnd()}\n`;
}

if (import.meta.main) writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsDocument());
