import { toUtf8 } from '@bulla/core/crypto';
import { explainDocument, explainMarkdown } from '@bulla/core/policy';
import { loadPolicy, type PolicyChoice } from '../../app/index.ts';
import { replaceFile } from '../../os/index.ts';
import { printExact } from '../terminal/io.ts';
import { tellingProblems } from './problems.ts';

interface ExplainOptions extends PolicyChoice {
  format?: 'markdown' | 'json';
  json?: boolean;
  output?: string;
}

export async function explain(options: ExplainOptions): Promise<void> {
  const { policy, source } = tellingProblems(() => loadPolicy(options));
  const text =
    options.json || options.format === 'json'
      ? `${JSON.stringify(explainDocument(policy, source, new Date()), null, 2)}\n`
      : explainMarkdown(policy, source);
  if (options.output === undefined) await printExact(text);
  else replaceFile(options.output, toUtf8(text));
}
