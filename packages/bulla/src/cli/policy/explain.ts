import { toUtf8 } from '@bulla/core/crypto';
import { explainDocument, explainMarkdown } from '@bulla/core/policy';
import { replaceFile } from '../../os/index.ts';
import { EXIT, type Exit, printExact } from '../terminal/io.ts';
import { loadPolicy, type PolicyOptions } from './file.ts';

interface ExplainOptions extends PolicyOptions {
  format?: 'markdown' | 'json';
  json?: boolean;
  output?: string;
}

export async function explain(options: ExplainOptions): Promise<Exit> {
  const { policy, source } = loadPolicy(options);
  const text =
    options.json || options.format === 'json'
      ? `${JSON.stringify(explainDocument(policy, source, new Date()), null, 2)}\n`
      : explainMarkdown(policy, source);
  if (options.output === undefined) await printExact(text);
  else replaceFile(options.output, toUtf8(text));
  return EXIT.good;
}
