import { describe, expect, it } from 'vitest';
import { redactText } from '../../../model/redaction/redact.ts';
import rules from '../../../model/redaction/scanner-rules.json' with { type: 'json' };
import { ownProcessorMs } from '../../support/processor-time.ts';

describe("the secret scanner's rules", () => {
  it('are many, each with a keyword', () => {
    expect(rules.rules.length).toBeGreaterThan(200);
    expect(rules.rules.filter(({ keywords }) => keywords.length === 0)).toEqual([]);
  });

  it('is fast for a hostile text that has every keyword', () => {
    const words = rules.rules.flatMap(({ keywords }) => keywords).join('=');
    const began = ownProcessorMs();
    redactText(words.repeat(1_048_576 / words.length));
    expect(ownProcessorMs() - began).toBeLessThan(20_000);
  });
});
