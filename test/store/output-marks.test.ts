import fc from 'fast-check';
import { expect, it } from 'vitest';
import { packMarks, unpackMarks } from '../../store/commands/output-marks.ts';
import { seedOf } from '../support/sweep.ts';

it('marks are decoded unchanged for any clock', () => {
  const differences = fc.array(
    fc.record({ bytes: fc.nat(2 ** 40), time: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }), mine: fc.nat(2 ** 30) }),
  );
  fc.assert(
    fc.property(differences, (list) => {
      let last = { position: 0, atMs: 1_790_000_000_000, offset: 0 };
      const marks = list.map(({ bytes, time, mine }) => {
        last = { position: last.position + bytes, atMs: last.atMs + time, offset: last.offset + mine };
        return last;
      });
      expect(unpackMarks(packMarks(marks))).toEqual(marks);
    }),
    { seed: seedOf('output marks') },
  );
});

it('one mark per line costs a few bytes', () => {
  const marks = Array.from({ length: 1_000 }, (_, n) => ({ position: n * 12, atMs: 1.79e12 + n, offset: n * 12 }));
  expect(packMarks(marks).length).toBeLessThan(3_100);
});
