import { describe, expect } from 'vitest';
import { pairsOf } from '../support/sweep.ts';
import { useTemplateCases } from '../support/template-cases.ts';

const { test } = useTemplateCases();

/**
 * Points of a build, with the affected sandbox; null: none. Failures of its sandboxes' steps are tested with their own
 * saga.
 */
const POINTS = [
  ['bootDomain.before', 'builder', 'startBuilder'],
  ...pairsOf(['settleTemplate', 'saveSnapshot', 'verifySnapshot', 'publishTemplate'], ['before', 'after']).map(
    ([step, where]) => [`${step}.${where}`, null, step] as const,
  ),
  ['settleTemplate.during', 'builder', 'settleTemplate'],
  ...pairsOf(['saveSnapshot', 'verifySnapshot', 'publishTemplate'], [null]).map(
    ([step]) => [`${step}.during`, null, step] as const,
  ),
  ['verifySsh.before', 'probe', 'startProbes'],
  ['compareProbes.before', null, 'compareProbes'],
] as const;

describe.concurrent('a template', () => {
  test.for(POINTS)('that fails at %s leaves no residue', async ([point, of, step], { mayfly, templates }) => {
    const input = await templates.input({ rememberedMs: 600_000 });
    const ids = templates.ids();
    const at = of === 'builder' ? ids.builderId : of === 'probe' ? ids.probeIds[0] : ids.templateId;
    mayfly.arm(`${point}=error`, at ?? '');
    await templates.want(input, ids.templateId);
    const failed = await templates.until(ids.templateId, 'failed', 'ready');
    expect(failed).toMatchObject({ state: 'failed', reason: expect.stringContaining(`${step}: `) });
    expect(failed.retryAt).not.toBeNull();
    expect(await templates.left(ids)).toEqual([]);
  });
});
