import { shownKeyId } from '@bulla/core/crypto';
import { type Envelope, type ExecProfile, execHash, moment, type StatedApproval } from '@bulla/core/envelope';
import { stringify } from '@bulla/core/json';
import { mixedScript, skeleton, visible } from '@bulla/core/text';

/** The most decimals that a currency has; all of them are written. */
const MAX_CURRENCY_DECIMALS = 4;

/** An amount in whole units, exactly: 1250 with 2 decimals is 12.50, and 12500000 with 6 decimals is 12.5. */
function inUnits(amount: string, decimals: number): string {
  const digits = amount.replace(/^0+(?=\d)/, '').padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const all = digits.slice(digits.length - decimals);
  const fraction = decimals <= MAX_CURRENCY_DECIMALS ? all : all.replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

const SCOPES = { caller: 'by this caller', tenant: 'in this tenant', global: 'anywhere' } as const;

/** All that an envelope binds, in words: what a person reads before signing. */
export function envelopeText(envelope: Envelope, profile?: ExecProfile): string[] {
  const { rail, actor, target, constraints, policy_binding: policy } = envelope;
  const show = (text: string) => visible(text);
  const contract = rail.contract === null ? '' : `, contract ${show(rail.contract)}`;
  const chain = rail.chain_id === null ? '' : `, chain ${rail.chain_id}`;
  const assetClass = target.asset_class === null ? '' : `, class ${target.asset_class}`;
  const amount = inUnits(target.amount, target.decimals);
  return [
    `action   ${envelope.action_type}`,
    `amount   ${amount} ${show(target.asset)}  (${target.amount} with ${target.decimals} decimals${assetClass})`,
    `to       ${show(target.to)}`,
    `on       ${rail.type} ${show(rail.network)}${chain}${contract}`,
    `by       ${show(actor.caller)}${actor.role === null ? '' : ` as ${show(actor.role)}`}, tenant ${show(envelope.tenant_id)}`,
    `until    ${moment(constraints.ttl)}`,
    `once     nonce ${constraints.nonce}, ${SCOPES[constraints.replay_scope]}`,
    `policy   ${show(policy.policy_id)} version ${policy.policy_version}, ${show(policy.policy_hash)}`,
    `intent   ${show(envelope.intent_id)}, execution ${show(envelope.execution_id)}`,
    `hash     ${execHash(envelope, profile)}`,
    ...lookAlikes({
      ...{ asset: target.asset, destination: target.to, network: rail.network, contract: rail.contract },
      ...{ caller: actor.caller, role: actor.role, tenant: envelope.tenant_id },
      ...{ policy: policy.policy_id },
    }),
  ];
}

const ASCII = /^[\0-\x7f]*$/;

/** Names that can be taken for others: of several scripts, or in letters that all look like ASCII. */
function lookAlikes(names: Readonly<Record<string, string | null>>): string[] {
  return Object.entries(names).flatMap(([what, text]) => {
    if (text === null || ASCII.test(text) || !(mixedScript(text) || ASCII.test(skeleton(text)))) return [];
    const found = [...new Set(text)].filter((character) => !ASCII.test(character)).slice(0, 8);
    const codes = found.map((c) => `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`);
    return [`WARNING  the ${what} has letters that look like others: ${codes.join(', ')}`];
  });
}

/** What a signature that is there already states; its key may be anybody's. */
export function approvalLines({ keyId, how, when, chain }: StatedApproval): string[] {
  return [
    `beside   ${how} at ${moment(when)}, key ${shownKeyId(keyId)}, not verified here`,
    ...chain.map((step) => `         step ${visible(stringify(step))}`),
  ];
}
