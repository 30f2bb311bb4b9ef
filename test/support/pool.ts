import { randomBytes } from 'node:crypto';
import type { SandboxView } from '../../api/resources/sandbox-schemas.ts';
import { MayflyError } from '../../model/errors.ts';
import { ID_BYTES, sandboxIdFrom } from '../../model/ids.ts';
import type { PoolRecord, PoolSpec } from '../../model/pools/pool.ts';
import type { PoolTimes } from '../../model/pools/pool-saga.ts';
import { NO_PROJECT } from '../../model/project.ts';
import type { ClaimRequest } from '../../model/sagas/messages.ts';
import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import type { Problem } from '../../services/problems/problem.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import type { TestDoor } from './door.ts';
import { eventually } from './eventually.ts';
import type { MayflyCase } from './mayfly-case.ts';
import { HANGS_AFTER_MS, TEST_TIMEOUTS } from './test-timeouts.ts';

/** Pool timings: frequent polls, immediate creation. */
const QUICK: Partial<PoolTimes> = { lookMs: 200, quietMs: 50, patienceMs: 100, retryMs: 400, longestRetryMs: 800 };

/** Own project with a pool, for one test; call {@link end} afterwards. */
export class TestPool {
  private constructor(
    private readonly mayfly: MayflyCase,
    readonly project: string,
    /** Key of an admin. */
    readonly secret: string,
    readonly actor: { apiKeyId: string; agentId: null; project: string },
    readonly name = 'web',
  ) {}

  /** Creates a pool shared by all projects, with its own size; its key is a project admin's. */
  static async shared(mayfly: MayflyCase): Promise<TestPool> {
    const { secret, actor } = await TestPool.in(mayfly);
    const name = `s${randomBytes(5).toString('hex')}`;
    return new TestPool(mayfly, NO_PROJECT, secret, { ...actor, project: NO_PROJECT }, name);
  }

  static async in(mayfly: MayflyCase): Promise<TestPool> {
    const project = `p${randomBytes(5).toString('hex')}`;
    await mayfly.store.projects.create(project, { sources: null });
    const { secret, key } = await mayfly.store.apiKeys.create({ name: 'test', project, scopes: ['admin'] });
    return new TestPool(mayfly, project, secret, { apiKeyId: key.id, agentId: null, project });
  }

  async set(wish: Partial<PoolSpec> = {}, times: Partial<PoolTimes> = {}, timeouts: Partial<Timeouts> = {}) {
    const { project, name, actor } = this;
    const { source, memoryMib } = this.mayfly.input().spec;
    const input = {
      project,
      name,
      wish: { source, cpus: null, memoryMib, egress: 'none' as const, min: 1, max: 4, ...wish },
      actor,
      at: new Date().toISOString(),
      times: { ...QUICK, ...times },
      timeouts: { ...TEST_TIMEOUTS, ...timeouts },
    };
    // Idempotent: on a busy machine a call may time out.
    const set = () => this.mayfly.sagas.pools.set(input).then(() => null, codeOf);
    await eventually(set, (code) => code === null);
  }

  async members(): Promise<StoredMember[]> {
    const members = await this.mayfly.store.poolMembers.of(this);
    for (const { id } of members) this.mayfly.own(id);
    return members;
  }

  /** Waits for this many claimable members. */
  warm(count: number): Promise<StoredMember[]> {
    return eventually(
      async () => (await this.members()).filter(({ state }) => state === 'warm'),
      (members) => members.length >= count,
    );
  }

  until(wish: (record: PoolRecord) => boolean): Promise<PoolRecord> {
    return eventually(
      () => this.mayfly.store.pools.get(this),
      (record): record is PoolRecord => record !== null && wish(record),
    );
  }

  /** Deletes the pool; all members end, with proofs. */
  async end(): Promise<void> {
    const { project, name, actor, mayfly } = this;
    await this.members();
    const wish = { source: 'none', cpus: null, memoryMib: null, egress: 'none', min: 0, max: 0 } as const;
    await mayfly.sagas.pools.delete({ project, name, wish, actor, at: new Date().toISOString() }, actor);
    await mayfly.sagas.pools.deleted(this, AbortSignal.timeout(HANGS_AFTER_MS));
  }
}

/** Returns calls of a caller in the pool's project. */
export function callsIn(door: TestDoor, pool: Pick<TestPool, 'secret'>, mayfly: MayflyCase) {
  const Authorization = `Bearer ${pool.secret}`;
  const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    door.call(method, path, body, { Authorization, ...headers });
  const create = async (body: object = {}, headers: Record<string, string> = {}) => {
    const { source, memoryMib } = mayfly.input().spec;
    // Ten concurrent creates take more than a minute on a busy machine; each waits for its end.
    const waiting = { Prefer: `wait=${HANGS_AFTER_MS / 1_000}`, ...headers };
    const response = await call('POST', '/v1/sandboxes', { source, memoryMib, ...body }, waiting);
    const told = (await response.json()) as SandboxView & Partial<Problem>;
    if (response.ok) mayfly.own(told.id);
    return { status: response.status, told };
  };
  return { call, create };
}

/** Returns a claim as sent by a caller of the pool's project. */
export function buildClaimRequest(
  mayfly: MayflyCase,
  pool: TestPool,
  changes: Partial<ClaimRequest> = {},
): ClaimRequest {
  const { spec } = mayfly.input();
  return {
    requestId: sandboxIdFrom(randomBytes(ID_BYTES)),
    spec,
    size: { cpus: 1, memoryMib: spec.memoryMib ?? 0 },
    actor: pool.actor,
    requestedAt: new Date().toISOString(),
    ...changes,
  };
}

/** Returns the first warm member once the pool has one. */
export async function getFirstMember(pool: TestPool): Promise<StoredMember> {
  const [member] = await pool.warm(1);
  if (!member) throw new Error('there is no member');
  return member;
}

/** Returns `claimed`, or the error code of a refused claim. */
export const getClaimOutcome = (claim: Promise<unknown>): Promise<string> =>
  claim.then(
    () => 'claimed',
    (error: unknown) => (error instanceof MayflyError ? error.code : String(error)),
  );

function codeOf(error: unknown): string {
  if (error instanceof MayflyError && error.code === 'temporal_unavailable') return error.code;
  throw error;
}
