import type { Connection } from 'mongoose';
import type { PoolRecord } from '../../model/pools/pool.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isUnclaimed, type SandboxState } from '../../model/sandbox/sandbox-state.ts';
import { withStoreErrors } from '../mongo/failure.ts';
import type { SandboxDocument } from './sandbox-document.ts';

/** Sandbox that was created for a pool, with the fields that pools need. */
export type StoredMember = { id: string } & Pick<
  SandboxRecord,
  'project' | 'state' | 'hostId' | 'installationId' | 'size' | 'pool' | 'createdAt' | 'expiresAt'
> & { source: string; egress: string };

const PROJECTION = {
  project: 1,
  state: 1,
  hostId: 1,
  installationId: 1,
  size: 1,
  pool: 1,
  createdAt: 1,
  expiresAt: 1,
  'spec.source': 1,
  'spec.network.egress': 1,
} as const;

/** States before a sandbox can be claimed or used. */
const CREATING_STATES: readonly SandboxState[] = ['requested', 'creating'];
/** States of an unclaimed member until it has ended. */
const UNCLAIMED: readonly SandboxState[] = [...CREATING_STATES, 'warm', 'destroying'];

/** Members of pools among the living sandboxes. Reads are only hints: each member's own workflow decides. */
export class PoolMembers {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Returns the claimable members of a project's pools. */
  warm(project: string): Promise<StoredMember[]> {
    return this.#find({ project, state: 'warm' });
  }

  /** Returns the unclaimed members of a pool. */
  async of({ project, name }: Pick<PoolRecord, 'project' | 'name'>): Promise<StoredMember[]> {
    const living = await this.#find({ project, state: { $in: [...UNCLAIMED] } });
    return living.filter((member) => member.pool?.name === name && isUnclaimed(member));
  }

  /** Returns the unclaimed members of all pools. @param project project of the pools. `@default` all */
  async unclaimed(project?: string): Promise<StoredMember[]> {
    const of = project === undefined ? {} : { project };
    return (await this.#find({ ...of, state: { $in: [...UNCLAIMED] } })).filter(isUnclaimed);
  }

  /** Counts the sandboxes being created, for pools and for callers. */
  async underWay(): Promise<{ members: number; others: number }> {
    const found = await this.#find({ state: { $in: [...CREATING_STATES] } });
    const members = found.filter(isUnclaimed).length;
    return { members, others: found.length - members };
  }

  async #find(filter: object): Promise<StoredMember[]> {
    const found = await withStoreErrors('look for members of pools', () =>
      this.#connection.collection<SandboxDocument>('sandboxes').find(filter, { projection: PROJECTION }).toArray(),
    );
    return found.map(({ _id, spec, ...rest }) => ({
      id: _id,
      ...rest,
      source: spec.source,
      egress: spec.network.egress,
    }));
  }
}
