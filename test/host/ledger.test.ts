import { mkdir, readdir, writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Grown, Ledger, type Reservation } from '../../host/ledger.ts';
import { MayflyError } from '../../model/errors.ts';
import type { Capacity } from '../../model/host.ts';
import { sandboxIdFrom } from '../../model/ids.ts';
import { seedOf } from '../support/sweep.ts';
import { useFreshState } from '../support/use-folder.ts';

const CAPACITY: Capacity = {
  cpus: 2,
  memoryTotalMib: 1_000,
  memoryAvailableMib: 875,
  diskTotalBytes: 10_000,
  diskAvailableBytes: 8_750,
};
function grownBy(id: string, memoryMib: number, diskBytes: number): Grown {
  return { memoryMib: new Map([[id, memoryMib]]), diskBytes: new Map([[id, diskBytes]]) };
}

function idOf(n: number): string {
  const bytes = new Uint8Array(10);
  new DataView(bytes.buffer).setUint32(0, n);
  return sandboxIdFrom(bytes);
}

describe('Ledger', () => {
  const state = useFreshState();
  let ledger: Ledger;

  beforeEach(async () => {
    ledger = new Ledger(state);
    await ledger.open();
  });

  test('accepts up to 80 % of free memory, to the last MiB, and refuses more with the figures', async () => {
    await ledger.reserve({ sandboxId: idOf(1), memoryMib: 700, diskBytes: 1 }, CAPACITY);
    const refused = ledger.reserve({ sandboxId: idOf(2), memoryMib: 1, diskBytes: 1 }, CAPACITY);
    await expect(refused).rejects.toMatchObject({ code: 'capacity_exhausted' });
    await expect(refused).rejects.toThrow('needs 1 MiB of memory, but this host can promise 0 MiB more');
  });

  test('memory already used by a sandbox is not subtracted twice', async () => {
    await ledger.reserve({ sandboxId: idOf(1), memoryMib: 400, diskBytes: 0 }, CAPACITY);
    const grown = grownBy(idOf(1), 400, 0);
    const now = { ...CAPACITY, memoryAvailableMib: 375 };
    await ledger.reserve({ sandboxId: idOf(2), memoryMib: 300, diskBytes: 0 }, now, grown);
    expect(ledger.room(now, grown).memoryMib).toBe(0);
  });

  test('a sandbox reserves part of its disk, less its writes; a capture reserves all of it', async () => {
    ledger = new Ledger(state, 4);
    const full = { ...CAPACITY, diskAvailableBytes: 1_250 };
    await ledger.reserve({ sandboxId: idOf(1), memoryMib: 0, diskBytes: 2_000 }, full);
    expect(ledger.room(full).diskBytes).toBe(500);
    expect(ledger.room(full, grownBy(idOf(1), 0, 400)).diskBytes).toBe(900);
    expect(ledger.room(full, grownBy(idOf(1), 0, 1_900)).diskBytes).toBe(1_000);
    const capture = idOf(2).replace('sbx-', 'cap-');
    const whole = ledger.reserve({ sandboxId: capture, memoryMib: 0, diskBytes: 501 }, full);
    await expect(whole).rejects.toThrow('needs 501 bytes of disk, but this host can promise 500 bytes more');
    await ledger.reserve({ sandboxId: idOf(3), memoryMib: 0, diskBytes: 2_000 }, full);
    expect(ledger.totals().diskBytes).toBe(4_000);
    const saved = 1024 * 1024;
    await ledger.reserve({ sandboxId: idOf(4), memoryMib: 1, diskBytes: 0 }, CAPACITY);
    await ledger.yieldMemory(idOf(4));
    const now = { ...CAPACITY, diskAvailableBytes: 2e7 };
    expect(ledger.room(now).diskBytes).toBe(1.6e7 - 2 * 500 - saved);
  });

  test('a sandbox beyond its reservation gives no extra room', async () => {
    await ledger.reserve({ sandboxId: idOf(1), memoryMib: 100, diskBytes: 0 }, CAPACITY);
    const grown = grownBy(idOf(1), 5_000, 0);
    expect(ledger.room(CAPACITY, grown).memoryMib).toBe(700);
  });

  test('a hibernated sandbox releases its memory, and reacquires it when there is room', async () => {
    await ledger.reserve({ sandboxId: idOf(1), memoryMib: 700, diskBytes: 10 }, CAPACITY);
    for (let twice = 0; twice < 2; twice++) await ledger.yieldMemory(idOf(1));
    const saved = { memoryMib: 0, diskBytes: 10 + 700 * 1024 * 1024, sandboxes: 1 };
    expect(ledger.totals()).toEqual(saved);
    await ledger.reserve({ sandboxId: idOf(2), memoryMib: 1, diskBytes: 0 }, { ...CAPACITY, diskAvailableBytes: 2e9 });

    ledger = new Ledger(state); // as after a restart of the worker
    await ledger.open();
    expect(ledger.totals()).toEqual({ ...saved, memoryMib: 1, sandboxes: 2 });
    const refused = ledger.retakeMemory(idOf(1), CAPACITY);
    await expect(refused).rejects.toThrow('needs 700 MiB of memory, but this host can promise 699 MiB more');
    expect(ledger.totals()).toMatchObject({ memoryMib: 1 });
    await ledger.release(idOf(2));
    for (let twice = 0; twice < 2; twice++) await ledger.retakeMemory(idOf(1), CAPACITY);
    expect(ledger.totals()).toEqual({ memoryMib: 700, diskBytes: 10, sandboxes: 1 });
    await ledger.yieldMemory(idOf(3)); // unknown ids are ignored
    await ledger.retakeMemory(idOf(3), CAPACITY);
  });

  test('a repeated reservation counts once, and release is idempotent', async () => {
    const promise = { sandboxId: idOf(1), memoryMib: 700, diskBytes: 7_000 };
    await ledger.reserve(promise, CAPACITY);
    await ledger.reserve(promise, CAPACITY);
    expect(ledger.totals()).toEqual({ memoryMib: 700, diskBytes: 7_000, sandboxes: 1 });
    await ledger.release(idOf(1));
    await ledger.release(idOf(1));
    expect(ledger.totals().sandboxes).toBe(0);
    expect(await ledger.look(idOf(1))).toMatchObject({ layer: 'record', absent: true });
    expect(await readdir(state.reservations)).toEqual([]);
  });

  test('reservations outlive the process', async () => {
    await ledger.reserve({ sandboxId: idOf(1), memoryMib: 5, diskBytes: 6 }, CAPACITY);
    const successor = new Ledger(state);
    await successor.open();
    expect(successor.totals()).toEqual({ memoryMib: 5, diskBytes: 6, sandboxes: 1 });
    expect(await successor.marks()).toMatchObject([{ sandboxId: idOf(1), observation: { absent: false } }]);
  });

  test('an incomplete file of a crash counts as nothing, is listed as residue, and is deleted by release', async () => {
    await writeFile(`${state.reservationOf(idOf(1))}.new`, '{"sandb');
    const successor = new Ledger(state);
    await successor.open();
    expect(successor.totals().sandboxes).toBe(0);
    expect(await successor.look(idOf(1))).toMatchObject({ absent: false });
    expect(await successor.marks()).toHaveLength(1);
    await successor.release(idOf(1));
    expect(await successor.marks()).toEqual([]);
  });

  test.each([
    ['of something else', JSON.stringify({ sandboxId: idOf(2), memoryMib: -5, diskBytes: 0 })],
    ['of another sandbox', JSON.stringify({ sandboxId: idOf(3), memoryMib: 5, diskBytes: 0 })],
    ['half-written', '{"sandb'],
    ['empty', ''],
  ])('a file that is %s is not a reservation, and does not prevent the start', async (_what, text) => {
    await mkdir(state.reservations, { recursive: true });
    await writeFile(state.reservationOf(idOf(2)), text);
    const successor = new Ledger(state);
    await successor.open();
    expect([successor.totals().sandboxes, successor.unreadable()]).toEqual([0, [idOf(2)]]);
    await successor.restore({ sandboxId: idOf(2), memoryMib: 5, diskBytes: 6 });
    expect([successor.totals().memoryMib, successor.unreadable()]).toEqual([5, []]);
    const next = new Ledger(state);
    await next.open();
    expect(next.totals()).toEqual({ memoryMib: 5, diskBytes: 6, sandboxes: 1 });
  });

  test('concurrent reservations never exceed the room', async () => {
    const request = fc.record({ memoryMib: fc.nat(800), diskBytes: fc.nat(8_000), again: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 12 }), async (requests) => {
        const asked: Reservation[] = requests.map(({ memoryMib, diskBytes, again }, n) => {
          return { sandboxId: idOf(again ? 0 : n), memoryMib, diskBytes };
        });
        await Promise.all(asked.map((one) => ledger.reserve(one, CAPACITY).catch(onlyExhausted)));
        const { memoryMib, diskBytes } = ledger.totals();
        expect(memoryMib).toBeLessThanOrEqual(700);
        expect(diskBytes).toBeLessThanOrEqual(7_000);
        await Promise.all(ledger.sandboxIds().map((id) => ledger.release(id)));
      }),
      { seed: seedOf('ledger'), numRuns: 40 },
    );
  });
});

function onlyExhausted(error: unknown): void {
  if (!(error instanceof MayflyError) || error.code !== 'capacity_exhausted') throw error;
}
