import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { TestPlace } from '../../scripts/test/namespace.mjs';
import type { CellResult } from './cell-run.ts';
import { type Cell, type HostKind, nameOf } from './cells.ts';
import { spawnInPlace } from './in-place.ts';
import type { LaneSettings } from './lane.ts';

/** Timeout of a cell, ms; beyond it the cell hangs, and its lane with it. */
const CELL_MS = 900_000;

export interface LanesOptions {
  count: number;
  kind: HostKind;
  seed: string;
  /** Stops handing out cells; running ones finish. */
  signal: AbortSignal;
  onResult: (result: CellResult) => void;
}

/** Runs cells in parallel installations, each in its own place, and removes the places. */
export async function runCells(cells: readonly Cell[], options: LanesOptions): Promise<void> {
  const queue = [...cells];
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].slice(0, options.count);
  await Promise.all(names.map((name) => runLane(`crash${name}`, queue, options)));
}

async function runLane(name: string, queue: Cell[], options: LanesOptions): Promise<void> {
  const place = TestPlace.make(name);
  chmodSync(place.root, 0o711);
  try {
    while (queue.length > 0 && !options.signal.aborted) await runUntilLost(place, queue, options);
  } finally {
    await place.remove();
  }
}

/** Runs cells until the queue is empty, or the lane's process has ended. */
async function runUntilLost(place: TestPlace, queue: Cell[], options: LanesOptions): Promise<void> {
  const { kind, seed, signal, onResult } = options;
  const settings: LaneSettings = { root: place.root, kind };
  const child = spawnInPlace(place, 'lane.ts', settings);
  const ended = once(child, 'exit');
  for (let cell = queue.shift(); cell; cell = signal.aborted ? undefined : queue.shift()) {
    const result = await answered(child, ended, cell, seed);
    onResult({ ...result, cell: nameOf(cell) });
    if (result.why.startsWith('the lane')) break;
  }
  if (child.connected) child.disconnect();
  const force = setTimeout(() => child.kill('SIGKILL'), CELL_MS);
  await ended;
  clearTimeout(force);
}

async function answered(child: ChildProcess, ended: Promise<unknown>, cell: Cell, seed: string): Promise<CellResult> {
  const lost = (why: string): CellResult => ({
    cell: nameOf(cell),
    verdict: 'red',
    outcome: '',
    why,
    seed,
    seconds: 0,
  });
  const over = new AbortController();
  const answer = once(child, 'message', { signal: over.signal }).then(([result]) => result as CellResult);
  answer.catch(() => undefined);
  const late = new Promise<CellResult>((resolve) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      resolve(lost(`the lane hung for ${CELL_MS / 1_000} s`));
    }, CELL_MS);
    over.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  child.send({ cell, seed });
  try {
    return await Promise.race([answer, late, ended.then(() => lost('the lane ended by itself'))]);
  } finally {
    over.abort();
  }
}
