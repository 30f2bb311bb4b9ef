/**
 * Runs cells in sequence in an installation of its own namespaces; starts a new one after a red cell. Started by
 * lanes.ts. @module
 */
import { join } from 'node:path';
import { type CellResult, runCell } from './cell-run.ts';
import type { Cell, HostKind } from './cells.ts';
import { SMALL_DISK, type Standing, standUp } from './standing.ts';

export interface LaneOrder {
  cell: Cell;
  seed: string;
}
export interface LaneSettings {
  root: string;
  kind: HostKind;
}

class Lane {
  #standing: Standing | null = null;
  #nth = 0;

  constructor(private readonly settings: LaneSettings) {}

  async try({ cell, seed }: LaneOrder): Promise<CellResult> {
    this.#standing ??= await standUp(join(this.settings.root, String(this.#nth++)), this.settings.kind, SMALL_DISK);
    const { stage, agreement } = this.#standing;
    const result = await runCell(stage, agreement, cell, seed);
    if (result.verdict !== 'red') return result;
    const open = await agreement
      .describeOpenRuns()
      .catch((error: unknown) => `open runs are not known: ${String(error)}`);
    const told = stage.mayfly.told();
    await this.end();
    return { ...result, why: `${result.why}\n${open}\n${told}` };
  }

  async end(): Promise<void> {
    const standing = this.#standing;
    this.#standing = null;
    await standing?.end();
  }
}

const lane = new Lane(JSON.parse(process.argv[2] ?? '') as LaneSettings);
let work: Promise<void> = Promise.resolve();
process.on('message', (order: LaneOrder) => {
  work = work.then(async () => {
    const result = await lane.try(order).catch((error: unknown): CellResult => {
      const why = `the harness failed: ${error instanceof Error ? error.stack : String(error)}`;
      return { cell: '', verdict: 'red', outcome: '', why, seed: order.seed, seconds: 0 };
    });
    process.send?.(result);
  });
});
process.on('disconnect', () => {
  void work.then(() => lane.end()).finally(() => process.exit());
});
