import fc from 'fast-check';
import { expect, it } from 'vitest';
import { redactText } from '../../../../model/redaction/redact.ts';
import rules from '../../../../model/redaction/scanner-rules.json' with { type: 'json' };
import { REDACTED } from '../../../../model/redaction/span.ts';
import { ownProcessorMs } from '../../../support/processor-time.ts';

/** Returns matches of a rule; assertions, which cannot be generated, are satisfied by the text around them. */
function samplesOf(pattern: string): string[] {
  const plain = pattern
    .replaceAll('(?!\\w)', '')
    .replaceAll(/\\[bB]/g, '')
    .replaceAll('[\\S]', '[!-~]')
    .replaceAll(/,\}/g, ',300}');
  const matching = fc.stringMatching(new RegExp(`^(?:${plain})$`));
  return fc.sample(matching, { numRuns: 4, seed: 1 });
}

it.each(rules.rules)(
  'the secret scanner finds the secrets of $id, and is quick for a hostile text',
  ({ pattern, keywords }) => {
    const samples = samplesOf(pattern);
    for (const sample of samples) expect(redactText(`${keywords.join(' ')} ${sample} y`), sample).toContain(REDACTED);
    const parts = [...keywords, ...keywords.map((word) => `${word}=`), ...samples.map((s) => s.slice(0, -1))];
    const began = ownProcessorMs();
    for (const part of parts) redactText(part.repeat(Math.ceil(65_536 / part.length)));
    expect((ownProcessorMs() - began) / parts.length).toBeLessThan(500);
  },
);
