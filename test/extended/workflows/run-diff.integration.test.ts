import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect } from 'vitest';
import type { FileChangeRecord, GuestName } from '../../../model/files/file-change.ts';
import { deriveAttemptIds } from '../../../model/functions/run.ts';
import { DIFF_STATES, deriveDiffSnapshotId } from '../../../model/functions/traces.ts';
import type { Statement } from '../../../model/receipts/in-toto.ts';
import { ReceiptSigner } from '../../../worker/receipts/receipt-watch.ts';
import { useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { type Run, TestFunctions } from '../../support/functions.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/** Changes made by the process of a run: reported, in the receipt, and without residue of the comparison. */
const { test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);

const CHANGES = 'echo 1 > ~/made; rm -f /var/lib/mayfly-run/files/old; echo 2 >> /var/lib/mayfly-run/files/kept';
const FILES = { old: 'old', kept: 'kept' };

async function linesOf({ id }: Run): Promise<{ text: string; lines: FileChangeRecord[] }> {
  const response = await door.call('GET', `/v1/runs/${id}/diff`);
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  return {
    text,
    lines: text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as FileChangeRecord),
  };
}

const textOf = (name: GuestName) => (typeof name === 'string' ? name : name.base64);

/** Asserts that the first attempt left no diff snapshots. */
async function nothingIsLeft({ id }: Run): Promise<void> {
  const ids = DIFF_STATES.map((side) => deriveDiffSnapshotId(deriveAttemptIds(id, 1).sandboxId, side));
  const states = await Promise.all(ids.map(async (one) => (await all().store.snapshots.get(one))?.state ?? 'none'));
  expect(states.filter((state) => state === 'creating' || state === 'ready')).toEqual([]);
  const onHost = (await all().machine().hypervisor.snapshots.list()).map(({ snapshotId }) => snapshotId);
  expect(onHost.filter((one) => ids.includes(one))).toEqual([]);
}

test('it lists additions, changes and removals since the start of the process, and nothing else', async () => {
  const run = await functions.run(await functions.deploy(CHANGES, { diff: true }, FILES));
  expect(run).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', diff: { failure: null } });
  const { text, lines } = await linesOf(run);
  const found = lines.flatMap((line) => (line.line === 'change' ? [`${line.change} ${textOf(line.path)}`] : []));
  expect(found).toContainEqual(expect.stringMatching(/^added .*\/made$/));
  expect(found).toContain('removed /var/lib/mayfly-run/files/old');
  expect(found).toContain('changed /var/lib/mayfly-run/files/kept');
  expect(found).not.toContain('added /var/lib/mayfly-run/event.json');
  expect(lines.at(-1)).toEqual({ line: 'end', ...run.diff?.counts });
  const digest = createHash('sha256').update(text).digest('hex');
  expect(run.diff).toMatchObject({ bytes: Buffer.byteLength(text), digest });
  await nothingIsLeft(run);
  const watch = new ReceiptSigner(all().store, join(all().config.stateDir, 'receipt.key'), pino({ level: 'silent' }));
  await watch.look();
  const receipt = (await (await door.call('GET', `/v1/runs/${run.id}/receipt`)).json()) as { payload: string };
  const statement = JSON.parse(Buffer.from(receipt.payload, 'base64').toString()) as Statement;
  expect(statement.predicate.runDetails.byproducts).toContainEqual({ name: 'diff', digest: { sha256: digest } });
});

test('a function without a diff reports none, and `diff: false` makes no new version', async () => {
  const name = await functions.deploy('true');
  expect(await functions.deployAs(name, 'true', { diff: false })).toBe(1);
  const run = await functions.run(name);
  expect(run.diff).toBeNull();
  expect((await door.call('GET', `/v1/runs/${run.id}/diff`)).status).toBe(404);
});

test('a failed run with retained disks has both diff and snapshot', async () => {
  const keep = { onFailure: 'disk' };
  const run = await functions.run(await functions.deploy(`${CHANGES}; exit 3`, { diff: true, keep }, FILES));
  expect(run).toMatchObject({ outcome: 'failed', diff: { failure: null }, kept: { failure: null } });
  expect((await linesOf(run)).lines.length).toBeGreaterThan(2);
  const path = `/v1/snapshots/${run.kept?.snapshotId}`;
  expect((await door.call('DELETE', path, undefined, { Prefer: 'wait=60' })).status).toBe(200);
  await nothingIsLeft(run);
});

test('file names that contain secrets are redacted', async () => {
  const name = `diff-secret-${Date.now()}`;
  expect((await door.call('PUT', `/v1/secrets/${name}`, { value: 'canary4712canary' })).status).toBe(201);
  const wish = { diff: true, secrets: [{ name, env: 'TOKEN' }] };
  const run = await functions.run(await functions.deploy('touch ~/$TOKEN', wish));
  const { text } = await linesOf(run);
  expect(text).not.toContain('canary4712canary');
  expect(text).toContain('***');
});

test('a failed snapshot or comparison changes nothing else, and is reported', async ({ mayfly }) => {
  const name = await functions.deploy(CHANGES, { diff: true }, FILES);
  await functions.pause(name);
  const [first, second] = [await functions.trigger(name), await functions.trigger(name)];
  mayfly.arm('saveSnapshot.before=1*error', deriveAttemptIds(first.id, 1).sandboxId);
  mayfly.arm('diffRun.before=error', second.id);
  await functions.resume(name);
  for (const { id } of [first, second]) {
    const run = await functions.over({ id });
    expect(run).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', diff: { bytes: null, digest: null } });
    expect(run.diff?.failure).toMatchObject({ code: 'fault_injected' });
    await nothingIsLeft(run);
  }
});

test('a cancel during the first snapshot ends the run before its process starts', async ({ mayfly }) => {
  const name = await functions.deploy('echo began', { diff: true });
  await functions.pause(name);
  const { id } = await functions.trigger(name);
  const { sandboxId } = deriveAttemptIds(id, 1);
  mayfly.arm('saveSnapshot.during=hang', sandboxId);
  await functions.resume(name);
  await eventually(() => all().store.snapshots.get(deriveDiffSnapshotId(sandboxId, 'before')), { state: 'creating' });
  await functions.cancel(id);
  const run = await functions.over({ id });
  expect(run).toMatchObject({ outcome: 'cancelled', startedAt: null, cleanup: 'proved', diff: null });
  await nothingIsLeft(run);
});
