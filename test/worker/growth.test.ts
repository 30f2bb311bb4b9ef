import { expect, test } from 'vitest';
import { GrowthTracker } from '../../worker/upkeep/growth.ts';

const MIB = 1_048_576;

test('names sandboxes that grew more than an idle guest since space ran out', () => {
  const growth = new GrowthTracker();
  const look = (idle: number, busy: number) =>
    growth.during(
      'host',
      new Map([
        ['idle', idle],
        ['busy', busy],
      ]),
    );
  expect(look(10 * MIB, 50 * MIB)).toEqual([]);
  expect(look(10.5 * MIB, 50.5 * MIB)).toEqual([]);
  expect(look(10.9 * MIB, 51.5 * MIB)).toEqual(['busy']);
  expect(look(10.9 * MIB, 51.5 * MIB)).toEqual(['busy']);
  expect(look(11 * MIB, 20 * MIB)).toEqual([]); // a snapshot has adopted its layer
  expect(look(11 * MIB, 22 * MIB)).toEqual(['busy']);
});

test('a later sandbox is measured from its start, and ended shortages are dropped', () => {
  const growth = new GrowthTracker();
  const look = (sizes: Record<string, number>) => growth.during('key', new Map(Object.entries(sizes)));
  look({ one: MIB });
  expect(look({ one: MIB, two: 90 * MIB })).toEqual([]);
  expect(growth.during('another', new Map([['two', 99 * MIB]]))).toEqual([]);
  growth.over('key');
  expect(look({ one: 50 * MIB, two: 99 * MIB })).toEqual([]);
});
