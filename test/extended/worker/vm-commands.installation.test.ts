import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { useLibvirtInstallation, WAIT } from '../../support/libvirt-installation.ts';

const { mayfly, bootedSnapshot, run } = useLibvirtInstallation();
const MAYFLY = fileURLToPath(new URL('../../../bin/mayfly', import.meta.url));

test('a command in a virtual machine ends by SIGPIPE when its reader leaves', async () => {
  const { id } = await mayfly.createSandbox({ snapshotId: await bootedSnapshot() }, WAIT);
  const { baseUrl, apiKey } = inject('libvirtUp');
  const env = { ...process.env, MAYFLY_URL: baseUrl, MAYFLY_API_KEY: apiKey };
  const line = `${MAYFLY} run ${id} -- yes | head -1; echo "\${PIPESTATUS[0]}"`;
  const shell = spawn('bash', ['-c', line], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  expect(await Promise.all([text(shell.stdout), text(shell.stderr)])).toEqual(['y\n141\n', '']);
  const command = await mayfly.commands.list(id);
  for await (const piece of mayfly.commands.follow(id, command.items[0]?.id ?? '')) if ('ended' in piece) break;
  expect((await mayfly.commands.list(id)).items).toMatchObject([{ outcome: 'cancelled', signal: 'SIGPIPE' }]);
});

test('times of commands are of one clock, while the clock of the guest is set back and forth by an hour', async () => {
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
