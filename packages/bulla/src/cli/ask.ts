import { createInterface } from 'node:readline/promises';

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

/** Asks for one key and takes it at once; everything but `y` is no. */
export async function askKey(question: string, { input, output }: Terminal = terminal): Promise<boolean> {
  input.setRawMode?.(true);
  try {
    output.write(`${question} [y/N] `);
    const key = await new Promise<string>((resolve) => {
      input.once('data', (data) => resolve(data.toString()));
      input.once('end', () => resolve(''));
      input.resume();
    });
    const isYes = key === 'y' || key === 'Y';
    output.write(`${isYes ? 'yes' : 'no'}\n`);
    return isYes;
  } finally {
    input.setRawMode?.(false);
    input.pause();
  }
}

/** Asks for a whole word: everything but `yes` is no. */
export async function askYes(question: string, { input, output }: Terminal = terminal): Promise<boolean> {
  const lines = createInterface({ input, output, terminal: false });
  try {
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    const answer = await Promise.race([lines.question(`${question} Type yes to accept: `), ended]);
    return answer.trim() === 'yes';
  } finally {
    lines.close();
  }
}
