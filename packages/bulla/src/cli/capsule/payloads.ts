import { JsonObject, type JsonValue, stringify } from '@bulla/core/json';
import { visible } from '@bulla/core/text';
import type { KeptPayload } from '../../app/index.ts';
import { escaped, indented } from '../terminal/indented.ts';
import { colors } from '../terminal/io.ts';

const TITLES = { args: 'arguments', rest: 'other parameters', result: 'result' } as const;

/** What is kept of a call, for people. */
export function payloadsText(kept: readonly KeptPayload[]): string {
  if (kept.length === 0) return 'The record commits to no payload.\n';
  return kept.map((payload) => `${linesOf(payload).join('\n')}\n`).join('');
}

function linesOf(payload: KeptPayload): string[] {
  const title = colors.bold(TITLES[payload.of]);
  switch (payload.state) {
    case 'whole':
      return [`${title}  kept whole; it opens the commitment of the record`, valueText(payload.value)];
    case 'redacted':
      return [
        `${title}  ${colors.yellow('REDACTED COPY')}; it is the one that was recorded, and does not open the commitment to the whole value`,
        ...payload.removed.map(({ pointer, by, kind }) => {
          const why =
            by === 'rule' ? 'by a rule' : `because it looked like a secret (${visible(kind ?? '')})`;
          return `  removed ${pointer === '' ? 'all of it' : visible(pointer)} ${why}`;
        }),
        valueText(payload.value),
      ];
    case 'committed':
      return [
        `${title}  not kept; the value and its salt open the commitment of the record${payload.code === null ? '' : ` ${colors.dim(`[${visible(payload.code)}]`)}`}`,
      ];
    case 'erased':
      return [`${title}  erased, or never kept here: nothing opens the commitment of the record`];
    case 'changed':
      return [
        `${title}  ${colors.red('BAD')}  what lies beside the chain does not open the commitment of the record, and is not shown ${colors.dim('[RECORD_PAYLOAD_CHANGED]')}`,
      ];
  }
}

/** Escapes stand only inside of strings, where JSON means the same by them. */
function valueText(value: JsonValue): string {
  return escaped(indented(stringify(value)));
}

/** The same as a JSON document. */
export function payloadsDocument(id: string, kept: readonly KeptPayload[]): string {
  const row = (payload: KeptPayload): JsonValue => {
    const { of, state } = payload;
    const members: [string, JsonValue][] = [
      ['of', of],
      ['state', state],
    ];
    if (payload.state === 'committed') members.push(['code', payload.code]);
    if (payload.state === 'changed') members.push(['code', 'RECORD_PAYLOAD_CHANGED']);
    if (payload.state === 'redacted')
      members.push(['removed', payload.removed.map((removed) => JsonObject.from(Object.entries(removed)))]);
    if (payload.state === 'whole' || payload.state === 'redacted') members.push(['value', payload.value]);
    return JsonObject.from(members);
  };
  const isChanged = kept.some(({ state }) => state === 'changed');
  return escaped(
    stringify(
      JsonObject.from([
        ['ok', !isChanged],
        ['capsule_id', id],
        ['payloads', kept.map(row)],
      ]),
    ),
  );
}
