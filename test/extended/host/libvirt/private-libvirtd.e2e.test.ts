import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exec } from '../../../../host/os/exec.ts';
import { killHolder, killLibvirtd, processesIn, startSlowToEnd } from '../../../host/libvirt/killed-libvirtd.ts';
import { startMachine, type TestMachine } from '../../../host/libvirt/machine.ts';
import { tier } from '../../../support/sweep.ts';

const KILLS = tier() === 'all' ? 5 : 2;

const bridges = async () => (await exec('ip', ['-brief', 'link', 'show', 'type', 'bridge'])).stdout.trim();
const ourRules = async () => (await exec('nft', ['list', 'tables'])).stdout.match(/\bmayfly_\w+/g);

/** Runs a test on its own machine, and asserts that it leaves no network. */
async function onMachineOfItsOwn(use: (machine: TestMachine) => Promise<void>): Promise<void> {
  const machine = await startMachine();
  try {
    await use(machine);
  } finally {
    await machine.end();
  }
  expect(await bridges()).toBe('');
  expect(await ourRules()).toBeNull();
}

test('a killed daemon restarts at once, with its networks', async () => {
  await onMachineOfItsOwn(async (machine) => {
    for (let time = 0; time < KILLS; time++) {
      await killLibvirtd(machine);
      await machine.restart();
      expect(await machine.virsh.run(['net-list', '--name'])).toMatch(/^mayfly$/m);
    }
    await killLibvirtd(machine);
  });
});

test('its end waits for all processes in its namespaces, also after a foreign kill', async () => {
  for (const kill of [async () => {}, killHolder]) {
    await onMachineOfItsOwn(async (machine) => {
      const namespace = await startSlowToEnd(machine);
      expect(processesIn(namespace)).toBeGreaterThan(1);
      await kill(machine);
      await machine.libvirtd.stop({ machines: true });
      expect(processesIn(namespace)).toBe(0);
    });
  }
});

test('bridges of a killed daemon are removed at its next start, or at its end', async () => {
  await onMachineOfItsOwn(async (machine) => {
    await killHolder(machine);
    expect(await bridges()).toContain('mayfly0');
    await machine.restart();
    await machine.host.open();
    expect(await machine.virsh.run(['net-list', '--name'])).toMatch(/^mayfly$/m);
    await killHolder(machine);
  });
});

// A probe starts QEMU; libvirt makes a dozen at each define if it takes KVM as removed, as when root may open /dev/kvm
// and QEMU's user may not.
test('QEMU is probed once, not at each define', async () => {
  await onMachineOfItsOwn(async ({ virsh, source, libvirtFolder }) => {
    const folder = join(libvirtFolder, 'cache', 'qemu', 'capabilities');
    const probes = async () =>
      Promise.all((await readdir(folder)).map(async (name) => [name, (await stat(join(folder, name))).mtimeMs]));
    const xml = await virsh.run(['dumpxml', `--domain=${source}`]);
    await virsh.define('define', xml);
    const before = await probes();
    expect(before).not.toEqual([]);
    await virsh.define('define', xml);
    expect(await probes()).toEqual(before);
  });
});
