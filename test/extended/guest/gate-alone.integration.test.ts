import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ReadonlyCommand } from '../../../model/readonly/command.ts';
import { PROGRAMS, parseReadonlyCommand } from '../../../model/readonly/readonly-command.ts';
import { brokenStructures } from '../../guest/broken-structures.ts';
import { CanaryRoot } from '../../guest/canary-root.ts';
import { command, verdictsOn } from '../../guest/gate-process.ts';
import { randomCommands } from '../../guest/random-commands.ts';
import own from '../../model/readonly/own-cases.json' with { type: 'json' };
import { seed, seedOf, sweep } from '../../support/sweep.ts';

const SHARED = fileURLToPath(new URL('../../../../shared/cases/readonly.json', import.meta.url));
const Cases = z.object({
  cases: z.array(
    z.object({
      input: z.object({ command: z.string() }),
      expected: z.object({ allowed: z.boolean() }),
      strength: z.string().optional(),
    }),
  ),
});

const TENTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** Number of commands in each tenth. */
const RANDOM_COMMANDS = 3_000;
/** Number of permitted commands that run. */
const RANDOM_RUNS = 40;

let cases: { text: string; allowed: boolean }[];
let root: CanaryRoot;

beforeAll(async () => {
  const shared = Cases.parse(JSON.parse(await readFile(SHARED, 'utf8'))).cases.filter(
    ({ strength }) => strength !== 'policy' && strength !== 'may_block',
  );
  cases = [
    ...shared.map(({ input, expected }) => ({ text: input.command, allowed: expected.allowed })),
    ...own.allowed.map((text) => ({ text, allowed: true })),
    ...own.refused.map((text) => ({ text, allowed: false })),
  ];
  root = await CanaryRoot.start(tmpdir());
});

afterAll(() => root.stop());

const pathsOf = (program: string) => PROGRAMS.programs[program]?.paths ?? [];

/** Returns the distinct commands that the gate permits. */
function allowedOf(commands: readonly ReadonlyCommand[]): ReadonlyCommand[] {
  const distinct = [...new Map(commands.map((one) => [JSON.stringify(one), one])).values()];
  const verdicts = verdictsOn(distinct);
  return distinct.filter((_, n) => verdicts[n]?.allowed);
}

describe('the gate alone', () => {
  it('permits all allowed cases', () => {
    const texts = cases.filter(({ allowed }) => allowed).map(({ text }) => text);
    const commands = texts.map((text) => {
      const read = parseReadonlyCommand(text);
      if ('refusal' in read) throw new Error(`${text}: ${read.refusal.reason}`);
      return read.command;
    });
    const verdicts = verdictsOn(commands);
    const refused = texts.flatMap((text, n) => (verdicts[n]?.allowed ? [] : [{ text, why: verdicts[n]?.refusal }]));
    expect(refused).toEqual([]);
  });

  it('a change would be detected in the tree of the next tests', async () => {
    const other = await CanaryRoot.start(tmpdir());
    try {
      const commands = [command(['rm', '/tmp/victim']), command(['touch', '/etc/hosts'])];
      other.run(commands, (program) => [`/usr/bin/${program}`]);
      expect((await other.changes()).sort()).toEqual(['etc', 'etc/hosts', 'tmp', 'tmp/victim']);
    } finally {
      await other.stop();
    }
  });

  it('refuses forbidden cases of a broken first layer, or their execution changes nothing', async () => {
    const forbidden = cases.filter(({ allowed }) => !allowed).flatMap(({ text }) => brokenStructures(text));
    const allowed = allowedOf(forbidden);
    const shells = allowed.filter(({ pipelines }) =>
      pipelines.some(({ stages }) => stages.some(({ argv }) => /sh$|busybox/.test(argv[0]))),
    );
    expect(shells).toEqual([]);
    expect(root.run(allowed, pathsOf)).toBeGreaterThan(allowed.length / 2);
    expect(await root.changes()).toEqual([]);
  });

  sweep(TENTHS)(`lets no random command through that changes something (seed ${seed()}, tenth %s)`, async (tenth) => {
    const arbitrary = randomCommands(
      cases.map(({ text }) => text),
      Object.keys(PROGRAMS.programs),
    );
    const allowed = allowedOf(fc.sample(arbitrary, { seed: seedOf(`gate ${tenth}`), numRuns: RANDOM_COMMANDS })).slice(
      0,
      RANDOM_RUNS,
    );
    expect(allowed.length).toBe(RANDOM_RUNS);
    root.run(allowed, pathsOf);
    expect(await root.changes()).toEqual([]);
  });
});
