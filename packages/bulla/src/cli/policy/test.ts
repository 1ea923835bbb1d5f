import { visible } from '@bulla/core/text';
import { isMet, loadPolicy, type PolicyChoice, type TestedInput, testPolicy } from '../../app/index.ts';
import { readInput } from '../../os/index.ts';
import { EXIT, type Exit, type ReportOptions, report } from '../terminal/io.ts';
import { tellingProblems } from './problems.ts';

export async function test(files: string[], options: PolicyChoice & ReportOptions): Promise<Exit> {
  const { policy, source } = tellingProblems(() => loadPolicy(options));
  const inputs = files.map((file) => testPolicy(policy, readInput(file, 'document'), file));
  const failed = inputs.filter(({ passed }) => !passed).length;
  const document = { policy: { ...source, digest: policy.digest }, passed: failed === 0, inputs };
  await report(options, document, () => {
    const last = failed === 0 ? 'PASS: every answer is as expected' : 'FAIL: not as expected';
    return [...inputs.map(table), `${last} (${inputs.length - failed} of ${inputs.length} inputs).`].join(
      '\n',
    );
  });
  return failed === 0 ? EXIT.good : EXIT.bad;
}

function table({ file, shape, passed, outcome, rules }: TestedInput): string {
  const width = rules.reduce((most, { name }) => Math.max(most, visible(name).length), 0);
  const lines = rules.map((rule) => {
    const word = rule.expected === null ? '-   ' : isMet(rule) ? 'ok  ' : 'FAIL';
    const answer = rule.asked ? String(rule.passed) : 'none';
    const wanted = isMet(rule) ? '' : `, expected ${rule.expected}`;
    const why = rule.message === '' ? '' : `  ${visible(rule.message)}`;
    return `  ${word}  ${visible(rule.name).padEnd(width)}  ${answer}${wanted}${why}`;
  });
  const mark = passed ? 'ok  ' : 'FAIL';
  return [`${mark} ${visible(file)} (${shape}, the policy says ${outcome})`, ...lines].join('\n');
}
