import { createInterface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import { visible } from '@bulla/core/text';

/** A terminal: where keys come from, and where the question is shown. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream & { isTTY?: boolean; setRawMode?(mode: boolean): unknown };
  readonly output: NodeJS.WritableStream & { isTTY?: boolean };
}

/** Questions go to standard error, because standard output may be a document. */
export const terminal: Terminal = { input: process.stdin, output: process.stderr };

/** Whether somebody is there to answer. */
export function isAnswered({ input, output }: Terminal = terminal): boolean {
  return input.isTTY === true && output.isTTY === true;
}

const INTERRUPT = '\u0003';
/** What a terminal already holds is read within a few turns of the event loop. */
const TYPED_AHEAD_MS = 20;

/**
 * Throws away what was typed or pasted before the question could be read: it answers something else. Gives false when
 * nobody is there any more, or wants to stop. Leaves the terminal in raw mode, in which also a line without its end is
 * read.
 */
async function dropTypedAhead({ input }: Terminal): Promise<boolean> {
  let dropped = '';
  const drop = (data: string | Buffer) => {
    dropped += data.toString();
  };
  input.setRawMode?.(true);
  input.on('data', drop);
  input.resume();
  await new Promise((resolve) => setTimeout(resolve, TYPED_AHEAD_MS));
  input.off('data', drop);
  input.pause();
  return !dropped.includes(INTERRUPT) && !(input as Readable).readableEnded;
}

/** A key, or the word, which may have been pasted: with or without the end of its line. */
const YES = /^(?:y|yes)[\r\n]*$/i;

/** Asks for one key and takes it at once; everything but `y` and a pasted `yes` is no. */
export async function askKey(question: string, at: Terminal = terminal): Promise<boolean> {
  const { input, output } = at;
  try {
    const isThere = await dropTypedAhead(at);
    output.write(`${visible(question)} [y/N] `);
    const isYes = isThere && YES.test(await typed(input));
    output.write(`${isYes ? 'yes' : 'no'}\n`);
    return isYes;
  } finally {
    input.setRawMode?.(false);
    input.pause();
  }
}

function typed(input: Terminal['input']): Promise<string> {
  return new Promise((resolve) => {
    input.once('data', (data) => resolve(data.toString()));
    input.once('end', () => resolve(''));
    input.resume();
  });
}

/** Asks for a whole word: everything but `yes` is no. */
export async function askYes(question: string, at: Terminal = terminal): Promise<boolean> {
  const { input, output } = at;
  const isThere = await dropTypedAhead(at).finally(() => input.setRawMode?.(false));
  const asking = `${visible(question)} Type yes to accept: `;
  if (!isThere) {
    output.write(`${asking}\n`);
    return false;
  }
  const lines = createInterface({ input, output, terminal: false });
  try {
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    const answer = await Promise.race([lines.question(asking), ended]);
    return answer.trim() === 'yes';
  } finally {
    lines.close();
  }
}
