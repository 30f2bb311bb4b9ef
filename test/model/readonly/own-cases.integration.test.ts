import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { holds, verdictsOf } from '../../../scripts/cases/readonly.ts';

const own: { allowed: string[]; refused: string[] } = JSON.parse(
  readFileSync(new URL('own-cases.json', import.meta.url), 'utf8'),
);

/** Returns wrong verdicts of each layer alone, where the gate is built, as `npm run cases` does. */
function wrong(commands: string[], allowed: boolean) {
  return verdictsOf(commands)
    .map((verdicts, n) => ({ command: commands[n], ...verdicts }))
    .filter((verdicts) => !holds(verdicts, allowed));
}

describe('read-only commands', () => {
  it('allows what operators type to inspect a machine', () => {
    expect(wrong(own.allowed, true)).toEqual([]);
  });

  it('refuses commands that write, run others, connect, wait forever or need a shell', () => {
    expect(wrong(own.refused, false)).toEqual([]);
  });
});
