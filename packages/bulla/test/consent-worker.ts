// Works on the consent of one agent from a process of its own. Arguments: the store, a file, how, and what with.
//
// push N     waits for the file, pushes N manifests at once, and says the number of each version
// answer     waits for the file with a question in it, answers it, and says what came of it
// ask        asks for a call, waits for the file, begins the call, and says what came of it
// calls      makes calls until it may not, and says the id of each that it has begun
import { existsSync, readFileSync, writeSync } from 'node:fs';
import { openStore } from '../src/store/index.ts';
import { begin, calling, consentOn, manifestText, passkey, push, ruleOn, USER } from './consent.ts';
import { sealer } from './store-signer.ts';

const [url, file, mode, argument] = process.argv.slice(2) as [string, string, string, string];
const store = await openStore({ url, sealer });
const consent = consentOn(store);
const say = (line: string | number) => writeSync(1, `${line}\n`);
const given = async () => {
  say('ready');
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
  return readFileSync(file, 'utf8');
};

if (mode === 'push') {
  await given();
  const texts = Array.from({ length: Number(argument) }, (_, i) => manifestText({ notify: { words: i } }));
  await Promise.all(texts.map(async (text) => say((await push(store, text)).version)));
} else if (mode === 'answer') {
  const { id, shown } = JSON.parse(await given());
  const step = await consent.answer({
    prompt: id,
    shown,
    choice: 'allow-once',
    who: USER,
    channel: passkey,
  });
  say(step.refusal?.code ?? step.decisions[0]!.stage);
} else if (mode === 'ask') {
  const stepwise = await ruleOn(consent, store, calling('read_file'));
  if ('ask' in stepwise.ruling) say(stepwise.ruling.prompt.id);
  const begun = await begin(store, stepwise);
  say(typeof begun === 'string' ? begun : 'running');
} else {
  say('ready');
  for (;;) {
    const call = await consent.run(calling('notify'), () => null);
    if (call.status !== 'ok') break;
    say(call.id);
  }
}
await store.close();
