import { expect, it } from 'vitest';
import { ExecError } from '../../host/os/exec.ts';
import { judgeThrottles } from '../../worker/doctor/throttles.ts';
import { sandboxId } from '../store/support.ts';

/** Runs the check. @param schedinfo output of virsh, or its error */
const told = (running: string, schedinfo: string | Error) =>
  judgeThrottles((program, args) => {
    if (args.includes('list')) return Promise.resolve(`golden\n${running}\n`);
    expect([program, ...args]).toEqual(['virsh', '-c', 'qemu:///system', 'schedinfo', running]);
    return schedinfo instanceof Error ? Promise.reject(schedinfo) : Promise.resolve(schedinfo);
  }, 'qemu:///system');
const refused = (stderr: string) => new ExecError('virsh', ['schedinfo'], 1, stderr, '', null);

it('doctor reports the CPU limits that libvirt shows for a running sandbox', async () => {
  const id = sandboxId(1);
  expect(await told('', 'nothing is asked')).toEqual([]);
  expect(await told(id, 'Scheduler      : posix\ncpu_shares     : 100\nemulator_quota : 100000\n')).toMatchObject([
    { name: 'CPU limits', ok: true },
  ]);
  const without = 'emulator_quota : 17592186044415\n';
  for (const word of [
    without,
    refused('error: Requested operation is not valid: cgroup CPU controller is not mounted'),
  ]) {
    expect(await told(id, word)).toMatchObject([{ name: 'CPU limits', ok: false, optional: true }]);
  }
  await expect(told(id, refused('error: failed to connect'))).rejects.toThrow(ExecError);
});
