import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { exec } from '../../../host/os/exec.ts';
import { HostLock } from '../../../worker/machine/host-lock.ts';
import { useFreshState } from '../../support/use-folder.ts';

const state = useFreshState();

// 5 s, most of it a refusal that waits 2 s. Holds: one host worker a state folder, and nobody else keeps it from starting.
describe('the lock of a state folder', () => {
  it('is of one at a time, is looked at without being taken, and is let go', async () => {
    expect(await HostLock.isHeld(state.root)).toBe(false);
    const first = await HostLock.take(state.root);
    expect(await HostLock.isHeld(state.root)).toBe(true);
    await expect(HostLock.take(state.root)).rejects.toMatchObject({ code: 'host_unavailable' });
    await first.release();
    expect(await HostLock.isHeld(state.root)).toBe(false);
    await (await HostLock.take(state.root)).release();
  });

  it('is not in the way of those who only look, however many', async () => {
    const looks = Array.from({ length: 20 }, () => HostLock.isHeld(state.root));
    const [lock] = await Promise.all([HostLock.take(state.root), ...looks]);
    await lock.release();
  });

  it('is not another user’s to take: neither the file, nor the name that it had once', async () => {
    const squatted = createServer().listen(`\0mayfly-host:${state.root}`);
    const lock = await HostLock.take(state.root);
    await lock.release();
    squatted.close();
    const asNobody = ['--reuid', '65534', '--regid', '65534', '--clear-groups', '--', 'flock', '--nonblock'];
    await exec('chmod', ['0711', state.root]);
    await expect(exec('setpriv', [...asNobody, `${state.root}/host.lock`, 'true'])).rejects.toThrow(
      'Permission denied',
    );
  });
});
