import { expect, it } from 'vitest';
import { addIdleMemory } from '../../../model/pools/idle.ts';

const HOUR = 3_600_000;
const at = (hours: number) => new Date(hours * HOUR).toISOString();
const member = (warmAt: string | null, memoryMib = 512) => ({ warmAt, memoryMib });

it('memory of warm members counts from when they were ready or last counted', () => {
  const idle = { mibHours: 100, at: at(10) };
  expect(addIdleMemory(idle, [], 12 * HOUR)).toEqual({ mibHours: 100, at: at(12) });
  expect(addIdleMemory(idle, [member(at(1))], 12 * HOUR).mibHours).toBe(100 + 2 * 512);
  expect(addIdleMemory(idle, [member(at(11.5)), member(null)], 12 * HOUR).mibHours).toBe(100 + 256);
  const [half, whole] = [
    addIdleMemory(idle, [member(at(1))], 11 * HOUR),
    addIdleMemory(idle, [member(at(1))], 12 * HOUR),
  ];
  expect(addIdleMemory(half, [member(at(1))], 12 * HOUR)).toEqual(whole);
});
