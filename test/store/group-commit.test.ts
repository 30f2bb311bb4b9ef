import { describe, expect, it } from 'vitest';
import { GroupCommit } from '../../store/mongo/group-commit.ts';

/** Creates a commit whose writes end on demand. */
function held() {
  const groups: number[][] = [];
  const ends: { resolve(): void; reject(error: Error): void }[] = [];
  const commit = new GroupCommit<number, string>(async (items) => {
    groups.push(items);
    await new Promise<void>((resolve, reject) => ends.push({ resolve, reject }));
    return items.map((item) => `written ${item}`);
  });
  return { commit, groups, ends };
}

describe('group commits', () => {
  it('write the first at once, and later ones together', async () => {
    const { commit, groups, ends } = held();
    const first = commit.add(1);
    const others = [2, 3, 4].map((n) => commit.add(n));
    expect(groups).toEqual([[1]]);
    ends[0]?.resolve();
    expect(await first).toBe('written 1');
    await expect.poll(() => groups).toEqual([[1], [2, 3, 4]]);
    ends[1]?.resolve();
    expect(await Promise.all(others)).toEqual(['written 2', 'written 3', 'written 4']);
    const later = commit.add(5);
    ends[2]?.resolve();
    expect(await later).toBe('written 5');
  });

  it('fail for their group only', async () => {
    const { commit, groups, ends } = held();
    const first = commit.add(1);
    const second = commit.add(2);
    ends[0]?.reject(new Error('no disk'));
    await expect(first).rejects.toThrow('no disk');
    await expect.poll(() => groups.length).toBe(2);
    ends[1]?.resolve();
    expect(await second).toBe('written 2');
  });

  it('have at most a hundred items', async () => {
    const sizes: number[] = [];
    const commit = new GroupCommit<number, number>(async (items) => {
      sizes.push(items.length);
      await Promise.resolve();
      return items;
    });
    const all = Array.from({ length: 250 }, (_, n) => n);
    expect(await Promise.all(all.map((n) => commit.add(n)))).toEqual(all);
    expect(sizes).toEqual([1, 100, 100, 49]);
  });
});
