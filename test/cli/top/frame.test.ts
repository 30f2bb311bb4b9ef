import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ageText, cellText } from '../../../cli/top/rows/section.ts';
import { frame, widthOf } from '../../../cli/top/screen/frame.ts';
import { firstState, moveSelection, withFault, withRows, withSize } from '../../../cli/top/screen/state.ts';
import { liveRow } from '../../../cli/top/sections/sandboxes.ts';
import { SECTIONS } from '../../../cli/top/sections/sections.ts';
import { manySandboxes } from './top-stand-in.ts';

const names = SECTIONS.map(({ name }) => name);

it('fits every terminal, with any names', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.constant('漢字😀\u202ea\u200b\u001b[31m'));
  const any = fc.record({
    source: text,
    host: text,
    columns: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: 1, max: 60 }),
    by: fc.nat(50),
    count: fc.nat(40),
    fault: fc.boolean(),
  });
  fc.assert(
    fc.property(any, ({ source, host, columns, rows, by, count, fault }) => {
      const items = manySandboxes(count).map((one) => ({
        ...one,
        source,
        hostId: host,
        address: null,
        size: '1 CPU, 512.0 MiB',
        egress: 'none',
      }));
      const start = withRows(
        firstState('http://api', names, { columns: 80, rows: 24 }),
        0,
        items.map(liveRow),
        true,
        1,
      );
      const state = withSize(moveSelection(fault ? withFault(start, 0, cellText(host)) : start, by), { columns, rows });
      const lines = frame(state, Date.now());
      expect(lines).toHaveLength(Math.max(1, rows - 1));
      for (const line of lines)
        expect([widthOf(line.text) <= columns, /[\p{Cc}\p{Cf}]/u.test(line.text)]).toEqual([true, false]);
      if (count > 0 && rows >= 6 && columns >= 3) expect(lines.some((line) => line.text.startsWith('> '))).toBe(true);
    }),
    { numRuns: 150 },
  );
});

it('shows a question on any terminal', () => {
  const state = {
    ...firstState('http://api', names, { columns: 40, rows: 2 }),
    question: { asks: 'Destroy sbx-0123456789abcdef? y or n', action: { do: 'quit' as const }, otherwise: '' },
  };
  expect(frame(state, 0)).toEqual([{ text: 'Destroy sbx-0123456789abcdef? y or n', style: 'red' }]);
});

it('formats an age with one unit', () => {
  const ages = ['2026-01-01T00:00:00.000Z', '2026-01-01T23:59:30.000Z', '2026-01-02T00:00:05.000Z', 'never'];
  expect(ages.map((since) => ageText(since, Date.parse('2026-01-02T00:00:00.000Z')))).toEqual(['1d', '30s', '0s', '-']);
});
