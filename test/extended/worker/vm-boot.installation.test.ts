import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import { startPrivateLibvirtd } from '../../../host/libvirt/network/private-libvirtd.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { eventually } from '../../support/eventually.ts';
import { expectProof } from '../../support/expect-proof.ts';
import { SOURCE, useLibvirtInstallation, WAIT } from '../../support/libvirt-installation.ts';

const { state, mayfly } = useLibvirtInstallation();

async function awaitPhase(id: string, phase: Sandbox['phase']): Promise<void> {
  const record = await eventually(
    () => mayfly.getSandbox(id),
    (seen) => seen.phase === phase || isFinal(seen.state),
  );
  if (record.phase !== phase) throw new Error(`${id} never came so far: ${JSON.stringify(record.failure)}`);
}

test('four concurrent sandboxes have four addresses and four host keys', async () => {
  const made = await Promise.all(Array.from({ length: 4 }, () => mayfly.createSandbox({ source: SOURCE }, WAIT)));
  expect(new Set(made.map(({ ssh }) => ssh?.address)).size).toBe(4);
  expect(new Set(made.map(({ ssh }) => ssh?.hostKey)).size).toBe(4);
  const ended = await Promise.all(made.map(({ id }) => mayfly.destroySandbox(id, WAIT)));
  for (const record of ended) expectProof(record);
});

test('a delete while the guest boots cancels the create', async () => {
  const asked = await mayfly.createSandbox({ source: SOURCE }, { waitSeconds: 0 });
  await awaitPhase(asked.id, 'awaiting-ip');
  const destroyed = await mayfly.destroySandbox(asked.id, WAIT);
  expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted', runningAt: null });
  expectProof(destroyed);
});

test('a destroy without libvirtd continues when the host worker has restarted it', async () => {
  const asked = await mayfly.createSandbox({ source: SOURCE }, { waitSeconds: 0 });
  await awaitPhase(asked.id, 'awaiting-ip');
  const daemon = await startPrivateLibvirtd(join(state.root, 'libvirt'));
  await daemon.stop({ machines: false });
  const destroyed = await mayfly.destroySandbox(asked.id, WAIT);
  expect(destroyed).toMatchObject({ state: 'destroyed', waitingFor: null });
  expectProof(destroyed);
});
