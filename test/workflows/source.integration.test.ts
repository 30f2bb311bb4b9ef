import { describe, expect } from 'vitest';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { useSourceCases } from '../support/source-cases.ts';

const {
  undos: [{ steps: UNDOS }],
} = SAGA_POINTS.prepare;

const test = useSourceCases();

describe.concurrent('a source', () => {
  test('is prepared, cannot be cloned while it runs, and is unchanged after it is unprepared', async ({
    mayfly,
    source,
  }) => {
    const before = await source.tree();
    const prepared = await source.done('prepare');
    expect(prepared).toMatchObject({
      state: 'prepared',
      failure: null,
      waitingFor: null,
      preparedBy: { apiKeyId: 'test' },
    });
    expect(prepared.sshd?.hostKey).toMatch(/^ssh-ed25519 /);
    expect(prepared.changes.length).toBe(5);
    const request = {
      sandboxId: mayfly.input().id,
      source: source.name,
      snapshotId: null,
      cpus: null,
      memoryMib: null,
      egress: 'none' as const,
    };
    const context = { signal: AbortSignal.timeout(60_000), alive: () => {} };
    await expect(source.hypervisor.cloneDisk({ ...request, userCaKeys: [] }, context)).rejects.toMatchObject({
      code: 'source_running',
    });

    expect(await source.done('unprepare')).toMatchObject({ state: 'unprepared', changes: [], preparedAt: null });
    expect(await source.tree()).toEqual(before);
    expect(await source.audit()).toEqual(['certificate.issued', 'source.prepared', 'source.unprepared']);
    expect((await mayfly.store.audit.verify(source.id)).problems).toEqual([]);
  });

  test('is unprepared by steps that are retried until they succeed', async ({ source }) => {
    const before = await source.tree();
    await source.done('prepare');
    source.arm(UNDOS.flatMap((step) => [`${step}.before=1*error`, `${step}.after=1*error`]).join(';'));
    expect(await source.done('unprepare')).toMatchObject({ state: 'unprepared', waitingFor: null });
    expect(await source.tree()).toEqual(before);
  });
});
