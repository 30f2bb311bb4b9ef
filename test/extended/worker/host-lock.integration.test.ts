import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { exec } from '../../../host/os/exec.ts';
import { HostLock } from '../../../worker/machine/host-lock.ts';
import { useFreshState } from '../../support/use-folder.ts';

const state = useFreshState();

// 5 s, most of it a refusal that waits 2 s. Holds: one host worker per state folder, and nothing else prevents its
// start.
describe('the lock of a state folder', () => {
  it('is exclusive, can be inspected without taking it, and is released', async () => {
    expect(await HostLock.isHeld(state.root)).toBe(false);
    const first = await HostLock.take(state.root);
    expect(await HostLock.isHeld(state.root)).toBe(true);
    await expect(HostLock.take(state.root)).rejects.toMatchObject({ code: 'host_unavailable' });
    await first.release();
    expect(await HostLock.isHeld(state.root)).toBe(false);
    await (await HostLock.take(state.root)).release();
  });

  it('is not blocked by any number of inspections', async () => {
    const looks = Array.from({ length: 20 }, () => HostLock.isHeld(state.root));
    const [lock] = await Promise.all([HostLock.take(state.root), ...looks]);
    await lock.release();
  });

  it('cannot be taken by another user: neither the file nor its former socket name', async () => {
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
