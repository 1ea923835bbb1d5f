import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, stringify } from '@bulla/core/json';
import { drift, type Lock, lockDigest, type Surface, surfaceOf } from '@bulla/core/lock';
import {
  evaluateSurface,
  type NamedTool,
  policyCheckInput,
  prepareInput,
  toolInput,
  verdictText,
} from '@bulla/core/policy';
import { visible } from '@bulla/core/text';
import { describeTarget, identityOf, targetOf } from '../../locks/index.ts';
import { replaceFile } from '../../os/index.ts';
import { openLock, type RequireOptions } from '../lock/keys.ts';
import { type ServerOptions, scanServer, targetFor } from '../lock/server.ts';
import { note } from '../receipt.ts';
import { EXIT, type Exit, type ReportOptions, refusing, report } from '../terminal/io.ts';
import { type LoadedPolicy, loadPolicy, type PolicyOptions } from './file.ts';

interface CheckOptions extends ServerOptions, RequireOptions, PolicyOptions, ReportOptions {
  lockfile?: string;
  saveInput?: string;
}

export async function check(words: string[], options: CheckOptions): Promise<Exit> {
  const loaded = loadPolicy(options, { shape: 'policy-check' });
  const lock = options.lockfile === undefined ? null : openLock(options.lockfile, options);
  note({ policy: { name: loaded.source.name, digest: loaded.policy.digest } });
  if (lock !== null) note({ lock: lockDigest(lock) });
  const { command, surface, isScanned, ...compared } = await subject(words, options, lock);
  const { input, list, tools } = refusing('The rules cannot be asked about the server', () => {
    const made = policyCheckInput({ command, surface, ...(lock && { lock }), ...compared });
    return { input: made, list: prepareInput('policy-check', made), tools: toolInputs(surface) };
  });
  if (options.saveInput !== undefined) {
    const document = new JsonObject(['shape', 'input'], ['policy-check', input]);
    replaceFile(options.saveInput, toUtf8(`${stringify(document)}\n`));
  }
  const verdict = evaluateSurface(loaded.policy, list, tools);
  if (verdict.rules.length === 0)
    throw new BullaError('POLICY_NOTHING_ASKED', 'The policy has no rule about a server or its tools.');
  const { rules, outcome, errors, warnings } = verdict;
  note({
    policy: { name: loaded.source.name, digest: verdict.digest, outcome, errors, warnings },
    failed: rules.filter(({ passed }) => !passed).map(({ name }) => name),
  });
  const document = {
    policy: { ...loaded.source, title: loaded.policy.name, mode: verdict.mode, digest: verdict.digest },
    server: command,
    scanned: isScanned,
    ...(options.lockfile !== undefined && { lockfile: options.lockfile }),
    outcome: outcome.toUpperCase(),
    errors,
    warnings,
    rules,
  };
  await report(options, document, () => `${heading(loaded, isScanned)}\n${verdictText(verdict)}`);
  return outcome === 'pass' ? EXIT.good : EXIT.bad;
}

interface Subject {
  readonly command: string;
  readonly surface: Surface;
  /** Whether the server itself was asked, and not its lock. */
  readonly isScanned: boolean;
  readonly drift?: ReturnType<typeof drift>;
}

/** What the rules are asked about: the server, else what a lock stores of it, else the server that the lock names. */
async function subject(words: readonly string[], options: CheckOptions, lock: Lock | null): Promise<Subject> {
  if (words.length === 0 && lock?.native)
    return { command: describeTarget(targetOf(lock)), surface: surfaceOf(lock.native), isScanned: false };
  const target = targetFor(words, options.env, lock);
  const { surface, authorization } = await scanServer(target, options, !options.quiet);
  const command = describeTarget(target);
  if (lock === null) return { command, surface, isScanned: true };
  const found = refusing('The server cannot be compared', () =>
    drift(lock, surface, { identity: identityOf(target), authorization }),
  );
  return { command, surface, isScanned: true, drift: found };
}

/** The tools of a surface, for rules about each. */
export function toolInputs({ tools, serverInfo }: Surface): NamedTool[] {
  const name = serverInfo.get('name');
  const server = typeof name === 'string' ? name : '';
  return tools.map((tool) => ({
    name: String(tool.get('name')),
    input: prepareInput('tool', toolInput(tool, { server })),
  }));
}

function heading({ policy, source, isDefault }: LoadedPolicy, isScanned: boolean): string {
  const why = isDefault ? ', because none was named' : '';
  const about = isScanned ? '' : ', about what the lock stores; no server was asked';
  return `policy ${visible(source.name)} (${source.type}${why}), mode ${policy.mode}${about}`;
}
