import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sweep } from '../../support/sweep.ts';
import { newId, stepContext, TestMachine } from './machine.ts';

let machine: TestMachine;

beforeAll(async () => {
  machine = await TestMachine.start();
});
afterAll(() => machine.stop());

/** Finds every process whose root or arguments name the sandbox, and every such mount. */
async function tracesOf(id: string): Promise<string[]> {
  const traces: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const mounts = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
    const args = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (mounts.includes(id) || args.includes(id)) traces.push(`${pid}: ${args}`);
  }
  return traces;
}

async function expectNothingOf(id: string): Promise<void> {
  const looks = await machine.hypervisor.look(id);
  expect(looks.map((look) => [look.layer, look.absent])).toEqual([
    ['domain', true],
    ['lease', true],
    ['workspace', true],
  ]);
  expect(await tracesOf(id)).toEqual([]);
  expect((await readdir(machine.state.sandboxes)).filter((name) => name.includes(id))).toEqual([]);
}

describe('a simulated sandbox', () => {
  test('each step is idempotent: clone, boot, address, login, command, and complete removal', async () => {
    const id = newId();
    const first = await machine.boot(id);
    expect(await machine.boot(id)).toEqual(first);
    await machine.certify(id);
    await machine.verify(first, id);
    await machine.verify(first, id);

    expect(await machine.run(first, id, 'hostname; whoami; pwd; ls / | tr "\\n" " "')).toBe(
      `${id}\nsandbox\n/home/sandbox\nbin dev etc home lib lib32 lib64 mnt opt proc root run sbin srv sys tmp usr var`,
    );
    expect(await machine.run(first, id, 'ls -d /proc/[0-9]* | wc -l')).toMatch(/^[1-9]$/);
    expect(await machine.run(first, id, 'cat /etc/ssh/mayfly_principals; cat /etc/ssh/ssh_host_ed25519_key')).toMatch(
      new RegExp(`^${id}\\ncat: .*Permission denied$`),
    );
    expect(await machine.run(first, id, 'touch /usr/x /etc/x 2>&1 | wc -l')).toBe('2');
    expect(await machine.hypervisor.residentMib(id)).toBeGreaterThan(1);
    expect((await machine.hypervisor.residentMibOfAll()).get(id)).toBeGreaterThan(1);
    expect(await machine.hypervisor.diskBytes(id)).toBeGreaterThan(10_000);
    expect((await machine.hypervisor.marks()).filter((mark) => mark.sandboxId === id)).toHaveLength(3);

    await machine.destroy(id);
    await expectNothingOf(id);
    await machine.destroy(id);
    await expectNothingOf(id);
  });

  test('its writes to /tmp, /home and /etc stay within it, and the image is unchanged', async () => {
    const [one, two] = [newId(), newId()];
    const [endpoint, other] = [await machine.boot(one), await machine.boot(two)];
    await machine.certify(one);
    await machine.certify(two);
    await machine.run(endpoint, one, `touch /tmp/mark-${one} ~/mark-${one}`);
    expect(await machine.run(other, two, `ls /tmp /home/sandbox | grep -c mark-${one}`)).toBe('0');
    await expect(access(`/tmp/mark-${one}`)).rejects.toThrow('ENOENT');
    const image = await readdir(join(machine.state.images, 'golden-debian12', 'root', 'home', 'sandbox'));
    expect(image).toEqual(['README']);
    await Promise.all([machine.destroy(one), machine.destroy(two)]);
  });

  test('removing a domain kills its detached processes, and leaves a neighbour intact', async () => {
    const [id, neighbour] = [newId(), newId()];
    const endpoint = await machine.boot(id);
    const beside = await machine.boot(neighbour);
    await machine.certify(id);
    await machine.certify(neighbour);
    await machine.run(
      endpoint,
      id,
      'setsid nohup sh -c "trap : TERM HUP INT; sleep 1000" >/dev/null 2>&1 </dev/null &',
    );
    await machine.hypervisor.removeDomain(id);
    expect(await tracesOf(id)).toEqual([]);
    await machine.verify(beside, neighbour);
    await machine.destroy(id);
    await machine.destroy(neighbour);
  });

  test('awaitLease detects a dead sshd, and a reboot keeps disk and address', async () => {
    const id = newId();
    const endpoint = await machine.login(id);
    await machine.run(endpoint, id, 'touch kept');
    const [domain] = await machine.hypervisor.look(id);
    for (const pid of domain?.found?.split(', ') ?? []) {
      const args = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''); // gone with sshd, its process 1
      if (args.startsWith('sshd: /usr/sbin/sshd')) process.kill(Number(pid), 'SIGKILL');
    }
    const processes = async () => (await machine.hypervisor.look(id))[0];
    await expect.poll(processes).toMatchObject({ absent: true });
    await expect(machine.hypervisor.awaitLease(id, stepContext())).rejects.toMatchObject({ code: 'boot_failed' });
    expect(await machine.boot(id)).toEqual(endpoint);
    await machine.verify(endpoint, id);
    expect(await machine.run(endpoint, id, 'ls')).toContain('kept');
    await machine.destroy(id);
  });

  test('concurrent boots start one domain', async () => {
    const id = newId();
    await machine.hypervisor.cloneDisk(machine.request(id), stepContext());
    await Promise.all([1, 2, 3].map(() => machine.hypervisor.bootDomain(id, stepContext())));
    await machine.hypervisor.awaitLease(id, stepContext());
    const roots = (await tracesOf(id)).filter((trace) => trace.includes('unshare'));
    expect(roots).toHaveLength(1);
    await machine.destroy(id);
    await expectNothingOf(id);
  });

  test('refuses a missing source, a path as name, a broken image, and a missing disk', async () => {
    const id = newId();
    for (const source of ['nothing', '../sandboxes', '.', 'golden-debian12/root']) {
      const clone = machine.hypervisor.cloneDisk({ ...machine.request(id), source }, stepContext());
      await expect(clone).rejects.toMatchObject({ code: 'source_not_found' });
    }
    const broken = join(machine.state.images, 'broken');
    await mkdir(broken);
    await writeFile(join(broken, 'source.json'), '{}');
    const clone = machine.hypervisor.cloneDisk({ ...machine.request(id), source: 'broken' }, stepContext());
    await expect(clone).rejects.toMatchObject({ code: 'source_unsafe' });
    await expect(machine.hypervisor.bootDomain(id, stepContext())).rejects.toMatchObject({ code: 'boot_failed' });
    await expectNothingOf(id);
  });

  test('an aborted step rejects with the reason of its signal', async () => {
    const context = { signal: AbortSignal.abort(new Error('cancelled')), alive: () => {} };
    const id = newId();
    await expect(machine.hypervisor.cloneDisk(machine.request(id), context)).rejects.toThrow('cancelled');
    await expect(machine.hypervisor.bootDomain(id, context)).rejects.toThrow('cancelled');
    await expect(machine.hypervisor.awaitLease(id, context)).rejects.toThrow('cancelled');
    await expectNothingOf(id);
  });
});

describe('a killed driver process', () => {
  const program = fileURLToPath(new URL('./step-process.ts', import.meta.url));

  async function killedAt(failpoint: string, id: string): Promise<void> {
    const child = spawn(process.execPath, ['--import', 'tsx', program, machine.state.root, id], {
      env: { ...process.env, MAYFLY_FAILPOINTS: `${failpoint}=kill` },
      stdio: 'inherit',
    });
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  }

  const points = ['cloneDisk.during', 'bootDomain.during', 'bootDomain.after', 'removeWorkspace.during'];

  sweep(points)('%s: its successor continues to a login, and removes everything', async (failpoint) => {
    const id = newId();
    await killedAt(failpoint, id);
    const endpoint = await machine.boot(id);
    await machine.certify(id);
    await machine.verify(endpoint, id);
    await machine.destroy(id);
    await expectNothingOf(id);
  });

  sweep(points)('%s: its successor removes everything at once', async (failpoint) => {
    const id = newId();
    await killedAt(failpoint, id);
    expect((await machine.hypervisor.marks()).some((mark) => mark.sandboxId === id)).toBe(true);
    await machine.destroy(id);
    await expectNothingOf(id);
  });
});
