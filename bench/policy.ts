import { type JsonObject, parse, toPlain } from '@bulla/core/json';
import type { Surface } from '@bulla/core/lock';
import { callInput, evaluate, parsePolicy, policyCheckInput, prepareInput } from '@bulla/core/policy';
import { Environment } from '@marcbachmann/cel-js';
import { compare, type Row } from './measure.ts';

const RULES = 1000;
const TOOLS = 200;

/** Rules as teams write them: names, words in descriptions, risk, schemas. */
const EXPRESSIONS = [
  (i: number) => `input.tools.all(t, t.name != "forbidden_${i}")`,
  (i: number) => `!input.tools.exists(t, t.description.contains("secret ${i}"))`,
  (i: number) => `input.tools.filter(t, t.risk_level == "HIGH").size() <= ${200 + i}`,
  (i: number) =>
    `input.tools.all(t, t.input_schema.type == "object" && size(t.input_schema.properties) < ${20 + i})`,
];

function surface(): Surface {
  const tools = Array.from(
    { length: TOOLS },
    (_, i) =>
      `{"name":"tool_${i}","description":"Does the thing number ${i} and gives back what came of it.","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","maximum":${i}}},"required":["a"]}}`,
  );
  return {
    protocolVersion: '2025-11-25',
    era: 'initialize',
    serverInfo: parse('{"name":"bench","version":"1.0.0"}') as JsonObject,
    instructions: null,
    capabilities: parse('{"tools":{}}') as JsonObject,
    tools: tools.map((tool) => parse(tool) as JsonObject),
    prompts: [],
    resources: [],
    resourceTemplates: [],
    contents: [],
  };
}

/** The library as it comes: every variable dynamic, JSON as plain objects. */
function library(expressions: readonly string[], input: unknown): () => boolean {
  const environment = new Environment({ unlistedVariablesAreDyn: true });
  const programs = expressions.map((expression) => environment.parse(expression));
  return () => programs.every((program) => program({ input }) === true);
}

export async function policy(): Promise<Row[]> {
  const expressions = Array.from({ length: RULES }, (_, i) => EXPRESSIONS[i % EXPRESSIONS.length]!(i));
  const json = policyCheckInput({ command: 'bench', surface: surface() });
  const rules = parsePolicy(
    `rules:\n${expressions.map((expr, i) => `- {name: r${i}, expr: '${expr}'}`).join('\n')}`,
  );
  const prepared = prepareInput('policy-check', json);
  const ours = () => evaluate(rules, prepared).outcome === 'pass';
  const theirs = library(expressions, toPlain(json));
  const programs = rules.rules.map((rule) => rule.programs.get('policy-check')!);
  const same = () => programs.every((program) => program.run(prepared.value) === true);
  if (!ours() || !theirs() || !same()) throw new Error('the rules must hold');

  const call = `input.arguments.amount <= 100 && !input.arguments.path.contains("..") && input.tool.name != "drop"`;
  const callRules = parsePolicy(`rules: [{name: r, phase: call, expr: '${call}'}]`);
  const args = parse('{"amount":12,"path":"a/b/c","note":"as agreed"}') as JsonObject;
  const asked = callInput(surface().tools[0]!, args, { server: 'bench', digest: 'sha256:0' });
  const oneCall = () => evaluate(callRules, prepareInput('call', asked)).outcome === 'pass';
  const environment = new Environment({ unlistedVariablesAreDyn: true });
  const program = environment.parse(call);
  // Plain numbers are doubles to the library, and it compares them with ints.
  const theirCall = () => program({ input: toPlain(asked) }) === true;
  if (!oneCall() || !theirCall()) throw new Error('the call must pass');

  return [
    ...compare('policy', `${RULES} rules over ${TOOLS} tools`, ours, {
      'the CEL library alone, the same programs and input': same,
      'the CEL library as it comes, plain objects': theirs,
    }),
    ...compare('policy', 'one rule over a call, its JSON made ready each time', oneCall, {
      'the CEL library alone, JSON made plain each time': theirCall,
    }),
  ];
}
