import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { holds, verdictsOf } from '../../../scripts/cases/readonly.ts';

const own: { allowed: string[]; refused: string[] } = JSON.parse(
  readFileSync(new URL('own-cases.json', import.meta.url), 'utf8'),
);

/** As `npm run cases` judges the shared ones: by each layer alone, where the gate is built. */
function wrong(commands: string[], allowed: boolean) {
  return verdictsOf(commands)
    .map((verdicts, n) => ({ command: commands[n], ...verdicts }))
    .filter((verdicts) => !holds(verdicts, allowed));
}

describe('looking at a source', () => {
  it('lets what operators type to look at a machine pass', () => {
    expect(wrong(own.allowed, true)).toEqual([]);
  });

  it('refuses what writes, runs, connects, waits for ever or would mean something to a shell', () => {
    expect(wrong(own.refused, false)).toEqual([]);
  });
});
