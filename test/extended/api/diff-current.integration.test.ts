import { describe, expect, it } from 'vitest';
import type { SnapshotView } from '../../../api/snapshots/snapshots.ts';
import type { Diff } from '../../../clients/typescript/http/openapi.ts';
import { MayflyError } from '../../../model/errors.ts';
import { fails, linesOf, useCompared } from '../../api/compared.ts';
import { jsonOf, problemOf } from '../../api/support.ts';
import { fileChange } from '../../support/compared-snapshots.ts';

const { door, snapshots, client, a, b, sandboxId } = useCompared();

describe('the present state', () => {
  const current = (query = '', key?: string) =>
    door().call('GET', `/v1/snapshots/${a()}/diff/current${query}`, undefined, {}, key);

  it('is an ephemeral snapshot that no list contains', async () => {
    const inOrder: number[] = [];
    snapshots().records = async function* () {
      inOrder.push(door().sagas.passing.length);
      yield { line: 'end', added: 0, changed: 0, removed: 0, renamed: 0 };
    };
    const told = await jsonOf<Diff>(current());
    expect(told).toMatchObject({ before: { snapshotId: a() }, after: { snapshotId: null, sandboxId: sandboxId() } });
    const [operation] = door().sagas.operations;
    const notAfter = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(operation).toMatchObject({ kind: 'snapshot', reason: 'diff', snapshotKind: 'disk', notAfter });
    expect(snapshots().asked).toMatchObject([{ before: a(), after: operation?.operationId }]);
    expect([inOrder, door().sagas.passing]).toEqual([[1], []]);
    const list = await jsonOf<{ items: SnapshotView[] }>(door().call('GET', `/v1/sandboxes/${sandboxId()}/snapshots`));
    expect(list.items.map(({ id }) => id).sort()).toEqual([a(), b()].sort());
    await linesOf(await current('?format=ndjson'));
    await (await current('?format=tar')).arrayBuffer();
    expect(door().sagas.passing).toEqual([]);
  });

  it('is released when the host fails, the caller disconnects, or the snapshot fails', async () => {
    snapshots().records = () => fails(new MayflyError('diff_failed', 'a loop'));
    expect((await problemOf(current())).code).toBe('diff_failed');
    expect((await problemOf(current('?format=ndjson'))).code).toBe('diff_failed');
    expect(door().sagas.passing).toEqual([]);
    const leaving = new AbortController();
    snapshots().records = async function* () {
      for (;;) yield { line: 'change', ...fileChange(`/${'x'.repeat(1_000)}`) };
    };
    const follow = client().snapshots.diff.follow(a(), 'current', { signal: leaving.signal });
    await follow.next();
    expect(door().sagas.passing).toHaveLength(1);
    leaving.abort();
    await expect.poll(() => door().sagas.passing).toEqual([]);
    door().sagas.outcome = 'failed';
    expect(await problemOf(current())).toMatchObject({ code: 'host_unavailable', detail: 'saveSnapshot: no' });
    door().sagas.refusal = new MayflyError('sandbox_busy', 'no');
    expect((await problemOf(current())).code).toBe('sandbox_busy');
    expect(door().sagas.passing).toEqual([]);
  });

  it('expires by its timeout when it is unknown if the snapshot will be taken', async () => {
    door().sagas.refusal = new MayflyError('temporal_unavailable', 'no');
    expect((await problemOf(current())).code).toBe('temporal_unavailable');
    expect(door().sagas.passing).toHaveLength(1);
    door().sagas.passing = [];
  });

  it('requires write scope, and a sandbox that is alive', async () => {
    expect((await problemOf(current('', await door().key('sandboxes:read')))).code).toBe('forbidden');
    await door().store.sandboxes.update(sandboxId(), { state: 'destroyed' });
    expect((await problemOf(current())).code).toBe('sandbox_ended');
    expect(door().sagas.operations).toEqual([]);
  });
});
