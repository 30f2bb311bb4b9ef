import { expect, test } from 'vitest';
import { useLibvirtInstallation, WAIT } from '../../support/libvirt-installation.ts';

const { mayfly, bootedSnapshot, run } = useLibvirtInstallation();

test("times of commands are of one clock while the guest's clock moves back and forth by an hour", async () => {
  const { id } = await mayfly.createSandbox({ snapshotId: await bootedSnapshot() }, WAIT);
  const set = (seconds: number) => `sudo date -s @$(($(date +%s) + ${seconds}))`;
  for (const command of ['true', set(-3_600), 'true', set(7_200), 'true', set(-3_600), 'true']) {
    await run(id, command);
    const [ended] = (await mayfly.commands.list(id, { limit: 1 })).items;
    const { requestedAt = '', startedAt, endedAt } = ended ?? {};
    const times = [requestedAt, startedAt ?? '', endedAt ?? '', new Date().toISOString()].map(Date.parse);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  }
});
