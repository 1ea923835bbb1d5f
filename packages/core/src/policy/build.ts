import { BullaError } from '../error.ts';
import {
  type JsonNumber,
  JsonObject,
  type JsonValue,
  number,
  type Path,
  parse,
  pointer,
} from '../json/index.ts';
import {
  type Artifact,
  DEFAULT_EXCLUSIONS,
  type Drift,
  driftJson,
  entryOf,
  type Lock,
  type Provenance,
  riskKeywords,
  riskLevel,
  type Surface,
} from '../lock/index.ts';

// Inputs are made as JSON, so that one that was recorded and one that was made now are the same thing.
// All of these throw `POLICY_INPUT` with the path for a definition that is not what the protocol says.

/** What `policy check` asks rules about. */
interface PolicyCheckSubject {
  /** How the server is reached. */
  readonly command: string;
  readonly surface: Surface;
  /** Whose artifact the server is said to be. */
  readonly lock?: Lock;
  /** How the surface differs from the lock. */
  readonly drift?: Drift;
}

/** The input of shape `policy-check`. */
export function policyCheckInput({ command, surface, lock, drift }: PolicyCheckSubject): JsonObject {
  const artifact = lock?.artifact ?? null;
  const info = ['serverInfo'];
  return members({
    command,
    tools: surface.tools.map(tool),
    resources: surface.resources.map((resource, i) =>
      members({
        uri: text(resource, 'uri', ['resources', i]),
        name: text(resource, 'name', ['resources', i]),
        description: text(resource, 'description', ['resources', i]),
        mime_type: text(resource, 'mimeType', ['resources', i]),
      }),
    ),
    // A server that could not be scanned has no input.
    error: '',
    server_info: members({
      name: text(surface.serverInfo, 'name', info),
      version: text(surface.serverInfo, 'version', info),
      protocol_version: surface.protocolVersion,
    }),
    artifact: artifact === null ? undefined : artifactRecord(artifact),
    provenance: sourceProvenance(artifact?.provenance ?? null),
    drift: drift && driftRecord(drift),
    resource_schemes: schemes(surface),
  });
}

/** What `check` asks rules about. Prompts, templates and the artifact are the lock's, tools the server's. */
interface CheckSubject {
  readonly surface: Surface;
  readonly lock: Lock;
  readonly drift: Drift;
}

/** The input of shape `check`. */
export function checkInput({ surface, lock, drift }: CheckSubject): JsonObject {
  const artifact = lock.artifact === null ? undefined : artifactRecord(lock.artifact);
  const prompts = [...(lock.prompts ?? [])];
  const templates = [...(lock.resourceTemplates ?? new Map()).values()];
  const locked = templates.flatMap(({ uriTemplate }) => {
    const end = uriTemplate.indexOf('://');
    return end < 0 ? [] : [uriTemplate.slice(0, end).toLowerCase()];
  });
  return members({
    lockfileVersion: lock.version,
    server: members({ name: lock.serverName ?? '', artifact }),
    prompts: members({
      names: prompts.map(([name]) => name),
      definitions: JsonObject.from(
        prompts.map(([name, { argumentsHash }]) => [name, members({ argumentsHash })] as const),
      ),
    }),
    resources: members({
      templates: templates.map(({ uriTemplate, mimeType, templateHash }) =>
        members({ uriTemplate, mimeType: mimeType ?? '', templateHash }),
      ),
      schemes: sorted(locked),
    }),
    drift: driftRecord(drift),
    tools: surface.tools.map(tool),
    artifact,
    resource_schemes: schemes(surface),
  });
}

/** Where a tool comes from. */
interface ToolOrigin {
  /** By what name the server is known here. */
  readonly server: string;
  /** The digest of the tool's definition, as a lock holds it. Default: that of the definition. */
  readonly digest?: string;
}

/** The input of shape `tool`, for a definition as the server shows it. */
export function toolInput(definition: JsonObject, origin: ToolOrigin): JsonObject {
  return members({ tool: calledTool(definition, origin), server: members({ name: origin.server }) });
}

interface CallOrigin extends ToolOrigin {
  /** Who calls; left out where nobody said. */
  readonly agent?: string;
}

/** What was done before in the session of a call. */
export interface SessionFacts {
  readonly id: string;
  readonly calls: number;
  readonly denials: number;
  /** The names of the tools that were called, in order. */
  readonly tools: readonly string[];
}

/** Calls in a time, and the bytes of the messages that asked for them. */
export interface Use {
  readonly calls: number;
  readonly bytes: number;
}

/** What was used in the last minute, hour and day. */
export type Uses = Readonly<Record<'minute' | 'hour' | 'day', Use>>;

/** What rules may ask of a call beside its arguments; only what some rule names need be there. */
export interface CallFacts {
  readonly secrets?: readonly { readonly pointer: string; readonly kind: string }[] | undefined;
  readonly session?: SessionFacts | undefined;
  readonly used?: Readonly<Record<'agent' | 'tool' | 'session', Uses>> | undefined;
}

/** The input of shape `call`, for a definition as the server shows it and the arguments of the call. */
export function callInput(
  definition: JsonObject,
  args: JsonObject,
  origin: CallOrigin,
  { secrets, session, used }: CallFacts = {},
): JsonObject {
  return members({
    ...callMembers(definition, args, origin),
    call: secrets && members({ secrets: secrets.map((secret) => members({ ...secret })) }),
    session:
      session &&
      members({
        id: session.id,
        calls: count(session.calls),
        denials: count(session.denials),
        tools: [...session.tools],
      }),
    used:
      used &&
      members({
        agent: usesRecord(used.agent),
        tool: usesRecord(used.tool),
        session: usesRecord(used.session),
      }),
  });
}

function usesRecord({ minute, hour, day }: Uses): JsonObject {
  const use = ({ calls, bytes }: Use) => members({ calls: count(calls), bytes: count(bytes) });
  return members({ minute: use(minute), hour: use(hour), day: use(day) });
}

/** What a call of a tool gave. */
export interface ResultFacts {
  readonly isError: boolean;
  /** All of its texts. */
  readonly text: string;
  readonly structured?: JsonValue | undefined;
  /** Of the message that brought it. */
  readonly bytes: number;
}

/** The input of shape `result`, for a call and what it gave. */
export function resultInput(
  definition: JsonObject,
  args: JsonObject,
  origin: CallOrigin,
  { isError, text, structured, bytes }: ResultFacts,
): JsonObject {
  return members({
    ...callMembers(definition, args, origin),
    result: members({ is_error: isError, text, structured, bytes: count(bytes) }),
  });
}

function count(value: number): JsonNumber {
  return number(String(value));
}

function callMembers(definition: JsonObject, args: JsonObject, origin: CallOrigin) {
  return {
    tool: calledTool(definition, origin),
    server: members({ name: origin.server }),
    agent: origin.agent === undefined ? undefined : members({ id: origin.agent }),
    arguments: args,
  };
}

function calledTool(definition: JsonObject, { digest }: ToolOrigin): JsonObject {
  const { keys, values } = tool(definition, 0);
  const own = digest ?? entryOf(definition, DEFAULT_EXCLUSIONS.tools).digest;
  return new JsonObject([...keys, 'digest'], [...values, own]);
}

function tool(definition: JsonObject, index: number): JsonObject {
  const at = ['tools', index];
  const name = text(definition, 'name', at);
  const description = text(definition, 'description', at);
  const reasons = riskKeywords(name, description);
  return members({
    name,
    description,
    input_schema: object(definition, 'inputSchema', at) ?? new JsonObject(),
    risk_level: riskLevel(name, description),
    risk_reasons: reasons.map((word) => `contains dangerous keyword: "${word}"`),
    annotations: object(definition, 'annotations', at),
  });
}

/** As the released program has it, an absent member is an empty text. */
function artifactRecord({ provenance, ...artifact }: Artifact): JsonObject {
  const { type, name, version, registry, integrity, image, digest } = artifact;
  return members({
    ...texts({ type, name, version, registry, integrity, image, digest }),
    provenance: provenance === null ? undefined : members(provenanceMembers(provenance)),
  });
}

function provenanceMembers({ verified, ...provenance }: Provenance): Record<string, JsonValue> {
  const { method, predicate_type, builder_id, source_repo, source_ref } = provenance;
  const { workflow_uri, issuer, identity, verified_at } = provenance;
  return {
    ...texts({ method, predicate_type, builder_id, source_repo, source_ref }),
    ...texts({ workflow_uri, issuer, identity, verified_at }),
    verified,
  };
}

/** The released program has it at the top only where it checked a SLSA statement, with two names more. */
function sourceProvenance(provenance: Provenance | null): JsonObject | undefined {
  if (provenance?.method !== 'cosign_slsa') return undefined;
  const { source_repo, workflow_uri } = provenance;
  return members({
    ...provenanceMembers(provenance),
    ...texts({ config_source_uri: source_repo, config_source_entrypoint: workflow_uri }),
  });
}

/** The words of the released program's report. */
function driftRecord(drift: Drift): JsonObject {
  const report = parse(driftJson(drift)) as JsonObject;
  const items = (report.get('drift') as JsonObject[]).map((item) => {
    const word = (key: string) => (item.get(key) as string | undefined) ?? '';
    return members({
      type: word('type'),
      severity: word('severity'),
      id: word('identifier'),
      oldHash: word('oldHash'),
      newHash: word('newHash'),
      message: word('message'),
    });
  });
  return members({ hasDrift: items.length > 0, items });
}

/** The schemes of all addresses that the server shows. */
function schemes({ resources, resourceTemplates }: Surface): string[] {
  const addresses = [
    ...resources.map((resource, i) => text(resource, 'uri', ['resources', i])),
    ...resourceTemplates.map((template, i) => text(template, 'uriTemplate', ['resourceTemplates', i])),
  ];
  const found = addresses.flatMap((address) => /^[a-z][a-z0-9+.-]*(?=:)/i.exec(address)?.[0] ?? []);
  return sorted(found.map((scheme) => scheme.toLowerCase()));
}

function sorted(words: readonly string[]): string[] {
  return [...new Set(words)].sort();
}

function members(record: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return JsonObject.from(
    Object.entries(record).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

function texts(record: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, value ?? '']));
}

/** A text of a definition; empty where it has none. */
function text(definition: JsonObject, key: string, at: Path): string {
  const value = definition.get(key) ?? '';
  if (typeof value === 'string') return value;
  throw new BullaError('POLICY_INPUT', 'A text is expected here.', { path: pointer([...at, key]) });
}

function object(definition: JsonObject, key: string, at: Path): JsonObject | undefined {
  const value = definition.get(key);
  if (value === undefined || value instanceof JsonObject) return value;
  throw new BullaError('POLICY_INPUT', 'An object is expected here.', { path: pointer([...at, key]) });
}
