import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { sandboxIdFrom } from '../../model/ids.ts';
import type { MeasuredDisk } from '../../store/sandboxes/measured-disks.ts';
import { StorageWatch, type StorageWatchDeps } from '../../worker/upkeep/storage-watch.ts';

const MIB = 1_048_576;
const ids = Array.from({ length: 10 }, (_, index) => sandboxIdFrom(new Uint8Array(10).fill(index)));

/** Host of ten sandboxes with a megabyte each; records its measurements. */
class Machine {
  readonly measured: string[] = [];
  readonly told: MeasuredDisk[] = [];
  readonly sizes = new Map(ids.map((id) => [id, MIB]));
  before: MeasuredDisk[] = [];
  limited: object[] = [];
  availableBytes = 50_000 * MIB;
  looks = 0;
  watch: StorageWatch | null = null;

  async start(): Promise<void> {
    const deps = {
      observer: { hostId: 'kvm-1', installationId: 'ins-000000000000000000000000' },
      hypervisor: {
        disk: async () => {
          this.looks++;
          return { totalBytes: 100_000 * MIB, availableBytes: this.availableBytes };
        },
        diskBytes: async (id: string) => {
          this.measured.push(id);
          return this.sizes.get(id) ?? 0;
        },
        heldBytes: async () => new Map(),
        stopped: async () => [],
      },
      ledger: { sandboxIds: () => [...this.sizes.keys()] },
      room: { check: async () => {} },
      store: {
        sandboxes: { all: async () => [], get: async () => null },
        snapshots: { kept: async () => [] },
        measuredDisks: {
          list: async () => this.before,
          describe: async (disk: MeasuredDisk) => void this.told.push(disk),
        },
        apiKeys: { limited: async () => this.limited },
        projects: { known: async () => new Map() },
      },
      sagas: {},
      logger: pino({ level: 'silent' }),
      intervals: { storageMs: 1, measureMs: 3_600_000 },
    };
    this.watch = new StorageWatch(deps as unknown as StorageWatchDeps);
    await this.watch.start();
  }

  /** Resolves when this many more rounds have started. */
  async look(more: number): Promise<void> {
    const wished = this.looks + more;
    await expect.poll(() => this.looks, { interval: 1 }).toBeGreaterThanOrEqual(wished);
  }
}

let machine: Machine;
const quota = { id: 'key', diskBytes: null, sandboxDiskBytes: 1_000 * MIB };

afterEach(() => machine.watch?.stop());

describe('StorageWatch', () => {
  it('measures a few per round while nothing depends on it, and each once', async () => {
    machine = new Machine();
    await machine.start();
    expect(machine.measured).toHaveLength(4);
    await machine.look(10);
    expect(machine.measured.toSorted()).toEqual(ids.toSorted());
    await expect.poll(() => machine.told.at(-1)?.sandboxes).toHaveLength(10);
  });

  it.each([
    ['somebody has a quota', { limited: [quota] }],
    ['there is little room', { availableBytes: 3_000 * MIB }],
  ])('measures all in each round when %s', async (_why, change) => {
    machine = Object.assign(new Machine(), change);
    await machine.start();
    expect(machine.measured).toEqual(ids);
    await machine.look(2);
    expect(machine.measured.length).toBeGreaterThanOrEqual(20);
  });

  it("reports the previous watch's measurements until its own, and drops missing sandboxes", async () => {
    machine = new Machine();
    const sandboxes = [...ids, sandboxIdFrom(new Uint8Array(10).fill(99))].map((id) => ({ id, bytes: 7 * MIB }));
    machine.before = [{ hostId: 'kvm-1', measuredAt: '2026-11-22T00:00:00.000Z', sandboxes }];
    await machine.start();
    expect(machine.told[0]?.sandboxes.map(({ bytes }) => bytes / MIB).toSorted()).toEqual([
      1, 1, 1, 1, 7, 7, 7, 7, 7, 7,
    ]);
    const [gone = ''] = ids;
    machine.sizes.delete(gone);
    await expect.poll(() => machine.told.at(-1)?.sandboxes.map(({ id }) => id)).not.toContain(gone);
  });

  it('measures a new sandbox again until it has a size', async () => {
    machine = new Machine();
    const [made = ''] = ids;
    machine.sizes.set(made, 0);
    await machine.start();
    await machine.look(6);
    await expect.poll(() => machine.told.at(-1)?.sandboxes).toHaveLength(9);
    machine.sizes.set(made, MIB);
    await expect.poll(() => machine.told.at(-1)?.sandboxes).toHaveLength(10);
  });
});
