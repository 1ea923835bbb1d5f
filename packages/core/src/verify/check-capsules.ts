import { type Verdict as RecordVerdict, verifyCapsule } from '../capsule/index.ts';
import { shownKeyId } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { JsonObject } from '../json/index.ts';
import { type Anchor, isLogOf } from '../log/index.ts';
import { counted } from '../text/index.ts';
import { type Artifact, type Finding, findings, type Read } from './artifact.ts';
import { type SegmentRunner, verifyChain } from './chain.ts';
import { anchorOf } from './check-notes.ts';
import { inclusionOf } from './check-proof.ts';
import { historyLines, missingText, noticeLines, unsealedPaths } from './notices.ts';
import { type KeyTrust, type Trust, withRevocations } from './trust.ts';

const LIMITS = ['that the content is true', 'when the records were sealed'];
const { good, bad, undecided, keyless } = findings(['that no records are missing at the end', ...LIMITS]);

type Checked = KeyTrust & Pick<Trust, 'requirePq' | 'allowNonFinite'>;

/**
 * One capsule by itself. What a revoked key signed counts where witnesses saw it before: `seenBefore` tells, by a proof.
 */
export function verifyRecord(
  capsule: JsonObject | Uint8Array,
  { keys, pqKeys, facts, revoked, requirePq = false, allowNonFinite = false }: Checked,
  seenBefore: (seconds: number) => boolean = () => false,
): RecordVerdict {
  const verdict = verifyCapsule(capsule, { keys, pqKeys, facts, requirePq, allowNonFinite });
  return withRevocations(verdict, revoked, seenBefore);
}

/** A capsule, or a chain of them, which is held against the checkpoints of its log among the artifacts. */
export async function checkCapsules(
  artifact: Artifact<'capsules'>,
  trust: Trust,
  artifacts: readonly Artifact[],
  run?: SegmentRunner,
): Promise<Finding> {
  const { capsule } = artifact;
  if (trust.keys.length === 0) return keyless('VERIFY_NO_KEY', 'No key is known to verify with.');
  return capsule === null ? checkChain(artifact, trust, artifacts, run) : checkOne(capsule, trust, artifacts);
}

function checkOne(capsule: JsonObject | Uint8Array, trust: Trust, artifacts: readonly Artifact[]): Finding {
  const verdict = verifyRecord(capsule, trust, (seconds) =>
    artifacts.some((each) => {
      if (each.kind !== 'log proof' || each.proof instanceof BullaError) return false;
      if (!(capsule instanceof JsonObject) || !inclusionOf(each.proof)(capsule)) return false;
      const anchor = anchorOf(each.proof.checkpoint, trust);
      return !(anchor instanceof BullaError) && anchor.witnessedBefore(seconds);
    }),
  );
  const { ok, code, message, ...rest } = verdict;
  const unsealed = unsealedPaths(verdict.unauthenticated);
  const details = { ...rest, not_sealed: unsealed };
  if (code === 'unknown_key') return keyless(code, message, details);
  if (!ok) return bad(code, message, details);
  const limit = unsealed.length === 0 ? '' : ` The seal does not cover ${unsealed.join(', ')}.`;
  const warned = verdict.warnings
    .filter((warning) => warning.code !== 'unauthenticated_field')
    .map((warning) => ` ${warning.path || '(root)'}: ${warning.message}`);
  return good(`One capsule, signed by ${shownKeyId(verdict.key!)}.${limit}${warned.join('')}`, details);
}

async function checkChain(
  { source }: Artifact<'capsules'>,
  trust: Trust,
  artifacts: readonly Artifact[],
  run?: SegmentRunner,
): Promise<Finding> {
  const { keys, pqKeys, facts, revoked, requirePq = false, allowNonFinite = false } = trust;
  const named = anchorsAmong(artifacts, trust);
  let beside: Beside[] = [];
  const {
    state: _state,
    anchors: _anchors,
    ...found
  } = await verifyChain(
    source,
    {
      ...{ keys, pqKeys, facts, revoked, requirePq, allowNonFinite },
      anchors(origin) {
        beside = named.map((one) => compared(one, origin));
        const anchors = beside.flatMap(({ anchor }) => anchor ?? []);
        return anchors.length > 0 ? { anchors } : undefined;
      },
    },
    run,
  );
  const details = {
    format: source.format,
    table: source.table ?? null,
    ...found,
    not_read: source.unread ?? [],
    checkpoints: beside.map(({ name, anchor, reason }) => ({
      file: name,
      size: anchor?.checkpoint.size ?? null,
      not_compared: reason,
    })),
  };
  if (found.outcome === 'empty') return undecided('CHAIN_EMPTY', 'There is nothing to verify.', details);
  if (found.outcome === 'undecided') return keyless('unknown_key', missingText(found.missingKeys), details);
  const [first] = found.failures;
  if (first !== undefined) {
    const more = found.failureCount > 1 ? ` and ${found.failureCount - 1} more` : '';
    return bad(first.code, `${first.error.replace(/\.$/, '')}${more}.`, details);
  }
  const lines = [...noticeLines(found, source), ...historyLines(found.history)].flatMap(([title, text]) =>
    text === '' ? [] : `${title} ${text}`.trimStart(),
  );
  for (const { name, anchor, reason } of beside)
    lines.push(
      anchor === null
        ? `not compared with ${name}: ${reason}`
        : `continues ${name}, a checkpoint of ${counted(anchor.checkpoint.size, 'record')}`,
    );
  const finding = { ...good(`${counted(found.count, 'record')}, all good.`, details), lines };
  const isCovered = beside.some(({ anchor }) => anchor?.checkpoint.size === found.count);
  return isCovered
    ? { ...finding, notProven: ['that no records followed the last checkpoint', ...LIMITS] }
    : finding;
}

/** A checkpoint among the artifacts; where the chain was not compared with it, why. */
interface Beside {
  readonly name: string;
  readonly anchor: Anchor | null;
  readonly reason: string | null;
}

/** The checkpoints among the artifacts, and those of the proofs among them. */
function anchorsAmong(artifacts: readonly Artifact[], trust: Trust): { name: string; found: Read<Anchor> }[] {
  return artifacts.flatMap((each) => {
    if (each.kind === 'checkpoint') return { name: each.name, found: anchorOf(each.note, trust) };
    if (each.kind !== 'log proof') return [];
    const { name, proof } = each;
    return { name, found: proof instanceof BullaError ? proof : anchorOf(proof.checkpoint, trust) };
  });
}

function compared(
  { name, found }: { name: string; found: Read<Anchor> },
  origin: string | undefined,
): Beside {
  if (found instanceof BullaError) return { name, anchor: null, reason: found.message };
  const other = found.checkpoint.origin;
  if (origin === undefined || isLogOf(other, origin)) return { name, anchor: found, reason: null };
  return { name, anchor: null, reason: `it is of the log ${other}, and the chain of ${origin}.` };
}
