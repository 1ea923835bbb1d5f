import { JsonObject } from '@bulla/core/json';
import { caseTwin, type ErrorFrame, quote, type ResultFrame } from '../../mcp/index.ts';
import { Denial, RPC } from '../denial.ts';
import { type ClientFeature, serverRequest } from './methods.ts';

/** How a call ended, as the record says it. */
export interface Verdict {
  readonly status: 'success' | 'failure' | 'partial';
  readonly error: string | null;
}

const MEMBERS = [
  ...['resultType', 'inputRequests', 'requestState', 'isError', 'content', 'structuredContent'],
  ...['contents', 'messages', 'completion', '_meta'],
];
/** 2026-07-28, Multi Round-Trip Requests, Supported Requests. */
const MAY_ASK = ['tools/call', 'prompts/get', 'resources/read'];

/**
 * Reads how a call ended. What a server wants of the host is in the result in the stateless era, and passes only where
 * a request for it would. Throws a denial for a result that must not reach the host.
 */
export function checkResult(
  method: string,
  frame: ResultFrame | ErrorFrame,
  features: ReadonlySet<ClientFeature>,
): Verdict {
  if (frame.kind === 'error') {
    const message = `The server answered with error ${frame.error.code}.`;
    return { status: 'failure', error: String(new Denial('server', 'MCP_ERROR_ANSWER', message)) };
  }
  const { result } = frame;
  const twin = caseTwin(result, MEMBERS);
  if (twin !== null) throw unusable(`its member ${quote(twin)} could be taken for another`);
  const type = result.get('resultType') ?? 'complete';
  if (type === 'input_required' && MAY_ASK.includes(method)) {
    const requests = result.get('inputRequests') ?? new JsonObject();
    if (!(requests instanceof JsonObject)) throw unusable('inputRequests is no object');
    for (const request of requests.values) {
      const wanted = request instanceof JsonObject ? request.get('method') : undefined;
      if (typeof wanted !== 'string') throw unusable('a request in it has no method');
      serverRequest(wanted, features);
    }
    return { status: 'partial', error: null };
  }
  if (type !== 'complete') throw unusable('it is of a type that does not belong here');
  if (method === 'tools/call' && result.get('isError') === true) {
    return {
      status: 'failure',
      error: String(new Denial('server', 'GATEWAY_TOOL_FAILED', 'The tool reported an error.')),
    };
  }
  return { status: 'success', error: null };
}

function unusable(what: string): Denial {
  return new Denial('calls', 'GATEWAY_RESULT', `The server's answer cannot be passed on: ${what}.`, {
    rpc: RPC.bad,
  });
}
