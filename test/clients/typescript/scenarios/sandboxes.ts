import { expect } from 'vitest';
import { Mayfly } from '../../../../clients/typescript/package/mayfly.ts';
import { eventually } from '../../../support/eventually.ts';
import { type Scenario, SOURCE } from './stage.ts';

const CREATE = '^POST /v1/sandboxes$';

/** Scenarios of the life cycle of sandboxes. */
export const sandboxes: Record<number, Scenario> = {
  1: async ({ mayfly }) => {
    await using sandbox = await mayfly.create({ source: SOURCE, metadata: { of: 'scenario' } });
    expect([sandbox.record.state, sandbox.record.spec.metadata]).toEqual(['running', { of: 'scenario' }]);
  },
  2: async ({ mayfly }) => {
    await using sandbox = await mayfly.create({ source: SOURCE, name: 'of-scenario-2' });
    expect((await mayfly.sandbox('of-scenario-2')).id).toBe(sandbox.id);
  },
  3: async (stage) => {
    const before = await stage.living();
    await stage.network({ match: CREATE, does: 'lose', times: 2 });
    await using sandbox = await stage.mayfly.create({ source: SOURCE });
    const { seen } = await stage.seen();
    const creates = seen.filter(({ line }) => line === 'POST /v1/sandboxes');
    expect([creates.length, new Set(creates.map(({ key }) => key)).size]).toEqual([3, 1]);
    expect((await stage.living()).filter((id) => !before.includes(id))).toEqual([sandbox.id]);
  },
  4: async ({ mayfly }) => {
    await using first = await mayfly.create({ source: SOURCE }, { idempotencyKey: 'scenario-4' });
    const second = await mayfly.create({ source: SOURCE }, { idempotencyKey: 'scenario-4' });
    expect(second.id).toBe(first.id);
  },
  5: async ({ mayfly }) => {
    let id = '';
    {
      await using sandbox = await mayfly.create({ source: SOURCE });
      ({ id } = sandbox);
    }
    const { state, proof } = await mayfly.getSandbox(id);
    expect([state, proof?.observations.every(({ absent }) => absent)]).toEqual(['destroyed', true]);
  },
  6: async ({ mayfly }) => {
    let id = '';
    const failing = async () => {
      await using sandbox = await mayfly.create({ source: SOURCE });
      ({ id } = sandbox);
      throw new RangeError('of the block');
    };
    await expect(failing()).rejects.toThrow(RangeError);
    expect((await mayfly.getSandbox(id)).state).toBe('destroyed');
  },
  7: async (stage) => {
    const failing = async () => {
      await using _sandbox = await stage.mayfly.create({ source: SOURCE });
      await stage.network({ match: '^DELETE', does: 'garble', times: 1 });
      throw new RangeError('of the block');
    };
    const told = await failing().catch((error: unknown) => error);
    expect(told).toMatchObject({
      error: { name: 'MayflyApiError', problem: { unknownCode: 'of_tomorrow' } },
      suppressed: { message: 'of the block' },
    });
  },
  8: async (stage) => {
    const before = await stage.living();
    await stage.network({ match: CREATE, does: 'stall', times: 1 });
    const giveUp = new AbortController();
    const stalled = stage.mayfly.create({ source: SOURCE }, { signal: giveUp.signal });
    await eventually(() => stage.seen(), { seen: { length: 1 } });
    giveUp.abort(new Error('enough'));
    await expect(stalled).rejects.toThrow('enough');

    const late = new AbortController();
    const keys = async () =>
      new Set((await stage.seen()).seen.flatMap(({ line, key }) => (line === 'POST /v1/sandboxes' ? [key] : []))).size;
    const begun = stage.mayfly.create({ source: SOURCE, metadata: { late: 'yes' } }, { signal: late.signal });
    await eventually(keys, (count) => count === 2);
    late.abort(new Error('enough'));
    await expect(begun).rejects.toThrow('enough');
    const gone = await eventually(() => stage.living(), { length: before.length });
    expect(gone).toEqual(before);
  },
  9: async ({ mayfly }) => {
    const giveUp = new AbortController();
    let id = '';
    const used = async () => {
      await using sandbox = await mayfly.create({ source: SOURCE }, { signal: giveUp.signal });
      ({ id } = sandbox);
      const running = sandbox.run('sleep 60', { signal: giveUp.signal });
      await eventually(
        () => mayfly.commands.list(id),
        ({ items }) => items[0]?.state === 'running',
      );
      giveUp.abort(new Error('enough'));
      await running;
    };
    await expect(used()).rejects.toThrow('enough');
    expect((await mayfly.getSandbox(id)).state).toBe('destroyed');
  },
  10: async ({ mayfly }) => {
    const refused = mayfly.create({ source: 'no-such' });
    await expect(refused).rejects.toMatchObject({ code: 'source_not_found', status: 404, retryable: false });
  },
  11: async ({ mayfly }) => {
    const refused = mayfly.create({ source: SOURCE, cpus: 1_000 });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request', problem: { errors: [{ field: 'cpus' }] } });
  },
  12: async ({ url }) => {
    const nobody = new Mayfly({ baseUrl: url, apiKey: 'mfk_nobody' });
    await expect(nobody.listSandboxes()).rejects.toMatchObject({ code: 'unauthenticated', status: 401 });
  },
  13: async ({ mayfly }) => {
    await using first = await mayfly.create({ source: SOURCE });
    await using second = await mayfly.create({ source: SOURCE });
    const ids: string[] = [];
    for await (const { id } of mayfly.sandboxes({ pageSize: 1 })) ids.push(id);
    expect(ids.slice(0, 2)).toEqual([second.id, first.id]);
    expect(new Set(ids).size).toBe(ids.length);
  },
  14: async ({ mayfly }) => {
    await using sandbox = await mayfly.create({ source: SOURCE, ttlSeconds: 600 });
    const { expiresAt } = sandbox.record;
    await sandbox.extend({ ttlSeconds: 3_000 });
    const gained = Date.parse(sandbox.record.expiresAt) - Date.parse(expiresAt);
    expect([gained > 2_000_000, gained < 3_000_000]).toEqual([true, true]);
  },
};
