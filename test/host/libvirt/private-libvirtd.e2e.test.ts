import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { exec } from '../../../host/exec.ts';
import { startMachine, type TestMachine } from './machine.ts';

const folderOf = ({ state }: TestMachine) => join(dirname(state.root), 'libvirt');
const numberIn = async (file: string) => (await readFile(file, 'utf8')).trim();
const bridges = async () => (await exec('ip', ['-brief', 'link', 'show', 'type', 'bridge'])).stdout.trim();
const ourRules = async () => (await exec('nft', ['list', 'tables'])).stdout.match(/\bmayfly_\w+/g);

async function killDaemon(machine: TestMachine): Promise<void> {
  const folder = folderOf(machine);
  const holder = await numberIn(join(folder, 'holder.pid'));
  const daemon = await numberIn(join(folder, 'run', 'private.pid'));
  await exec('nsenter', ['--mount', '--pid', `--target=${holder}`, '--', 'kill', '-KILL', daemon]);
}

async function killHolder(machine: TestMachine): Promise<void> {
  const pid = Number(await numberIn(join(folderOf(machine), 'holder.pid')));
  process.kill(pid, 'SIGKILL');
  while (
    await access(`/proc/${pid}`).then(
      () => true,
      () => false,
    )
  )
    await new Promise(setImmediate);
}

test('a daemon that is killed is started again at once, and found with its networks', async () => {
  const machine = await startMachine();
  try {
    for (let time = 0; time < 5; time++) {
      await killDaemon(machine);
      await machine.restart();
      expect(await machine.virsh.run(['net-list', '--name'])).toMatch(/^mayfly$/m);
    }
    await killDaemon(machine);
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
