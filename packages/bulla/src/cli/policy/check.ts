import { toUtf8 } from '@bulla/core/crypto';
import { stringify } from '@bulla/core/json';
import { verdictText } from '@bulla/core/policy';
import { visible } from '@bulla/core/text';
import { checkPolicy, type LoadedPolicy, type LockTrust, type PolicyChoice } from '../../app/index.ts';
import { replaceFile } from '../../os/index.ts';
import { trustOf } from '../lock/keys.ts';
import { accessOf, type ServerOptions, scanning } from '../lock/server.ts';
import { note } from '../receipt.ts';
import { EXIT, type Exit, type ReportOptions, report } from '../terminal/io.ts';
import { tellingProblems } from './problems.ts';

interface CheckOptions extends ServerOptions, LockTrust, PolicyChoice, ReportOptions {
  lockfile?: string;
  saveInput?: string;
}

export async function check(words: string[], options: CheckOptions): Promise<Exit> {
  const { lockfile, saveInput } = options;
  const { loaded, command, isScanned, verdict } = await tellingProblems(() =>
    checkPolicy({
      ...{ server: words, env: options.env, lockfile, policy: options.policy, preset: options.preset },
      ...trustOf(options),
      ...accessOf(options),
      ...scanning(!options.quiet),
      onFacts: note,
      onInput(recorded) {
        if (saveInput !== undefined) replaceFile(saveInput, toUtf8(`${stringify(recorded)}\n`));
      },
    }),
  );
  const { outcome, errors, warnings, rules, mode, digest } = verdict;
  const document = {
    policy: { ...loaded.source, title: loaded.policy.name, mode, digest },
    server: command,
    scanned: isScanned,
    ...(lockfile !== undefined && { lockfile }),
    outcome: outcome.toUpperCase(),
    errors,
    warnings,
    rules,
  };
  await report(options, document, () => `${heading(loaded, isScanned)}\n${verdictText(verdict)}`);
  return outcome === 'pass' ? EXIT.good : EXIT.bad;
}

function heading({ policy, source, isDefault }: LoadedPolicy, isScanned: boolean): string {
  const why = isDefault ? ', because none was named' : '';
  const about = isScanned ? '' : ', about what the lock stores; no server was asked';
  return `policy ${visible(source.name)} (${source.type}${why}), mode ${policy.mode}${about}`;
}
