import { spawn } from 'node:child_process';
import type { ApproverKey, ExecProfile, Verdict } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { createVerifier, type Decision, ExecutionNotStarted, type Verifier } from '../envelope/index.ts';
import { createRecorder } from '../record/index.ts';
import type { Chain, Store } from '../store/index.ts';

/** The ledger that decides, and what is presented to it. */
export interface LedgerInput {
  readonly store: Store;
  readonly chain: Chain;
  /** The name of the ledger, as authorizations name it. */
  readonly audience: string;
  /** The tenant whose envelopes it executes. */
  readonly tenantId: string;
  readonly keys: readonly ApproverKey[];
  readonly profile: ExecProfile;
  readonly envelope: Uint8Array;
  readonly authorization: Uint8Array | null;
  /** The exec_hash that the envelope must have. */
  readonly expected: string | undefined;
}

interface ExecuteInput extends LedgerInput {
  /** The program and its arguments. It gets the envelope on its standard input. */
  readonly command: readonly [string, ...string[]];
}

/** How each step of the checklist would go; consumes and records nothing. */
export function explainSteps(input: LedgerInput): Promise<Verdict> {
  return verifierOf(input).check(input.envelope, input.authorization, aboutOf(input));
}

/** Runs a command once for an envelope, when every step passes and that is durable; its output goes to standard error. */
export function executeEnvelope(input: ExecuteInput): Promise<Decision<number>> {
  const { envelope, authorization, command } = input;
  const [program, ...args] = command;
  const execute = () => run(program, args, envelope);
  return verifierOf(input).verifyAndConsume(envelope, authorization, execute, aboutOf(input));
}

function verifierOf({ store, chain, audience, tenantId, keys, profile }: LedgerInput): Verifier {
  return createVerifier({ store, record: createRecorder(chain), audience, tenantId, keys, profile });
}

function aboutOf({ expected }: LedgerInput): { expected?: string } {
  return expected === undefined ? {} : { expected };
}

function run(program: string, args: readonly string[], envelope: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 2, 2] });
    child.once('error', (cause) =>
      reject(
        new ExecutionNotStarted(
          `${program} could not be started (${(cause as NodeJS.ErrnoException).code}).`,
          { cause },
        ),
      ),
    );
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(0);
      reject(new BullaError('ENVELOPE_COMMAND_FAILED', `${program} ended with ${code ?? signal}.`));
    });
    // A command that does not read its input is as good as one that does.
    child.stdin!.once('error', () => undefined);
    child.stdin!.end(envelope);
  });
}
