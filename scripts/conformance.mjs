// npm run -s conformance -- [NAME=URL]... [options]
// npm run -s conformance -- --role client [NAME=COMMAND]... [options]
//
// Runs the scenarios of @modelcontextprotocol/conformance for 2025-11-25 and 2026-07-28, prints a line for each, and marks
// each check that a gateway changes.
// Server scenarios: against the fixture (packages/bulla/test/servers/conformance.ts), and against each NAME=URL, which is a
// gateway in front of that fixture.
// Client scenarios: with packages/bulla/test/conformance-client.ts alone, and with each NAME=COMMAND between it and the
// suite's server: a gateway with its host on stdio. COMMAND is taken apart at spaces; {url} in it stands for the server.
//
//   --direct URL       a fixture that runs already (else one is started)
//   --version V        only this version (can be repeated)
//   --scenario S       only this scenario (can be repeated)
//   --expected FILE    differences that have a reason (default: conformance-expected.json beside this script)
//   --json             one document instead of the table
//
// The file of expectations is a list of {"column", "version", "scenario", "checks": {CHECK: STATUS}, "reason"}: in that
// column each CHECK has STATUS, or is "absent", and without the gateway it has another status.
//
// Exit code: 0 as expected; 1 a scenario fails without a gateway, a difference is not expected, or an expected one does not
// occur; 2 wrong usage; 3 the suite could not be run. Columns run one after the other, because they may share a fixture
// whose notifications would reach both; the two versions run at the same time.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  clientVerdicts,
  differences,
  judge,
  parseExpected,
  scenarios,
  startFixture,
  VERSIONS,
  verdicts,
} from '../packages/bulla/test/conformance.ts';

function usage(message) {
  process.stderr.write(
    `${message}\nusage: npm run -s conformance -- [--role client] [NAME=URL|NAME=COMMAND]... [--json]\n`,
  );
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        role: { type: 'string', default: 'server' },
        direct: { type: 'string' },
        version: { type: 'string', multiple: true, default: [...VERSIONS] },
        scenario: { type: 'string', multiple: true },
        expected: { type: 'string', default: join(import.meta.dirname, 'conformance-expected.json') },
        json: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return usage(error.message);
  }
}

/** The scenarios of a version that were asked for. */
async function chosen(version, { role, scenario: only }) {
  const all = await scenarios(version, role);
  return only === undefined ? all : all.filter(({ name }) => only.includes(name));
}

/** All columns of one version: the rows of the table, and the complaints about them. */
async function compare(version, columns, expected) {
  const wanted = await chosen(version, values);
  const options = values.scenario === undefined ? {} : { only: wanted.map(({ name }) => name) };
  const found = [];
  for (const { name, what } of columns) {
    const run = values.role === 'client' ? clientVerdicts : verdicts;
    found.push({ name, verdicts: await run(what, version, options) });
  }
  const [direct, ...others] = found;
  const names = new Set(wanted.map(({ name }) => name));
  const judged = others.map((column) => {
    const own = expected.filter(
      (entry) => entry.column === column.name && entry.version === version && names.has(entry.scenario),
    );
    const list = differences(direct.verdicts, column.verdicts);
    return { column: column.name, differences: list, expected: own, ...judge(list, own) };
  });
  const rows = wanted.map(({ name, required }) => ({
    version,
    scenario: name,
    required,
    columns: Object.fromEntries(found.map((column) => [column.name, column.verdicts.get(name)])),
  }));
  return { version, rows, judged };
}

function print({ version, rows, judged }, columns) {
  const width = Math.max(version.length, ...rows.map(({ scenario }) => scenario.length));
  const head = columns.map(({ name }) => name.padEnd(Math.max(name.length, 6))).join(' ');
  console.log(`${version.padEnd(width)}  ${head}`.trimEnd());
  for (const { scenario, required, columns: outcomes } of rows) {
    const cells = columns
      .map(({ name }) => outcomes[name].verdict.padEnd(Math.max(name.length, 6)))
      .join(' ');
    console.log(`${scenario.padEnd(width)}  ${cells}${required ? '' : ' (not required)'}`.trimEnd());
    for (const { id, status, message } of outcomes.direct.checks)
      if (status === 'FAILURE' || status === 'WARNING') console.log(`  direct: ${id}: ${status}: ${message}`);
    for (const column of judged) {
      const entry = column.expected.find((one) => one.scenario === scenario);
      for (const difference of column.differences.filter((one) => one.scenario === scenario)) {
        const { check, direct, other } = difference;
        const why = column.unexpected.includes(difference) ? 'UNEXPECTED' : entry.reason;
        console.log(`  ≠ ${column.column}: ${check}: ${direct} → ${other} (${why})`);
        const { message } = outcomes[column.column].checks.find(({ id }) => id === check) ?? {};
        if (message !== undefined) console.log(`    ${message}`);
      }
      for (const { check } of column.stale.filter((one) => one.scenario === scenario))
        console.log(`  ≠ ${column.column}: ${check}: expected to differ as listed, and does not (STALE)`);
    }
  }
}

const { values, positionals } = readArguments();
if (values.role !== 'server' && values.role !== 'client') usage('A role is server or client.');
const others = positionals.map((word) => {
  const [, name, what] = /^([^=]+)=(.+)$/.exec(word) ?? usage(`This has no name of a column: ${word}`);
  if (values.role === 'client') return { name, what: what.trim().split(/ +/) };
  if (!/^https?:\/\//.test(what)) usage(`This is no URL: ${what}`);
  return { name, what };
});
const names = ['direct', ...others.map(({ name }) => name)];
if (new Set(names).size < names.length)
  usage('Each column needs a name of its own; "direct" has no gateway.');
if (values.role === 'client' && values.direct !== undefined) usage('Client scenarios have no fixture.');
for (const version of values.version)
  if (!VERSIONS.includes(version)) usage(`There is no set of scenarios for ${version}.`);
const selections = await Promise.all(values.version.map((version) => chosen(version, values)));
const unknown = values.scenario?.find((name) => !selections.flat().some((one) => one.name === name));
if (unknown !== undefined) usage(`There is no such scenario: ${unknown}`);
let expected;
try {
  expected = parseExpected(await readFile(values.expected, 'utf8'));
} catch (error) {
  usage(`${values.expected}: ${error.message}`);
}

let results;
try {
  const isStarted = values.role === 'server' && values.direct === undefined;
  await using fixture = isStarted ? await startFixture() : undefined;
  const columns = [{ name: 'direct', what: fixture?.url ?? values.direct }, ...others];
  results = await Promise.all(values.version.map((version) => compare(version, columns, expected)));
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(3);
}
if (values.json) console.log(JSON.stringify({ columns: names, versions: results }));
else
  for (const result of results.filter(({ rows }) => rows.length > 0))
    print(result, [{ name: 'direct' }, ...others]);
const isGood = results.every(
  ({ rows, judged }) =>
    rows.every(({ columns }) => columns.direct.verdict === 'pass') &&
    judged.every(({ unexpected, stale }) => unexpected.length === 0 && stale.length === 0),
);
process.exit(isGood ? 0 : 1);
