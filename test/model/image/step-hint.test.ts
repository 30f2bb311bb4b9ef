import { expect, it } from 'vitest';
import { guessFailureCause } from '../../../model/image/step-hint.ts';

// Guards: the hint after the exit code of a step (case 9). Milliseconds.

it.each([
  ['dd: error writing /x: No space left on device', 'none', 'disk'],
  ["E: Temporary failure resolving 'deb.debian.org'", 'none', '--network internet'],
  ['curl: (6) Could not resolve host: example.com', 'internet', 'seems not to reach'],
] as const)('%s, with egress %s', (log, egress, said) => {
  expect(guessFailureCause(log, { network: { egress } })).toContain(said);
});

it('the hint is null without a clue', () => {
  expect(guessFailureCause('make: *** [all] Error 2', { network: { egress: 'none' } })).toBeNull();
});
