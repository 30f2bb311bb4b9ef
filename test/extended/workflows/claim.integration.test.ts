import { describe, expect } from 'vitest';
import type { SandboxView } from '../../../api/resources/sandbox-schemas.ts';
import type { StoredHost } from '../../../model/host.ts';
import type { Store } from '../../../store/connect.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { TestDoor, useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { buildClaimRequest, callsIn, getClaimOutcome, getFirstMember, TestPool } from '../../support/pool.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

const door = useTestDoor(all);

/** Returns all hosts as drained, for one API only: concurrent tests need theirs undrained. */
async function drainedHosts(): Promise<StoredHost[]> {
  const hosts = await all().store.hosts.list();
  return hosts.map((host) => ({ ...host, drainedAt: new Date().toISOString() }));
}

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

describe.concurrent('a pool', () => {
  test('lists an unclaimed member only under state=warm, and retires it with the pool', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 });
    const { call } = callsIn(door, pool, mayfly);
    const { id } = await getFirstMember(pool);
    const listed = async (query: string) =>
      ((await (await call('GET', `/v1/sandboxes${query}`)).json()) as { items: SandboxView[] }).items;
    expect(await listed('')).toEqual([]);
    expect(await listed('?alive=true')).toEqual([]);
    expect(await listed('?state=warm')).toMatchObject([{ id, state: 'warm' }]);
    await pool.end();
    expect(await mayfly.record(id)).toMatchObject({ state: 'destroyed', stopReason: 'retired' });
  });

  test('does not hand out a member that is still being created', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    const request = buildClaimRequest(mayfly, pool);
    const input = { ...mayfly.input(), createdBy: pool.actor, size: request.size };
    mayfly.arm('awaitIp.before=hang', input.id);
    const membership = { name: pool.name, revision: 1, content: null, warmAt: null, claimedBy: null };
    await mayfly.sagas.sandboxes.create({ ...input, pool: membership });
    await mayfly.until(input.id, ({ hostId }) => hostId !== null);
    expect(await getClaimOutcome(mayfly.sagas.pools.claim(input.id, request))).toBe('sandbox_not_running');
    mayfly.disarm();
  });

  test('does not serve a request of another size, egress or snapshot, or one for a cold boot', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 });
    const { create } = callsIn(door, pool, mayfly);
    const { id } = await getFirstMember(pool);
    for (const body of [{ memoryMib: 65 }, { cpus: 2 }, { network: { egress: 'internet' } }, { boot: 'cold' }]) {
      const { status, told } = await create(body);
      expect(status).toBe(201);
      expect(told.id).not.toBe(id);
    }
    const request = buildClaimRequest(mayfly, pool, { size: { cpus: 2, memoryMib: 64 } });
    expect(await getClaimOutcome(mayfly.sagas.pools.claim(id, request))).toBe('sandbox_not_running');
    expect((await mayfly.record(id)).state).toBe('warm');
    await pool.end();
  });

  test('skips a member whose guest does not answer in time, and retains it for other claims', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 }, { lookMs: 60_000 }, { greetMs: 300 });
    const { create } = callsIn(door, pool, mayfly);
    const { id } = await getFirstMember(pool);
    mayfly.arm('greet.before=hang', id);
    const { status, told } = await create();
    expect(status).toBe(201);
    expect(told.id).not.toBe(id);
    mayfly.disarm();
    expect(await getClaimOutcome(mayfly.sagas.pools.claim(id, buildClaimRequest(mayfly, pool)))).toBe('claimed');
    await pool.end();
  });

  const ends: [string, (mayfly: MayflyCase, id: string) => Promise<unknown>][] = [
    ['is retired', (mayfly, id) => new ControlTemporalClient(mayfly.client).pools.retire(id)],
    [
      'is deleted',
      (mayfly, id) => mayfly.sagas.sandboxes.destroy({ ...mayfly.input(), id, begin: 'destroy' }, { actor }),
    ],
    ['dies', async (mayfly, id) => mayfly.memory?.die(id, 'crashed')],
  ];
  // Promise: of a concurrent claim and end one wins, and the caller is served. Costs 8 s each.
  for (const [what, end] of ends) {
    test(`a member that ${what} while it is claimed is one caller’s or gone, and the caller is served`, async ({
      mayfly,
    }) => {
      const pool = await TestPool.in(mayfly);
      await pool.set({ min: 3, max: 3 });
      const { create } = callsIn(door, pool, mayfly);
      const members = await pool.warm(3);
      const answers = await Promise.all(
        members.map(async ({ id }) => {
          const [answer] = await Promise.all([create(), end(mayfly, id)]);
          return answer;
        }),
      );
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(new Set(answers.map(({ told }) => told.id)).size).toBe(3);
      await pool.end();
      for (const { id } of members) {
        const { state, pool: membership } = await mayfly.record(id);
        const isSomebodys = membership?.claimedBy !== null;
        expect([id, isSomebodys || state === 'destroyed' || state === 'failed']).toEqual([id, true]);
        if (what === 'is retired' && isSomebodys) expect([id, state]).toEqual([id, 'running']);
      }
    });
  }

  test('does not hand out a member whose source its project may no longer use', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 }, { lookMs: 60_000 });
    const { call, create } = callsIn(door, pool, mayfly);
    const { id } = await getFirstMember(pool);
    await mayfly.store.projects.change(pool.project, { sources: [] });
    await eventually(async () => ((await (await call('GET', '/v1/sources')).json()) as { items: unknown[] }).items, {
      length: 0,
    });
    const { status, told } = await create();
    expect([status, told.code]).toEqual([404, 'source_not_found']);
    expect((await mayfly.record(id)).state).toBe('warm');
    await pool.end();
  });

  test('does not hand out a member on a drained host', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 }, { lookMs: 60_000 });
    const { create } = callsIn(door, pool, mayfly);
    const { id, hostId } = await getFirstMember(pool);
    expect(hostId).not.toBeNull();
    const drained = { ...all().store, hosts: { list: drainedHosts } } as unknown as Store;
    const other = await TestDoor.open({ store: drained, sagas: all().sagas });
    const { status, told } = await callsIn(other, pool, mayfly).create();
    expect([status, told.code]).toEqual([503, 'no_host']);
    other.close();
    expect((await create()).told.id).toBe(id);
    await pool.end();
  });
});
