import { expect, test } from 'vitest';
import { exec } from '../../../host/exec.ts';
import { killHolder, killLibvirtd } from './killed-libvirtd.ts';
import { startMachine } from './machine.ts';

const bridges = async () => (await exec('ip', ['-brief', 'link', 'show', 'type', 'bridge'])).stdout.trim();
const ourRules = async () => (await exec('nft', ['list', 'tables'])).stdout.match(/\bmayfly_\w+/g);

test('a daemon that is killed is started again at once, and found with its networks', async () => {
  const machine = await startMachine();
  try {
    for (let time = 0; time < 5; time++) {
      await killLibvirtd(machine);
      await machine.restart();
      expect(await machine.virsh.run(['net-list', '--name'])).toMatch(/^mayfly$/m);
    }
    await killLibvirtd(machine);
  } finally {
    await machine.end();
  }
  expect(await bridges()).toBe('');
  expect(await ourRules()).toBeNull();
});

test('when all of it is killed its bridges go with the next start, or with the end', async () => {
  const machine = await startMachine();
  try {
    await killHolder(machine);
    expect(await bridges()).toContain('mayfly0');
    await machine.restart();
    await machine.host.open();
    expect(await machine.virsh.run(['net-list', '--name'])).toMatch(/^mayfly$/m);
    await killHolder(machine);
  } finally {
    await machine.end();
  }
  expect(await bridges()).toBe('');
  expect(await ourRules()).toBeNull();
});
