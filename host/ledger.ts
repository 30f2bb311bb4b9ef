import { mkdir, readdir, rm } from 'node:fs/promises';
import { Mutex } from 'async-mutex';
import { z } from 'zod';
import { MayflyError } from '../model/errors.ts';
import type { Capacity } from '../model/host.ts';
import { isCaptureId } from '../model/ids.ts';
import type { Observation } from '../model/sandbox/proof.ts';
import { isSandboxId } from '../model/sandbox-id.ts';
import type { Mark } from './hypervisor.ts';
import { toObservation } from './observation.ts';
import { flush } from './os/atomic-file.ts';
import { isThere } from './os/directory.ts';
import { readJson, writeJson } from './os/json-file.ts';
import type { StateDir } from './state-dir.ts';

/** Fraction of free capacity that is never reserved: the host's own needs, and unmeasured use. */
const BUFFER = 0.2;
const BYTES_PER_MIB = 1024 * 1024;

const Reservation = z.strictObject({
  /** Id of the sandbox or the capture that may grow so far. */
  sandboxId: z.string().refine(isHolder),
  memoryMib: z.int().nonnegative(),
  diskBytes: z.int().nonnegative(),
  /** Memory of a hibernated sandbox: released, reserved on disk instead, and due back at wake. */
  savedMib: z.int().nonnegative().optional(),
});
export type Reservation = z.infer<typeof Reservation>;

/** Part of their reservations that sandboxes use, by id: resident memory, allocated disk. A missing id uses nothing. */
export interface Grown {
  memoryMib: ReadonlyMap<string, number>;
  diskBytes: ReadonlyMap<string, number>;
}

export const NO_USAGE: Grown = { memoryMib: new Map(), diskBytes: new Map() };

/** Refusal, with the resource that is short. */
export class CapacityExhausted extends MayflyError {
  constructor(
    readonly lacks: keyof Grown,
    message: string,
  ) {
    super('capacity_exhausted', message);
  }
}

/**
 * Reservations of this machine's sandboxes, one file each, so that they survive the worker. One mutex serializes all
 * admissions: a reservation counts from the moment it is given, not from when memory is really used.
 */
export class Ledger {
  readonly #promises = new Map<string, Reservation>();
  readonly #unreadable = new Set<string>();
  readonly #mutex = new Mutex();

  readonly #diskOvercommit: number;

  /** @param diskOvercommit expected disk use is 1/n of a sandbox's disk size until it has written more. `@default` 1 */
  constructor(
    private readonly state: StateDir,
    diskOvercommit = 1,
  ) {
    this.#diskOvercommit = diskOvercommit;
  }

  /** Reads the reservations of earlier processes. Partial or damaged files become {@link unreadable}. */
  async open(): Promise<void> {
    await mkdir(this.state.reservations, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.state.reservations)) {
      const id = holderOf(name);
      if (!id) continue;
      const promise = name.endsWith('.json') ? await readPromise(this.state.reservationOf(id), id) : null;
      if (promise) this.#promises.set(id, promise);
      else this.#unreadable.add(id);
    }
  }

  /** Records resources that a sandbox has already, even beyond the capacity. Repeating an id counts once. */
  restore(promise: Reservation): Promise<void> {
    return this.#mutex.runExclusive(async () => {
      const checked = Reservation.parse(promise);
      if (!this.#promises.has(checked.sandboxId)) await this.#write(checked);
    });
  }

  /**
   * Reserves capacity; repeating an id counts once. @param capacity measured after `grown`, so that growth in between
   * is counted twice, not lost @throws CapacityExhausted with the figures
   */
  reserve(request: Reservation, capacity: Capacity, grown = NO_USAGE): Promise<void> {
    return this.#mutex.runExclusive(async () => {
      const checked = Reservation.parse(request);
      if (this.#promises.has(checked.sandboxId)) return;
      const room = this.room(capacity, grown);
      if (checked.memoryMib > room.memoryMib) throw toRefusal('memoryMib', checked.memoryMib, room.memoryMib);
      const diskBytes = this.#expectedBytes(checked);
      if (diskBytes > room.diskBytes) throw toRefusal('diskBytes', diskBytes, room.diskBytes);
      await this.#write(checked);
    });
  }

  /** Frees the memory of a hibernated sandbox for others. Repeating it counts once. */
  yieldMemory(sandboxId: string): Promise<void> {
    return this.#mutex.runExclusive(async () => {
      const promise = this.#promises.get(sandboxId);
      if (!promise || promise.savedMib !== undefined) return;
      const { memoryMib: savedMib, diskBytes } = promise;
      await this.#write({ sandboxId, memoryMib: 0, diskBytes: diskBytes + savedMib * BYTES_PER_MIB, savedMib });
    });
  }

  /**
   * Reserves again the memory released by {@link yieldMemory}; repeating it counts once. @param capacity as for
   * {@link reserve}
   * @throws CapacityExhausted with the figures
   */
  retakeMemory(sandboxId: string, capacity: Capacity, grown = NO_USAGE): Promise<void> {
    return this.#mutex.runExclusive(async () => {
      const promise = this.#promises.get(sandboxId);
      if (promise?.savedMib === undefined) return;
      const { savedMib: memoryMib, diskBytes } = promise;
      const room = this.room(capacity, grown);
      if (memoryMib > room.memoryMib) throw toRefusal('memoryMib', memoryMib, room.memoryMib);
      await this.#write({ sandboxId, memoryMib, diskBytes: diskBytes - memoryMib * BYTES_PER_MIB });
    });
  }

  async #write(promise: Reservation): Promise<void> {
    await writeJson(this.state.reservationOf(promise.sandboxId), promise);
    this.#promises.set(promise.sandboxId, promise);
  }

  release(sandboxId: string): Promise<void> {
    return this.#mutex.runExclusive(async () => {
      const path = this.state.reservationOf(sandboxId);
      await rm(`${path}.new`, { force: true });
      await rm(path, { force: true });
      await flush(this.state.reservations);
      this.#promises.delete(sandboxId);
      this.#unreadable.delete(sandboxId);
    });
  }

  /** Returns 80 % of the available capacity − reservations not yet used; may be negative. */
  room(capacity: Capacity, grown = NO_USAGE): { memoryMib: number; diskBytes: number } {
    let memoryMib = (1 - BUFFER) * capacity.memoryAvailableMib;
    let diskBytes = (1 - BUFFER) * capacity.diskAvailableBytes;
    for (const promise of this.#promises.values()) {
      const { sandboxId } = promise;
      memoryMib -= Math.max(0, promise.memoryMib - (grown.memoryMib.get(sandboxId) ?? 0));
      diskBytes -= Math.max(0, this.#expectedBytes(promise) - (grown.diskBytes.get(sandboxId) ?? 0));
    }
    return { memoryMib: Math.floor(memoryMib), diskBytes: Math.floor(diskBytes) };
  }

  /** Returns the expected disk use. A capture writes its whole reservation, and memory is saved whole. */
  #expectedBytes({ sandboxId, diskBytes, savedMib = 0 }: Reservation): number {
    if (!isSandboxId(sandboxId)) return diskBytes;
    const savedBytes = savedMib * BYTES_PER_MIB;
    return Math.ceil((diskBytes - savedBytes) / this.#diskOvercommit) + savedBytes;
  }

  /** Returns ids whose reservation files are unreadable and which have no other: their reservations are not counted. */
  unreadable(): string[] {
    return [...this.#unreadable].filter((id) => !this.#promises.has(id));
  }

  /** Returns the sandboxes with a reservation: {@link reserve} needs the growth of these. */
  sandboxIds(): string[] {
    return [...this.#promises.keys()].filter(isSandboxId);
  }

  totals(): { memoryMib: number; diskBytes: number; sandboxes: number } {
    let memoryMib = 0;
    let diskBytes = 0;
    for (const promise of this.#promises.values()) {
      memoryMib += promise.memoryMib;
      diskBytes += promise.diskBytes;
    }
    return { memoryMib, diskBytes, sandboxes: this.sandboxIds().length };
  }

  /** Inspects the layer `record` on this machine: the reservation's file. */
  async look(sandboxId: string): Promise<Observation> {
    const path = this.state.reservationOf(sandboxId);
    const found: string[] = [];
    for (const one of [`${path}.new`, path]) if (await isThere(one)) found.push(one);
    return toObservation('record', path, found);
  }

  async marks(): Promise<Mark[]> {
    const names = await readdir(this.state.reservations);
    return [...new Set(names.map(idOf))]
      .filter((id) => id !== null)
      .map((id) => ({
        sandboxId: id,
        observation: toObservation(
          'record',
          this.state.reservationOf(id),
          names.filter((name) => idOf(name) === id),
        ),
      }));
  }
}

function idOf(fileName: string): string | null {
  const id = holderOf(fileName);
  return id !== null && isSandboxId(id) ? id : null;
}

function holderOf(fileName: string): string | null {
  const id = fileName.replace(/\.json(\.new)?$/, '');
  return id !== fileName && isHolder(id) ? id : null;
}

function isHolder(id: string): boolean {
  return isSandboxId(id) || isCaptureId(id);
}

/** Returns null when Mayfly has written none for that id. */
async function readPromise(path: string, id: string): Promise<Reservation | null> {
  try {
    const promise = await readJson(path, Reservation);
    return promise?.sandboxId === id ? promise : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return null;
    throw error;
  }
}

function toRefusal(lacks: keyof Grown, asked: number, room: number): CapacityExhausted {
  const [unit, what] = lacks === 'memoryMib' ? ['MiB', 'memory'] : ['bytes', 'disk'];
  return new CapacityExhausted(
    lacks,
    `It needs ${asked} ${unit} of ${what}, but this host can promise ${Math.max(0, room)} ${unit} more (20 % of what is free is kept).`,
  );
}
