import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { SimulatedSources } from '../../host/simulated/source/running-source.ts';
import { ask, NOT_YET, type Outcome, PATIENCE_MS } from './asking.ts';
import { Ledger } from './functions/ledger.ts';
import { insisting } from './insisting.ts';
import type { CrashInstallation } from './installation.ts';

/** Saga from its user's view: preparation, request, and expected answer. */
export interface Act {
  /** @returns ids for the request */
  prepare(stage: Stage): Promise<string[]>;
  run(stage: Stage, ids: string[], key: string): Promise<Outcome>;
}

/** Installation with helpers to run sagas. */
export class Stage {
  /** Record of answers about functions. */
  readonly ledger = new Ledger();

  /** @param made origin of sandboxes: a source, or where booting is slow, a snapshot with memory */
  constructor(
    readonly mayfly: CrashInstallation,
    readonly made: { source: string } | { snapshotId: string },
  ) {}

  get client(): MayflyClient {
    return this.mayfly.client;
  }

  async sandbox(): Promise<string> {
    const { id } = await ask((options) => this.client.createSandbox(wish(this), options));
    return id;
  }

  async snapshot(sandboxId: string): Promise<string> {
    const { id } = await ask((options) => this.client.snapshots.take(sandboxId, {}, options));
    return id;
  }

  /** Creates a running simulated source. @returns its name */
  async runningSource(): Promise<string> {
    const name = `server-${randomBytes(4).toString('hex')}`;
    const sources = new SimulatedSources(join(this.mayfly.hostDir(), 'images'));
    await sources.make(name);
    await sources.start(name);
    await insisting(async () => {
      const { items } = await this.client.listSources();
      if (!items.some((source) => source.name === name)) throw new MayflyApiError(NOT_YET);
    }, PATIENCE_MS);
    return name;
  }
}

export const TTL = { ttlSeconds: 3_600 };
/** Smaller memory; not for snapshots with memory, whose size is fixed. */
const SMALL = { ...TTL, memoryMib: 64 };

export function wish({ made }: Stage) {
  return 'source' in made ? { ...made, ...SMALL } : { ...made, ...TTL };
}
