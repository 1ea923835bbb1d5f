import { sha256Hex } from '../../crypto/index.ts';
import {
  JsonObject,
  type JsonValue,
  parsePointer,
  parseWithSpans,
  spanAt,
  stringify,
} from '../../json/index.ts';
import { DRIFT_CODES, type DriftCode } from '../drift/codes.ts';
import type { Drift } from '../drift/drift.ts';
import { asObject, type DriftItem, type Severity } from '../drift/item.ts';
import { HASHED_LISTS } from '../file/hashes.ts';
import { SINGLES } from '../file/native.ts';
import { NATIVE_KEY } from '../file/released.ts';
import { LISTS } from '../file/surface.ts';
import { safe } from './json.ts';
import {
  DEFAULT_LOCKFILE,
  evidence,
  limitWords,
  nameWords,
  type Paint,
  type ReportOptions,
  sentenceOf,
} from './report.ts';

interface SarifOptions extends Pick<ReportOptions, 'lockfile' | 'policy'> {
  /** The bytes of the lockfile, so that each result points to its line. Default: all point to the first. */
  readonly source?: Uint8Array;
  /** The version of the program that reports. */
  readonly version?: string;
}

const LEVELS: Readonly<Record<Severity, 'error' | 'warning' | 'note'>> = {
  critical: 'error',
  moderate: 'warning',
  info: 'note',
};
/** What code hosts sort alerts by. */
const SCORES: Readonly<Record<Severity, string>> = { critical: '9.0', moderate: '5.0', info: '1.0' };

/**
 * A drift as a SARIF 2.1.0 log, for code hosts: a rule for each code that occurs, a result for each difference, at
 * the lockfile and, as logical location, at what it is about. `partialFingerprints` stay the same while the same
 * difference stands, wherever the lockfile is. What servers wrote is made visible, and can be no link and no
 * placeholder of a message (§3.11).
 */
export function driftSarif(drift: Drift, options: SarifOptions = {}): string {
  const { lockfile = DEFAULT_LOCKFILE, source, version, policy } = options;
  const uri = encodeURI(lockfile.toWellFormed().replaceAll('\\', '/')).replace(/[?#]/g, encodeURIComponent);
  const codes = [...new Set(drift.items.map(({ code }) => code))].sort();
  const ruleIndex = new Map(codes.map((code, i) => [code, i]));
  const lineOf = source === undefined ? () => 1 : lines(source);
  const denials = policy?.passed === false ? policy.reasons : [];
  const notes = limitWords(drift).map((text) => ({ level: 'note', message: { text: plain(text) } }));
  const rules = [...codes.map(ruleOf), ...(denials.length === 0 ? [] : [POLICY_RULE])];
  const run = {
    tool: { driver: { name: 'Bulla', version, rules } },
    invocations: [
      {
        executionSuccessful: true,
        ...(notes.length > 0 && { toolExecutionNotifications: notes }),
      },
    ],
    columnKind: 'utf16CodeUnits',
    results: [
      ...drift.items.map((item) => ({
        ruleId: item.code,
        ruleIndex: ruleIndex.get(item.code)!,
        level: LEVELS[item.severity],
        message: { text: plain(messageOf(item)) },
        locations: [
          {
            physicalLocation: { artifactLocation: { uri }, region: { startLine: lineOf(item) } },
            logicalLocations: [logicalOf(item)],
          },
        ],
        partialFingerprints: { 'bullaDrift/v1': fingerprint(item) },
        properties: {
          kind: item.kind,
          name: cut(item.name),
          change: item.change,
          path: cut(item.path),
          severity: item.severity,
          prose: item.prose,
        },
      })),
      ...denials.map((reason) => ({
        ruleId: POLICY_RULE.id,
        ruleIndex: codes.length,
        level: 'error',
        message: { text: plain(`policy ${nameWords(policy!.preset)}: ${reason}`) },
        locations: [{ physicalLocation: { artifactLocation: { uri }, region: { startLine: 1 } } }],
        partialFingerprints: { 'bullaPolicy/v1': sha256Hex(JSON.stringify([policy!.preset, reason])) },
      })),
    ],
  };
  const log = {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [run],
  };
  return `${safe(JSON.stringify(log, null, 2))}\n`;
}

/** The rule of what a policy denies. */
const POLICY_RULE = {
  id: 'policy-denied',
  name: 'PolicyDenied',
  shortDescription: { text: 'A policy denies the server.' },
  help: {
    text: 'A rule of the policy does not hold for what the server offers. See "bulla policy explain".',
  },
  defaultConfiguration: { level: 'error' },
  properties: { tags: ['security', 'mcp'], 'security-severity': SCORES.critical },
};

function ruleOf(code: DriftCode) {
  const { label, help, severity } = DRIFT_CODES[code];
  return {
    id: code,
    name: code.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    shortDescription: { text: `${label[0]!.toUpperCase()}${label.slice(1)}.` },
    fullDescription: { text: help },
    help: { text: help },
    defaultConfiguration: { level: LEVELS[severity] },
    properties: { tags: ['security', 'mcp'], 'security-severity': SCORES[severity] },
  };
}

/** What it is about, what happened, and what lies under it. */
function messageOf(item: DriftItem): string {
  const subject = item.name === '' ? item.kind : `${item.kind} ${nameWords(item.name)}`;
  return [`${subject}: ${sentenceOf(item)}`, ...evidence(item, ANGLED)].join('\n');
}

/** What came and went, without the brackets and braces that mean something in a message. */
const ANGLED: Paint = (tone, text) =>
  tone === 'added' ? `<+${text}+>` : tone === 'removed' ? `<-${text}->` : text;

/**
 * A bracket that closes the text of a link, and braces, which would hold a placeholder (§3.11.5, §3.11.6). Backslashes
 * before the bracket are escaped with it: else one of theirs would take ours for what it escapes.
 */
function plain(text: string): string {
  return text.replace(/(?<!\\)(\\*)\](?=\()/g, '$1$1\\]').replace(/[{}]/g, '$&$&');
}

function logicalOf({ kind, name, path }: DriftItem) {
  return {
    ...(name === '' ? {} : { name: cut(name) }),
    fullyQualifiedName: path === '' ? kind : cut(path.slice(1)),
    kind: 'member',
  };
}

/** Names are as long as a server likes; the fingerprint covers all of them. */
function cut(text: string): string {
  return text.length > MAX_NAME ? `${text.slice(0, MAX_NAME).toWellFormed()}…` : text;
}

const MAX_NAME = 1_000;

function fingerprint({ code, path, from, after, hashes }: DriftItem): string {
  const now = hashes?.after ?? (after === undefined ? null : stringify(after, Number.POSITIVE_INFINITY));
  return sha256Hex(JSON.stringify([code, path, from ?? null, now]));
}

/** Finds the line of the lockfile on which what an item is about stands; of what is new, where its list begins. */
function lines(source: Uint8Array): (item: DriftItem) => number {
  const { value, span } = parseWithSpans(source);
  const ends: number[] = [];
  for (let at = source.indexOf(10); at >= 0; at = source.indexOf(10, at + 1)) ends.push(at);
  const isNative = value instanceof JsonObject && value.has(NATIVE_KEY);
  const templates = isNative ? new Map<string, number>() : templateIndex(value);
  return ({ path, from }) => {
    const steps = parsePointer(path)!;
    if (from !== undefined) steps[1] = from;
    const way = isNative ? nativeSteps(steps) : releasedSteps(steps, templates);
    const at = spanAt(value, span, way);
    return lineAt(ends, (at.key ?? at.value).start);
  };
}

/** Our key, with the steps `definition` that a path leaves out. */
function nativeSteps([head, ...rest]: readonly string[]): string[] {
  if (head === undefined) return [NATIVE_KEY];
  if (Object.hasOwn(LISTS, head)) {
    const [name, ...inner] = rest;
    return [NATIVE_KEY, head, name!, ...(inner.length === 0 ? [] : ['definition', ...inner])];
  }
  return [NATIVE_KEY, head, ...(SINGLES.some((name) => name === head) ? ['definition'] : []), ...rest];
}

function releasedSteps(
  [head = '', name]: readonly string[],
  templates: ReadonlyMap<string, number>,
): string[] {
  const step = head === 'resourceTemplates' ? templates.get(name ?? '')?.toString() : name;
  const lists: Readonly<Record<string, readonly string[]>> = HASHED_LISTS;
  return [...(lists[head] ?? []), ...(step === undefined ? [] : [step])];
}

/** A file without our key lists its templates. */
function templateIndex(document: JsonValue): Map<string, number> {
  const list = asObject(asObject(document).get('resources')).get('templates');
  const uris = Array.isArray(list) ? list.map((element) => asObject(element).get('uriTemplate')) : [];
  return new Map(uris.flatMap((uri, i) => (typeof uri === 'string' ? [[uri, i]] : [])));
}

/** Lines are counted from 1. */
function lineAt(ends: readonly number[], offset: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]! < offset) low = middle + 1;
    else high = middle;
  }
  return low + 1;
}
