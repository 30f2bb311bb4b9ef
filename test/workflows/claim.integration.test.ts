import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Problem } from '../../api/http/problem.ts';
import type { SandboxView } from '../../api/resources/sandbox-view.ts';
import { MayflyError } from '../../model/errors.ts';
import type { KnownHost } from '../../model/host.ts';
import { ID_BYTES, sandboxIdFrom } from '../../model/ids.ts';
import type { ClaimRequest } from '../../model/sagas/messages.ts';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { unprovenLayers } from '../../model/sandbox/proof.ts';
import { retireMember } from '../../sagas/pools.ts';
import type { Store } from '../../store/connect.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import { TestDoor } from '../support/door.ts';
import { eventually } from '../support/eventually.ts';
import type { MayflyCase } from '../support/mayfly-case.ts';
import { callsIn, TestPool } from '../support/pool.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { FULL } from '../support/sweep.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

let door: TestDoor;
beforeAll(async () => {
  door = await TestDoor.open(all());
});
afterAll(() => door.close());

function requestOf(mayfly: MayflyCase, pool: TestPool, changes: Partial<ClaimRequest> = {}): ClaimRequest {
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

/** As if all hosts had been drained; the tests beside this one need theirs. */
async function drainedHosts(): Promise<KnownHost[]> {
  const hosts = await all().store.hosts.list();
  return hosts.map((host) => ({ ...host, drainedAt: new Date().toISOString() }));
}

const actor = { apiKeyId: 'test', agentId: null };

async function one(pool: TestPool): Promise<StoredMember> {
  const [member] = await pool.warm(1);
  if (!member) throw new Error('there is no member');
  return member;
}

async function kindsOf(mayfly: MayflyCase, id: string): Promise<AuditKind[]> {
  const entries = await mayfly.store.audit.entries(id, { limit: 100 });
  return entries.map(({ body }) => (JSON.parse(body) as { kind: AuditKind }).kind);
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'claimed',
    (error: unknown) => (error instanceof MayflyError ? error.code : String(error)),
  );

describe.concurrent('a pool', () => {
  test('a create has a member of its pool at once, and all that is its caller’s begins with that', async ({
    mayfly,
  }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 });
    const { create, call } = callsIn(door, pool, mayfly);
    const member = await one(pool);
    const before = await mayfly.record(member.id);
    const { status, told } = await create({ name: 'first', ttlSeconds: 77, idleSeconds: 66, metadata: { a: 'b' } });
    expect(status).toBe(201);
    expect(told).toMatchObject({
      id: member.id,
      name: 'first',
      state: 'running',
      createdBy: pool.actor,
      spec: { ttlSeconds: 77, idleSeconds: 66, metadata: { a: 'b' } },
      boot: { way: 'warm', why: null, templateId: null },
    });
    expect(Date.parse(told.createdAt)).toBeGreaterThan(Date.parse(before.createdAt));
    expect(Date.parse(told.expiresAt) - Date.parse(told.createdAt)).toBe(77_000);
    expect(await kindsOf(mayfly, member.id)).toContain('sandbox.claimed');
    expect(await mayfly.store.sandboxes.named('first', pool.project)).toMatchObject({ id: member.id });
    expect((await call('GET', '/v1/sandboxes/first')).status).toBe(200);
    await pool.end();
    expect((await mayfly.record(member.id)).state).toBe('running');
    const ended = await mayfly.destroy(member.id);
    await mayfly.keepHistory('claimed', member.id);
    expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
  });

  test(
    'a member is nobody’s before: not listed, not run in, not saved, not extended, not opened',
    FULL,
    async ({ mayfly }) => {
      const pool = await TestPool.in(mayfly);
      await pool.set({ min: 1, max: 1 });
      const { call } = callsIn(door, pool, mayfly);
      const { id } = await one(pool);
      const listed = async (query: string) =>
        ((await (await call('GET', `/v1/sandboxes${query}`)).json()) as { items: SandboxView[] }).items;
      expect(await listed('')).toEqual([]);
      expect(await listed('?alive=true')).toEqual([]);
      expect(await listed('?state=warm')).toMatchObject([{ id, state: 'warm' }]);
      const refused: [string, string, object?][] = [
        ['POST', '/commands', { argv: ['true'] }],
        ['POST', '/snapshots', {}],
        ['PATCH', '', { ttlSeconds: 9_000 }],
        ['POST', '/pause'],
        [
          'POST',
          '/credentials',
          { publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ' },
        ],
      ];
      for (const [method, path, body] of refused) {
        const response = await call(method, `/v1/sandboxes/${id}${path}`, body);
        expect([path, response.status, ((await response.json()) as Problem).code]).toEqual([
          path,
          409,
          'sandbox_not_running',
        ]);
      }
      await pool.end();
      expect(await mayfly.record(id)).toMatchObject({ state: 'destroyed', stopReason: 'retired' });
    },
  );

  test('of two that claim one member at once one has it, and the same request has it again', async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 });
    const { id } = await one(pool);
    const requests = Array.from({ length: 8 }, () => requestOf(mayfly, pool));
    const outcomes = await Promise.all(requests.map((request) => codeOf(mayfly.sagas.claim(id, request))));
    expect(outcomes.filter((outcome) => outcome === 'claimed')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'sandbox_busy')).toHaveLength(7);
    const winner = requests[outcomes.indexOf('claimed')];
    if (!winner) throw new Error('nobody has it');
    await mayfly.sagas.claim(id, winner);
    expect((await mayfly.record(id)).pool?.claimedBy).toBe(winner.requestId);
    await pool.end();
  });

  test('a member that is being made is not claimed', FULL, async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    const request = requestOf(mayfly, pool);
    const input = { ...mayfly.input(), createdBy: pool.actor, size: request.size };
    mayfly.arm('awaitIp.before=hang', input.id);
    const membership = { name: pool.name, revision: 1, content: null, warmAt: null, claimedBy: null };
    await mayfly.sagas.create({ ...input, pool: membership });
    await mayfly.until(input.id, ({ hostId }) => hostId !== null);
    expect(await codeOf(mayfly.sagas.claim(input.id, request))).toBe('sandbox_not_running');
    mayfly.disarm();
  });

  test(
    'what is not as it was made is another’s: size, egress, snapshot, and the wish for a cold one',
    FULL,
    async ({ mayfly }) => {
      const pool = await TestPool.in(mayfly);
      await pool.set({ min: 1, max: 1 });
      const { create } = callsIn(door, pool, mayfly);
      const { id } = await one(pool);
      for (const body of [{ memoryMib: 65 }, { cpus: 2 }, { network: { egress: 'internet' } }, { boot: 'cold' }]) {
        const { status, told } = await create(body);
        expect(status).toBe(201);
        expect(told.id).not.toBe(id);
      }
      const request = requestOf(mayfly, pool, { size: { cpus: 2, memoryMib: 64 } });
      expect(await codeOf(mayfly.sagas.claim(id, request))).toBe('sandbox_not_running');
      expect((await mayfly.record(id)).state).toBe('warm');
      await pool.end();
    },
  );

  test('a member that died since its last look is passed over, and the caller is served', FULL, async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 }, { lookMs: 60_000 });
    const { create } = callsIn(door, pool, mayfly);
    const { id } = await one(pool);
    mayfly.arm('greet.before=error', id);
    const { status, told } = await create();
    expect(status).toBe(201);
    expect(told.id).not.toBe(id);
    expect(told.boot).toMatchObject({ why: 'pool_empty' });
    await pool.end();
  });

  test(
    'a member whose guest does not answer in its time is passed over, and stays for others',
    FULL,
    async ({ mayfly }) => {
      const pool = await TestPool.in(mayfly);
      await pool.set({ min: 1, max: 1 }, { lookMs: 60_000 }, { greetMs: 300 });
      const { create } = callsIn(door, pool, mayfly);
      const { id } = await one(pool);
      mayfly.arm('greet.before=hang', id);
      const { status, told } = await create();
      expect(status).toBe(201);
      expect(told.id).not.toBe(id);
      mayfly.disarm();
      expect(await codeOf(mayfly.sagas.claim(id, requestOf(mayfly, pool)))).toBe('claimed');
      await pool.end();
    },
  );

  const ends: [string, (mayfly: MayflyCase, id: string) => Promise<unknown>][] = [
    ['is retired', (mayfly, id) => retireMember(mayfly.client, id)],
    ['is deleted', (mayfly, id) => mayfly.sagas.destroy({ ...mayfly.input(), id, begin: 'destroy' }, { actor })],
    ['dies', async (mayfly, id) => mayfly.memory?.die(id, 'crashed')],
  ];
  // Promise: of a claim and an end that come at once one wins, and whoever asked is served. Costs 8 s each.
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

  // Promise: who may not use a source any more has nothing of it, however soon it was to be had. Costs 3 s.
  test('a member of a source that its project may not use any more is not claimed', FULL, async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 }, { lookMs: 60_000 });
    const { call, create } = callsIn(door, pool, mayfly);
    const { id } = await one(pool);
    await mayfly.store.projects.change(pool.project, { sources: [] });
    await eventually(
      async () => ((await (await call('GET', '/v1/sources')).json()) as { items: unknown[] }).items,
      (items) => items.length === 0,
    );
    const { status, told } = await create();
    expect([status, told.code]).toEqual([404, 'source_not_found']);
    expect((await mayfly.record(id)).state).toBe('warm');
    await pool.end();
  });

  test('a member on a host that is drained is not claimed', FULL, async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 }, { lookMs: 60_000 });
    const { create } = callsIn(door, pool, mayfly);
    const { id, hostId } = await one(pool);
    expect(hostId).not.toBeNull();
    const drained = { ...all().store, hosts: { list: drainedHosts } } as unknown as Store;
    const other = await TestDoor.open({ store: drained, sagas: all().sagas });
    const { status, told } = await callsIn(other, pool, mayfly).create();
    expect([status, told.code]).toEqual([503, 'no_host']);
    other.close();
    expect((await create()).told.id).toBe(id);
    await pool.end();
  });

  test('a name that is taken refuses the claim, and the member stays', FULL, async ({ mayfly }) => {
    const pool = await TestPool.in(mayfly);
    await pool.set({ min: 1, max: 1 });
    const { id } = await one(pool);
    const taken = await mayfly.create({ ...mayfly.input(), name: 'taken', createdBy: pool.actor });
    expect(taken.state).toBe('running');
    const request = requestOf(mayfly, pool, { name: 'taken' });
    expect(await codeOf(mayfly.sagas.claim(id, request))).toBe('name_taken');
    expect(await mayfly.record(id)).toMatchObject({ state: 'warm', name: null });
    expect(await codeOf(mayfly.sagas.claim(id, requestOf(mayfly, pool)))).toBe('claimed');
    await pool.end();
  });
});
