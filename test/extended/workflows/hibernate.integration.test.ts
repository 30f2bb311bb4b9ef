import { beforeAll, expect, vi } from 'vitest';
import { UNMEASURED_BYTES } from '../../../model/snapshots/storage.ts';
import { hibernated, readReservedMib, refusalOf } from '../../support/hibernated.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { letSleep } from '../../support/sleeping-host.ts';

const { test, alone, mayfly: all } = useSagaCases();
beforeAll(() => letSleep(machine().hypervisor, all().failpoints));

const machine = () => all().machine();

test('a paused sandbox can be hibernated; a hibernated one cannot be saved, restored or paused', async ({
  mayfly,
  operations,
}) => {
  const { id } = await mayfly.create();
  const snapshot = await operations.snapshot(id);
  await operations.pause(id);
  expect(await operations.hibernate(id)).toBeNull();
  for (const attempt of [
    () => operations.beginSnapshot(id),
    () => operations.beginRestore(id, snapshot.id, true),
    () => operations.beginPause(id, 'pause'),
  ]) {
    await expect(attempt()).rejects.toMatchObject({
      code: 'sandbox_not_running',
      message: expect.stringMatching(/resume it first/),
    });
  }
  expect(await operations.resume(id)).toBeNull();
  expect(await operations.sh(id, 'echo here')).toBe('here\n');
});

test('it ends at its TTL or by a delete, also during either step, but not for idleness', async ({
  mayfly,
  operations,
}) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await operations.hibernate(input.id);
  await mayfly.sagas.sandboxes.patch(input.id, { ttlSeconds: 15, idleSeconds: 4, actor: input.createdBy });
  for (const step of ['hibernate', 'wake'] as const) {
    const other = mayfly.input();
    await mayfly.create(other);
    if (step === 'wake') await operations.hibernate(other.id);
    mayfly.arm(`${step}.after=hang`, other.id);
    const ended = operations.ended(
      other.id,
      await operations.beginPause(other.id, step === 'wake' ? 'resume' : 'hibernate'),
    );
    await operations.beganStep(other.id, step);
    expect(await mayfly.destroy(other)).toMatchObject({ state: 'destroyed' });
    expect(await ended).toMatchObject({ code: 'sandbox_ended' });
    mayfly.arm(undefined, other.id);
  }
  expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'ttl' });
  const asleep = await hibernated(mayfly, operations, true);
  expect(await mayfly.destroy(asleep)).toMatchObject({ state: 'destroyed' });
});

alone(
  'where there is no room for its memory any more, it stays hibernated and says so',
  async ({ mayfly, operations }) => {
    const id = await hibernated(mayfly, operations, true);
    const { ledger, hypervisor } = machine();
    const other = mayfly.input().id;
    const capacity = await hypervisor.capacity();
    const memoryMib = capacity.memoryTotalMib;
    const roomy = { ...capacity, memoryAvailableMib: memoryMib * 2 };
    await ledger.reserve({ sandboxId: other, memoryMib, diskBytes: 0 }, roomy);
    const full = vi.spyOn(hypervisor, 'disk').mockResolvedValue({ totalBytes: 2 ** 30, availableBytes: 0 });
    expect(await operations.resume(id)).toMatchObject({ code: 'capacity_exhausted', step: 'retakeMemory' });
    full.mockRestore();
    expect(await mayfly.record(id)).toMatchObject({ state: 'hibernated', waitingFor: null });
    const refused = await operations.door.call('POST', `/v1/sandboxes/${id}/commands`, { command: 'true' });
    expect(await refusalOf(refused)).toEqual([503, 'capacity_exhausted']);
    await ledger.release(other);
    expect(await operations.sh(id, 'echo here')).toBe('here\n');
  },
);

alone(
  'past a quota it stays hibernated and says so, but what its memory takes of the disk is not held against it',
  async ({ mayfly, operations }) => {
    const sandboxDiskBytes = 100 * 1_048_576;
    const { store } = mayfly;
    const { key } = await store.apiKeys.create({
      project: 'default',
      name: 'limited',
      scopes: ['sandboxes:write'],
      sandboxDiskBytes,
    });
    const { id } = await mayfly.create({
      ...mayfly.input(),
      createdBy: { apiKeyId: key.id, agentId: null, project: 'default' },
    });
    await operations.hibernate(id);
    await store.apiKeys.limit(key.id, { sandboxDiskBytes: UNMEASURED_BYTES - 1 });
    expect(await operations.resume(id)).toMatchObject({ code: 'quota_exceeded', step: 'retakeMemory' });
    expect(await mayfly.record(id)).toMatchObject({ state: 'hibernated', waitingFor: null });
    expect(await readReservedMib(machine(), id)).toBe(0);
    vi.spyOn(machine().hypervisor, 'savedMemoryBytes').mockResolvedValueOnce(1);
    expect(await operations.resume(id)).toBeNull();
  },
);
