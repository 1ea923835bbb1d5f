// What an operator with the real key can do to a chain: leave out its last records, seal all others anew, and hand
// out a chain in which every signature is good. Arguments: the store, the keyring, how many records to leave out,
// and the new store. docs/log.md shows how an auditor notices.
import { openKeyring } from 'bulla/keys';
import { openStore } from 'bulla/store';

const [from, keys, omitted, to] = process.argv.slice(2);
const keyring = openKeyring(keys, { now: () => new Date() });
const original = await openStore({ url: from });
const origin = await original.chain('default').origin();
const forged = await openStore({
  url: to,
  create: true,
  sealer: () => keyring.sealer(),
  operator: origin.slice(0, -'/-/default'.length),
});

const records = await Array.fromAsync(original.chain('default').records());
for (const { data } of records.slice(0, records.length - Number(omitted))) {
  const { id, type, domain, parent_id, trigger, context, reasoning, authority, execution, outcome } =
    JSON.parse(data);
  const content = { type, domain, parent_id, trigger, context, reasoning, authority, execution, outcome };
  await forged.chain('default').append(content, { id });
}
await forged.close();
await original.close();
