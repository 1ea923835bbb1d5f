import { JsonObject } from '@bulla/core/json';
import { caseTwin, type ErrorFrame, quote, type ResultFrame } from '../../mcp/index.ts';
import type { Ended } from '../../record/index.ts';
import { Denial } from '../denial.ts';
import { type ClientFeature, serverRequest } from '../gates/methods.ts';
import { SERVER_INFO, SUBSCRIPTION_ID } from '../wire/tokens.ts';

/** How a call ended, as the record says it. */
export type Result = Pick<Ended, 'status' | 'failure'>;

const MEMBERS = [
  ...['resultType', 'inputRequests', 'requestState', 'isError', 'content', 'structuredContent'],
  ...['contents', 'messages', 'completion', '_meta'],
];
const META = [SERVER_INFO, SUBSCRIPTION_ID];
const REQUEST = ['method', 'params', 'id', 'jsonrpc'];
/** 2025-11-25, Elicitation, URL Elicitation Required Error: a request for an elicitation. */
const URL_ELICITATION_REQUIRED = -32042;
/** 2026-07-28, Multi Round-Trip Requests, Supported Requests. */
const MAY_ASK = ['tools/call', 'prompts/get', 'resources/read'];

/**
 * Reads how a request ended. In the stateless era, requests of the server stand in the result, and pass only where they
 * would pass as messages. Throws a denial for a result that must not reach the host.
 */
export function checkResult(
  method: string,
  frame: ResultFrame | ErrorFrame,
  features: ReadonlySet<ClientFeature>,
): Result {
  if (frame.kind === 'error') {
    if (frame.error.code === URL_ELICITATION_REQUIRED) serverRequest('elicitation/create', features);
    const sentence = `The server answered with error ${frame.error.code}.`;
    return { status: 'failure', failure: { stage: 'server', code: 'MCP_ERROR_ANSWER', sentence } };
  }
  const { result } = frame;
  refuseTwins(result, MEMBERS);
  const meta = result.get('_meta');
  if (meta instanceof JsonObject) refuseTwins(meta, META);
  const type = result.has('resultType') ? result.get('resultType') : 'complete';
  if (type === 'input_required' && MAY_ASK.includes(method)) {
    const requests = result.get('inputRequests') ?? new JsonObject();
    if (!(requests instanceof JsonObject)) throw unusable('inputRequests is not an object');
    for (const request of requests.values) {
      if (!(request instanceof JsonObject)) throw unusable('a request in it is not an object');
      refuseTwins(request, REQUEST);
      const wanted = request.get('method');
      if (typeof wanted !== 'string') throw unusable('a request in it has no method');
      serverRequest(wanted, features);
    }
    return { status: 'partial' };
  }
  if (type !== 'complete') throw unusable('its resultType is not allowed here');
  for (const member of ['inputRequests', 'requestState']) {
    if (result.has(member)) throw unusable(`it is complete but has ${member}`);
  }
  if (method === 'tools/call' && result.get('isError') === true) {
    const sentence = 'The tool reported an error.';
    return { status: 'failure', failure: { stage: 'server', code: 'GATEWAY_TOOL_FAILED', sentence } };
  }
  return { status: 'success' };
}

/** A host that ignores case could read a member that was not checked. */
function refuseTwins(object: JsonObject, known: readonly string[]): void {
  const twin = caseTwin(object, known);
  if (twin !== null) throw twinned(twin);
}

export function twinned(member: string): Denial {
  return unusable(`its member ${quote(member)} differs from a known one only in case`);
}

function unusable(what: string): Denial {
  return new Denial('server', 'GATEWAY_BAD_ANSWER', `The server's answer cannot be passed on: ${what}.`);
}
