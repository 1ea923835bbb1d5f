import { visible } from '@bulla/core/text';
import type { Basis, Trace } from '@bulla/core/verify';
import { traceFiles } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { type ApproverOptions, approverOption, approversAmong } from '../envelope/options.ts';
import { readPolicy } from '../log/anchors.ts';
import {
  blanksCounted,
  colors,
  EXIT,
  type Exit,
  type ReportOptions,
  report,
  reportOptions,
} from '../terminal/io.ts';
import { type TrustOptions, trusted, trustOptions } from './trust.ts';

export function define(command: Command): void {
  command
    .use(trustOptions)
    .option('--policy <file>', 'a tlog-policy file: the witnesses that checkpoints and proofs must have')
    .use(approverOption, reportOptions)
    .argument('<capsule>', 'the capsule of a call: its id or its hash')
    .argument('<file...>', 'its chain, and what it may rest on')
    .helpText(`
Walks from one capsule of a call to everything that it rests on: the chain, the lock and the tool in it, the manifest
with its bindings, the rules, the question and the answer, the envelope with its authorization and its policy. Needs
only the files and public keys. Each step says what it is known by:

  verified        by a signature, or by a digest in a record whose signature verified
  self-reported   somebody says so of themselves
  inferred        it follows from what is there, and nobody sealed it
  absent          what would show it is not at hand
  failed          what is at hand contradicts it

The keys of people who approve envelopes are named with --approver: they count for authorizations and for nothing else.
Without it, every key that is trusted counts for both.
Exits with 0 if nothing failed or is absent, 1 if a step failed, 3 if one is absent.

Example:
  $ bulla trace 5c6a… chain.jsonl mcp-lock.json manifest.json bindings.json --keyring keyring.json`)
    .run(traceOne);
}

async function traceOne(
  capsule: string,
  files: string[],
  options: TrustOptions & ReportOptions & ApproverOptions & { policy?: string },
): Promise<Exit> {
  const policy = options.policy === undefined ? undefined : readPolicy(options);
  const keys = trusted(options);
  const trust = { ...keys, vkeys: [], policy, approvers: approversAmong(options, keys) };
  const found = await traceFiles(capsule, files, trust);
  const { intent, outcome, steps, notProven } = found;
  const has = (basis: Basis) => steps.some((step) => step.basis === basis);
  const ok = !has('failed') && !has('absent');
  await report(options, { ok, intent, outcome, steps, not_proven: notProven }, () => lines(found));
  return has('failed') ? EXIT.bad : has('absent') ? EXIT.undecided : EXIT.good;
}

const PAINT: Readonly<Record<Basis, (text: string) => string>> = {
  verified: colors.green,
  'self-reported': colors.dim,
  inferred: colors.dim,
  absent: colors.yellow,
  failed: colors.red,
};

function lines({ steps, notProven }: Trace): string[] {
  return [
    ...steps.map(({ step, basis, says, artifact, code }) => {
      const where =
        artifact === undefined || artifact === '' ? '' : colors.dim(` (${blanksCounted(visible(artifact))})`);
      const why = code === undefined ? '' : colors.dim(` [${code}]`);
      return `${PAINT[basis](basis.padEnd(13))}  ${step.padEnd(13)}  ${blanksCounted(visible(says))}${where}${why}`;
    }),
    colors.dim(`not proven: ${notProven.join('; ')}`),
  ];
}
