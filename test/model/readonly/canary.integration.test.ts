import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { textOf } from '../../../model/readonly/command.ts';
import { PROGRAMS, parseReadonlyCommand } from '../../../model/readonly/readonly-command.ts';
import { CanaryRoot } from '../../guest/canary-root.ts';
import { seed, seedOf, sweep } from '../../support/sweep.ts';
import { randomTexts } from './random-texts.ts';

const TENTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** Texts in each tenth. */
const TEXTS = 3_000;
/** Number of allowed texts that run. */
const RUNS = 40;

/** Guards: commands allowed by the first layer run as root without the second, in a tree that records every change. */
describe('allowed commands', () => {
  let root: CanaryRoot;
  beforeAll(async () => {
    root = await CanaryRoot.start(tmpdir());
  });
  afterAll(() => root.stop());

  sweep(TENTHS)(`changes nothing (seed ${seed()}, tenth %s)`, async (tenth) => {
    const texts = [...new Set(fc.sample(randomTexts(), { seed: seedOf(`canary ${tenth}`), numRuns: TEXTS }))];
    const allowed = texts.flatMap((text) => {
      const read = parseReadonlyCommand(text);
      return 'command' in read ? [read.command] : [];
    });
    expect(allowed.length).toBeGreaterThan(2 * RUNS);
    const step = allowed.length / RUNS;
    const chosen = Array.from({ length: RUNS }, (_, n) => allowed[Math.floor(n * step)]).filter(
      (one) => one !== undefined,
    );
    const started = root.run(chosen, (program) => PROGRAMS.programs[program]?.paths ?? []);
    expect(started).toBeGreaterThan(RUNS / 2);
    const lines = chosen.map(({ pipelines }) =>
      pipelines.map(({ stages }) => stages.map(({ argv }) => argv.map(textOf).join(' ')).join(' | ')),
    );
    expect(await root.changes(), lines.join('\n')).toEqual([]);
  });
});
