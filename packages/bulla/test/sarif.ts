/**
 * What SARIF 2.1.0 asks of the objects that we write, and nothing else: each property by its name, whether it must be
 * there (§3.13 to §3.58, by the section of each object), and what it may hold. A property that is not named here is
 * one that we do not write, so that it is a complaint.
 */
type Rule = (value: unknown, at: string) => string[];

const complaint = (at: string, what: string): string[] => [`${at || '/'}: ${what}`];

const text: Rule = (value, at) =>
  typeof value === 'string' && value !== '' ? [] : complaint(at, 'a text is expected');

const oneOf =
  (...words: readonly unknown[]): Rule =>
  (value, at) =>
    words.includes(value) ? [] : complaint(at, `one of ${words.join(', ')} is expected`);

/** Lines and indices are counted from 1 and from 0 (§3.30.5, §3.27.6). */
const whole =
  (least: number): Rule =>
  (value, at) =>
    Number.isSafeInteger(value) && (value as number) >= least
      ? []
      : complaint(at, `a whole number from ${least} on is expected`);

/** RFC 3986, URI-reference: only characters that may stand in one, and no scheme that a path could be taken for. */
const uriReference: Rule = (value, at) => {
  const isReference =
    typeof value === 'string' &&
    /^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?#[\]-]|%[0-9A-Fa-f]{2})+$/.test(value) &&
    URL.canParse(value, 'https://example.com/');
  return isReference ? [] : complaint(at, 'a URI reference is expected');
};

const list =
  (item: Rule, least = 0, isSet = false): Rule =>
  (value, at) => {
    if (!Array.isArray(value) || value.length < least)
      return complaint(at, `a list of at least ${least} is expected`);
    const twins = isSet && new Set(value.map((element) => JSON.stringify(element))).size < value.length;
    return [
      ...(twins ? complaint(at, 'its elements are distinct') : []),
      ...value.flatMap((element, i) => item(element, `${at}/${i}`)),
    ];
  };

const map =
  (item: Rule): Rule =>
  (value, at) =>
    isObject(value)
      ? Object.entries(value).flatMap(([key, member]) => item(member, `${at}/${key}`))
      : complaint(at, 'an object is expected');

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Names that end with `!` must be there. */
const object =
  (members: Readonly<Record<string, Rule>>): Rule =>
  (value, at) => {
    if (!isObject(value)) return complaint(at, 'an object is expected');
    const rules = new Map(Object.entries(members).map(([name, rule]) => [name.replace('!', ''), rule]));
    const missing = Object.keys(members).filter(
      (name) => name.endsWith('!') && !(name.slice(0, -1) in value),
    );
    return [
      ...missing.flatMap((name) => complaint(at, `${name.slice(0, -1)} is missing`)),
      ...Object.entries(value).flatMap(([name, member]) => {
        const rule = rules.get(name);
        return rule === undefined
          ? complaint(`${at}/${name}`, 'unknown here')
          : rule(member, `${at}/${name}`);
      }),
    ];
  };

const LEVEL = oneOf('none', 'note', 'warning', 'error');
const anything: Rule = () => [];
/** §3.8: tags are distinct; the rest is the tool's. */
const propertyBag: Rule = (value, at) =>
  map((member, path) => (path.endsWith('/tags') ? list(text, 0, true)(member, path) : []))(value, at);
const message = object({ 'text!': text });
const multiformat = object({ 'text!': text });
const rule = object({
  'id!': text,
  name: text,
  shortDescription: multiformat,
  fullDescription: multiformat,
  help: multiformat,
  defaultConfiguration: object({ level: LEVEL }),
  properties: propertyBag,
});
const location = object({
  physicalLocation: object({
    'artifactLocation!': object({ 'uri!': uriReference }),
    region: object({ 'startLine!': whole(1) }),
  }),
  logicalLocations: list(object({ name: anything, 'fullyQualifiedName!': anything, kind: text }), 0, true),
});
const result = object({
  'ruleId!': text,
  ruleIndex: whole(0),
  level: LEVEL,
  'message!': message,
  locations: list(location, 1),
  partialFingerprints: map(text),
  properties: propertyBag,
});
const run = object({
  'tool!': object({
    'driver!': object({ 'name!': text, version: text, rules: list(rule, 0, true) }),
  }),
  invocations: list(
    object({
      'executionSuccessful!': oneOf(true, false),
      toolExecutionNotifications: list(object({ 'message!': message, level: LEVEL })),
    }),
  ),
  columnKind: oneOf('utf16CodeUnits', 'unicodeCodePoints'),
  automationDetails: object({ 'id!': text }),
  'results!': list(result),
});
const log = object({ $schema: uriReference, 'version!': oneOf('2.1.0'), 'runs!': list(run) });

/** What is wrong with a SARIF log of ours, each with its place; also whether each result names a rule that is there. */
export function sarifComplaints(value: unknown): string[] {
  const found = log(value, '');
  if (found.length > 0) return found;
  const { runs } = value as {
    runs: {
      tool: { driver: { rules: { id: string }[] } };
      results: { ruleId: string; ruleIndex: number }[];
    }[];
  };
  return runs.flatMap(({ tool, results }, i) =>
    results.flatMap(({ ruleId, ruleIndex }, j) =>
      tool.driver.rules[ruleIndex]?.id === ruleId
        ? []
        : complaint(`/runs/${i}/results/${j}`, 'its index is not that of its rule (§3.52.4)'),
    ),
  );
}
