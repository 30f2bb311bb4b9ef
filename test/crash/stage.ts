import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { SimulatedSources } from '../../host/simulated/source/running-source.ts';
import { ask, NOT_YET, type Outcome, PATIENCE_MS } from './asking.ts';
import { Ledger } from './functions/ledger.ts';
import { insisting } from './insisting.ts';
import type { CrashInstallation } from './installation.ts';

/** One saga as its user sees it: what must be there first, the request, and what its answer must be. */
export interface Act {
  /** @returns ids that the request is about */
  prepare(stage: Stage): Promise<string[]>;
  run(stage: Stage, ids: string[], key: string): Promise<Outcome>;
}

/** An installation, and what sagas are tried with on it. */
export class Stage {
  /** What is told of functions there. */
  readonly ledger = new Ledger();

  /** What sandboxes are made of: a source, or, where booting takes long, a snapshot with memory. */
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

  /** A running source of a simulated host. */
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
/** What has memory of its own cannot be given another size. */
const SMALL = { ...TTL, memoryMib: 64 };

export function wish({ made }: Stage) {
  return 'source' in made ? { ...made, ...SMALL } : { ...made, ...TTL };
}
