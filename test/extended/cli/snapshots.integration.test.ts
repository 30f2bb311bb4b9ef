import { expect, test } from 'vitest';
import type { Restored } from '../../../client/http/openapi.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import type { SnapshotRecord } from '../../../model/snapshots/snapshot.ts';
import { useCommandLine } from '../../support/command-line.ts';
import { useOperations } from '../../support/operations.ts';
import { useMayfly } from '../../support/use-mayfly.ts';

const mayfly = useMayfly();
const operations = useOperations(mayfly);
const { cli, told, door } = useCommandLine(mayfly);

const write = (id: string, text: string) => cli('run', id, '--', 'sh', '-c', `printf ${text} > ~/note`);
const note = async (id: string) => (await cli('run', id, '--', 'sh', '-c', 'cat ~/note')).out;

test('a sandbox is saved, taken back and forward again, forked after its end, and its snapshots deleted', async () => {
  const { id } = await told<SandboxRecord>('sandbox', 'create', 'golden-debian12');
  await write(id, 'one');
  const { code, err } = await cli('snapshot', 'create', id, '--name', 'one');
  expect([code, err]).toEqual([0, expect.stringMatching(/saveSnapshot +[\d.]+ m?s\n.*verifySnapshot +[\d.]+ m?s/)]);
  const one = JSON.parse((await cli('snapshot', 'list', id, '--json')).out) as SnapshotRecord;
  expect(one).toMatchObject({ name: 'one', state: 'ready', sandboxId: id });
  expect((await cli('snapshot', 'create', id, '--name', 'one')).code).toBe(1);

  await write(id, 'two');
  const back = await told<Restored>('restore', id, one.id);
  expect([back.sandbox.state, await note(id)]).toEqual(['running', 'one']);
  await told('restore', id, back.keptAs ?? '', '--drop-current');
  expect(await note(id)).toBe('two');
  await told('sandbox', 'destroy', id);

  const { items } = await told<{ items: { sandbox: SandboxRecord }[] }>('fork', one.id, '--count', '2');
  expect(items.map(({ sandbox }) => sandbox)).toMatchObject([1, 2].map(() => ({ spec: { snapshotId: one.id } })));
  expect(new Set(items.map(({ sandbox }) => sandbox.ssh?.hostKey)).size).toBe(2);
  for (const { sandbox } of items) expect(await note(sandbox.id)).toBe('one');

  const ids = (await cli('snapshot', 'list', id, '--json')).out.trim().split('\n');
  expect(ids.map((line) => (JSON.parse(line) as SnapshotRecord).id)).toEqual([back.keptAs, one.id]);
  for (const snapshotId of [one.id, back.keptAs ?? '']) {
    expect(await told('snapshot', 'delete', snapshotId)).toMatchObject({ state: 'deleted' });
  }
  expect(await operations().onHost()).toEqual([]);
  expect((await cli('fork', one.id)).code).toBe(1);
  expect((await cli('restore', id, one.id)).code).toBe(1);
});

test('a paused sandbox lets nobody in until it is resumed', async () => {
  const { id } = await told<SandboxRecord>('sandbox', 'create', 'golden-debian12');
  await write(id, 'kept');
  expect(await told('pause', id)).toMatchObject({ state: 'paused' });
  expect(await told('pause', id)).toMatchObject({ state: 'paused' });
  const refused = await door().call('POST', `/v1/sandboxes/${id}/commands`, { command: 'true' });
  expect(await refused.json()).toMatchObject({ code: 'sandbox_suspended', retryable: false });
  expect(await told('snapshot', 'create', id)).toMatchObject({ state: 'ready' });
  expect(await told('resume', id)).toMatchObject({ state: 'running' });
  expect(await note(id)).toBe('kept');
});

test('one request is one snapshot, and another waits for its turn', async () => {
  const { id } = await told<SandboxRecord>('sandbox', 'create', 'golden-debian12');
  mayfly().failpoints.arm('saveSnapshot.before=delay(1500)');
  const take = (key: string) =>
    door().call('POST', `/v1/sandboxes/${id}/snapshots`, {}, { 'Idempotency-Key': key, Prefer: 'wait=60' });
  const first = take('same');
  await expect
    .poll(async () => (await mayfly().store.snapshots.list({ sandboxId: id, limit: 9 })).items.length)
    .toBe(1);
  const [other, ...same] = await Promise.all([take('other'), take('same'), first]);
  expect(await other?.json()).toMatchObject({ code: 'sandbox_busy', retryable: true });
  const bodies = await Promise.all(same.map(async (response) => (await response.json()) as SnapshotRecord));
  expect(bodies.map(({ state }) => state)).toEqual(['ready', 'ready']);
  expect(new Set(bodies.map((snapshot) => snapshot.id)).size).toBe(1);
  expect((await take('other')).status).toBe(201);
});

test('a restore that fails says why, and the sandbox is as it was', async () => {
  const { id } = await told<SandboxRecord>('sandbox', 'create', 'golden-debian12');
  const snapshot = await told<SnapshotRecord>('snapshot', 'create', id);
  await write(id, 'now');
  mayfly().failpoints.arm('revertDisk.before=1*error');
  const { code, err } = await cli('restore', id, snapshot.id);
  expect([code, err]).toEqual([1, expect.stringContaining('revertDisk')]);
  expect(await note(id)).toBe('now');
  const events = (await operations().told(id)).map(({ kind }) => kind);
  expect(events).toContain('sandbox.restore-failed');
});
