import { type Profile, profiles } from '@bulla/core/canon';
import type { Command } from '../command.ts';
import { colors, type ReportOptions, report, reportOptions } from '../terminal/io.ts';

export function define(command: Command): void {
  command.use(reportOptions).run(async (options: ReportOptions) => {
    const table = (Object.values(profiles) as Profile[]).map(describe);
    await report(options, table, () => table.map(text).join('\n\n'));
  });
}

function describe(profile: Profile) {
  return {
    id: profile.id,
    family: profile.family,
    use: profile.use,
    keys: profile.keys.text,
    numbers: profile.numbers.text,
    float_paths: profile.floatPaths === undefined ? [] : paths(profile.floatPaths),
    strings: profile.strings.text,
    not_hashed: [
      ...profile.excluded,
      ...(profile.undefinedProperty === 'drop' ? ['undefined properties'] : []),
    ],
    ...(profile.members === undefined ? {} : { members: profile.members }),
    hash: profile.hash,
    domain: profile.domain,
    digest: `${profile.digestPrefix}hex`,
  };
}

function paths(tree: NonNullable<Profile['floatPaths']>, prefix = ''): string[] {
  return [...tree].flatMap(([key, node]) =>
    node === 'float' ? [`${prefix}/${key ?? '*'}`] : paths(node, `${prefix}/${key ?? '*'}`),
  );
}

function text(row: ReturnType<typeof describe>): string {
  const lines: [string, string][] = [
    ['keys', row.keys],
    [
      'numbers',
      row.numbers + (row.float_paths.length > 0 ? `; always a float at ${row.float_paths.join(', ')}` : ''),
    ],
    ['strings', row.strings],
    ['not hashed', row.not_hashed.join(', ')],
    ['members', row.members === undefined ? '' : 'exactly the thirteen of a capsule, a missing one as null'],
    [
      'digest',
      `${row.hash}${row.domain ? ` over ${JSON.stringify(row.domain)} and the bytes` : ''}, ${row.digest}`,
    ],
  ];
  const body = lines
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `  ${colors.dim(name.padEnd(11))}${value}`);
  return [`${colors.bold(row.id)}  ${row.use}`, ...body].join('\n');
}
