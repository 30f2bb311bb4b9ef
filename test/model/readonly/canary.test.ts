import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../../../model/readonly/command.ts';
import { PROGRAMS, readReadonlyCommand } from '../../../model/readonly/readonly-command.ts';
import { CanaryRoot } from '../../guest/canary-root.ts';
import { SEED } from './quoting.ts';
import { randomTexts } from './random-texts.ts';

const TEXTS = 30_000;
/** Of those that are let through. */
const RUNS = 400;

/** What the first layer lets through is run as root and without the second, in a tree in which every change is seen. */
describe('what is let through', () => {
  let root: CanaryRoot;
  beforeAll(async () => {
    root = await CanaryRoot.start(tmpdir());
  });
  afterAll(() => root.stop());

  it(`changes nothing (seed ${SEED})`, { timeout: 120_000 }, async () => {
    const texts = [...new Set(fc.sample(randomTexts(), { seed: SEED, numRuns: TEXTS }))];
    const allowed = texts.flatMap((text) => {
      const read = readReadonlyCommand(text);
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
