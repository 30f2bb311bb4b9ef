import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { SimulatedHypervisor } from '../../../../host/simulated/driver.ts';
import type { SshEndpoint } from '../../../../model/sandbox/sandbox.ts';
import {
  answers,
  newId,
  newSnapshotId,
  SILENCE_MS,
  stepContext,
  TestMachine,
} from '../../../host/simulated/machine.ts';
import { sweep } from '../../../support/sweep.ts';

const program = fileURLToPath(new URL('../../../host/simulated/snapshot-process.ts', import.meta.url));

let machine: TestMachine;

beforeAll(async () => {
  machine = await TestMachine.start();
});
afterAll(() => machine.stop());

/** Starts a sandbox with a file. */
async function sandbox(): Promise<{ id: string; endpoint: SshEndpoint }> {
  const id = newId();
  const endpoint = await machine.login(id);
  await machine.run(endpoint, id, 'echo before > file');
  return { id, endpoint };
}

async function killedIn(step: string, sandboxId: string, snapshotId: string): Promise<void> {
  const child = spawn(process.execPath, ['--import', 'tsx', program, machine.state.root, step, sandboxId, snapshotId], {
    env: { ...process.env, MAYFLY_FAILPOINTS: `${step}.during=kill` },
    stdio: 'inherit',
  });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
}

async function stateOf(snapshotId: string): Promise<string | undefined> {
  return (await machine.hypervisor.snapshots.list()).find((saved) => saved.snapshotId === snapshotId)?.state;
}

async function standsStillUntilServed(): Promise<void> {
  const [{ id, endpoint }, snapshotId] = [await sandbox(), newSnapshotId()];
  await killedIn('saveSnapshot', id, snapshotId);
  expect(await answers(endpoint, SILENCE_MS)).toBe(false);
  expect(await stateOf(snapshotId)).toBe('half');
  const successor = new SimulatedHypervisor({ state: machine.state });
  await successor.open();
  expect(await answers(endpoint)).toBe(true);
  await successor.close();
}

async function savedIsTakenBack(): Promise<void> {
  const [{ id, endpoint }, snapshotId] = [await sandbox(), newSnapshotId()];
  await killedIn('saveSnapshot', id, snapshotId);
  await machine.hypervisor.snapshots.thaw(id);
  await machine.hypervisor.snapshots.remove(snapshotId);
  expect(await machine.run(endpoint, id, 'cat file')).toBe('before');
  expect((await readdir(machine.state.snapshots)).filter((name) => name.includes(snapshotId))).toEqual([]);
  expect(await readdir(machine.state.workspace(id))).not.toContain('stopped.json');
}

async function savedIsGoneOnWith(): Promise<void> {
  const [{ id, endpoint }, snapshotId] = [await sandbox(), newSnapshotId()];
  await killedIn('saveSnapshot', id, snapshotId);
  await machine.save(id, snapshotId);
  expect(await machine.run(endpoint, id, 'cat file')).toBe('before');
  expect(await stateOf(snapshotId)).toBe('whole');
  await machine.hypervisor.snapshots.verify(snapshotId, stepContext());
}

async function endedWhileStill(): Promise<void> {
  const [{ id }, snapshotId] = [await sandbox(), newSnapshotId()];
  await killedIn('saveSnapshot', id, snapshotId);
  await machine.destroy(id);
  expect((await machine.hypervisor.look(id)).every(({ absent }) => absent)).toBe(true);
  await machine.hypervisor.snapshots.thaw(id);
}

async function verifiedAgain(): Promise<void> {
  const { id } = await sandbox();
  const snapshotId = await machine.save(id);
  await killedIn('verifySnapshot', id, snapshotId);
  const saved = await machine.hypervisor.snapshots.verify(snapshotId, stepContext());
  expect(await machine.hypervisor.snapshots.verify(snapshotId, stepContext())).toEqual(saved);
}

async function restIsRemoved(): Promise<void> {
  const { id } = await sandbox();
  const snapshotId = await machine.save(id);
  await killedIn('removeSnapshot', id, snapshotId);
  expect(await stateOf(snapshotId)).toBe('half');
  const fork = newId();
  await expect(machine.boot(fork, snapshotId)).rejects.toMatchObject({ code: 'snapshot_not_found' });
  await machine.destroy(fork);
  await machine.hypervisor.snapshots.remove(snapshotId);
  expect(await stateOf(snapshotId)).toBeUndefined();
}

async function restored(isRepeated: boolean, content: string): Promise<void> {
  const { id, endpoint } = await sandbox();
  const snapshotId = await machine.save(id);
  await machine.run(endpoint, id, 'echo after > file');
  await machine.hypervisor.removeDomain(id);
  await killedIn('revertDisk', id, snapshotId);
  const request = { sandboxId: id, snapshotId, restoreId: 'killed' };
  if (isRepeated) await machine.hypervisor.snapshots.revert(request, stepContext());
  await machine.reboot(id, endpoint);
  expect(await machine.run(endpoint, id, 'cat file')).toBe(content);
}

async function pausedOrGoesOn(): Promise<void> {
  const { id, endpoint } = await sandbox();
  await killedIn('pause', id, newSnapshotId());
  await machine.hypervisor.pause(id);
  expect((await machine.hypervisor.whereabouts(id)).domain).toBe('paused');
  await killedIn('resume', id, newSnapshotId());
  expect((await machine.hypervisor.whereabouts(id)).domain).toBe('running');
  await machine.hypervisor.resume(id);
  await killedIn('pause', id, newSnapshotId());
  await machine.hypervisor.resume(id);
  expect(await answers(endpoint)).toBe(true);
}

const KILLS: [string, () => Promise<void>][] = [
  ['in a save: the guest stands still, until the next worker begins to serve this machine', standsStillUntilServed],
  ['in a save: it is taken back, and nothing is left', savedIsTakenBack],
  ['in a save: it is gone on with', savedIsGoneOnWith],
  ['in a save: the sandbox is ended while it stands still', endedWhileStill],
  ['in a verify: it is verified again', verifiedAgain],
  ['in a removal: what is left of it cannot be used, and is removed', restIsRemoved],
  ['in a pause: it is paused, or goes on', pausedOrGoesOn],
  ['in a restore: the disk is as it was', () => restored(false, 'after')],
  ['in a restore: it is gone on with', () => restored(true, 'before')],
];

sweep(KILLS)('%s', ([, holds]) => holds());
