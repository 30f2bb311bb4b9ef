import { describe, expect, test } from 'vitest';
import { chosenBy } from './sweep.ts';

const ran = (seed: string, tier: 'quick' | 'all' | 'rest') => {
  const chosen = chosenBy(seed, 'a title', 7, tier);
  return [0, 1, 2, 3, 4, 5, 6].filter((nth) => chosen(nth));
};

describe('a sweep of seven points', () => {
  test('runs the first and one other in the quick tier, the same for the same seed', () => {
    expect(ran('one', 'quick')).toHaveLength(2);
    expect(ran('one', 'quick')[0]).toBe(0);
    expect(ran('one', 'quick')).toEqual(ran('one', 'quick'));
  });

  test('runs each in full, and in the rest each that was not run quickly', () => {
    expect(ran('one', 'all')).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect([...ran('one', 'quick'), ...ran('one', 'rest')].sort((a, b) => a - b)).toEqual(ran('one', 'all'));
  });

  test('comes to every point by some seed', () => {
    const seeds = Array.from({ length: 100 }, (_, nth) => String(nth));
    expect([...new Set(seeds.flatMap((seed) => ran(seed, 'quick')))].sort((a, b) => a - b)).toEqual([
      0, 1, 2, 3, 4, 5, 6,
    ]);
  });
});

test('one point is no sweep', () => {
  expect(() => chosenBy('one', 'a title', 1, 'quick')).toThrow('at least two points: a title');
});
