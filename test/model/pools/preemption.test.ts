import { describe, expect, it } from 'vitest';
import { canFreeCapacity, type SpareMember, selectVictims } from '../../../model/pools/preemption.ts';
import { getShortage, NO_LIMITS } from '../../../model/project-limits.ts';

const SIZE = { cpus: 1, memoryMib: 64 };
const member = (state: SpareMember['state'], memoryMib = 64) => ({ state, size: { cpus: 1, memoryMib } });
const short = (changes: object) => ({ sandboxes: 0, cpus: 0, memoryMib: 0, ...changes });

describe('preempted members', () => {
  const [ending, making, warm, large] = [member('destroying'), member('creating'), member('warm'), member('warm', 512)];

  it('cover the shortage, warm ones first', () => {
    const members = [ending, making, warm, large];
    expect(selectVictims(short({ sandboxes: 1 }), members)).toEqual([warm]);
    expect(selectVictims(short({ sandboxes: 3 }), members)).toEqual([warm, large, making]);
    expect(selectVictims(short({ memoryMib: 65 }), members)).toEqual([warm, large]);
    expect(selectVictims(short({ sandboxes: 4 }), members)).toEqual([warm, large, making, ending]);
  });

  it('are none without a shortage, or when all would not suffice', () => {
    expect(selectVictims(short({}), [warm])).toEqual([]);
    expect(selectVictims(short({ sandboxes: 2 }), [warm])).toBeNull();
    expect(selectVictims(short({ memoryMib: 65 }), [warm])).toBeNull();
  });
});

describe('the shortage of a project', () => {
  const use = { sandboxes: 3, cpus: 3, memoryMib: 192, createsLastMinute: 3 };
  const wanted = [{ sandboxId: 'a', ...SIZE }];
  it.each([
    [{ sandboxes: 3 }, short({ sandboxes: 1 })],
    [{ memoryMib: 200 }, short({ memoryMib: 56 })],
    [{ sandboxes: 5 }, short({})],
    [{ cpus: 0 }, null],
    [{ sandboxes: 3, createsPerMinute: 3 }, null],
  ])('with %j is %j', (limits, shortage) => {
    expect(getShortage({ ...NO_LIMITS, ...limits }, use, wanted)).toEqual(shortage);
  });
});

it('a host may have room for a size up to its free memory plus that of its members', () => {
  const capacity = { cpus: 2, memoryTotalMib: 999, memoryAvailableMib: 100, diskTotalBytes: 1, diskAvailableBytes: 1 };
  const host = {
    capacity,
    sources: [{ name: 's', cpus: 1, memoryMib: 170, diskBytes: 1, cloneable: true, problem: null }],
  };
  const of = (memoryMib: number | null) => ({ source: 's', memoryMib });
  expect(canFreeCapacity(host, [member('warm')], of(164))).toBe(true);
  expect(canFreeCapacity(host, [member('warm')], of(165))).toBe(false);
  expect(canFreeCapacity(host, [member('warm')], of(null))).toBe(false);
});
