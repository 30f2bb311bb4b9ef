import { expect, test } from 'vitest';
import { mebibytes, seconds } from '../../../cli/terminal/arguments.ts';

const DAYS = { min: 1, max: 2_592_000 };
const MEMORY = { min: 64, max: 262_144 };

test.each([
  ['90', 90],
  ['90s', 90],
  ['15m', 900],
  ['1h', 3_600],
  ['1h30m', 5_400],
  ['2d', 172_800],
  ['1d1h1m1s', 90_061],
])('%s is %i seconds', (text, value) => {
  expect(seconds('ttl', text, DAYS)).toBe(value);
});

test.each(['', '0', '0s', '-5', '1.5h', '1x', 'h', '30m1h', '31d', '1e3', ' 5', '9999999999'])(
  '%j is not a valid TTL',
  (text) => {
    expect(() => seconds('ttl', text, DAYS)).toThrow('--ttl must be from 1 to 2592000 seconds');
  },
);

test.each([
  ['512M', 512],
  ['2G', 2_048],
  ['2g', 2_048],
  ['1GiB', 1_024],
  ['64MB', 64],
])('%s is %i MiB', (text, value) => {
  expect(mebibytes('memory', text, MEMORY)).toBe(value);
});

test.each(['', '512', '1K', '63M', '257G', '1.5G', '-1G', 'G'])('%j is not a valid memory size', (text) => {
  expect(() => mebibytes('memory', text, MEMORY)).toThrow('--memory must be from 64M to 262144M');
});
