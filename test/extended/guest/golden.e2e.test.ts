import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { commandIdFrom, ID_BYTES } from '../../../model/ids.ts';
import { FrameReader } from '../../../model/sandbox/output-frame.ts';
import { requestOf } from '../../guest/command-client.ts';
import { builtAgent } from '../../host/guest/machine.ts';
import { stepContext } from '../../host/libvirt/living-guest.ts';
import { useVerifiedGuest } from '../../host/libvirt/verified-guest.ts';

const { sandboxId, guest } = useVerifiedGuest(async ({ host, source }, id, userCaKeys) => {
  const shape = { source, snapshotId: null, cpus: null, memoryMib: null, egress: 'none', userCaKeys } as const;
  const clone = await host.cloneDisk({ sandboxId: id, ...shape }, stepContext());
  await host.bootDomain(id, stepContext());
  return clone;
});

async function ask(method: 'GET' | 'PUT' | 'POST', path: string, body?: object): Promise<Buffer> {
  const agent = await guest().guests.agent(sandboxId, stepContext());
  const answer = await agent.request({ method, path, ...(body && { body: Buffer.from(JSON.stringify(body)) }) });
  return Buffer.concat(await answer.body.toArray());
}

async function begin(command: string): Promise<string> {
  const path = `/v1/commands/${commandIdFrom(randomBytes(ID_BYTES))}`;
  await ask('PUT', path, requestOf({ command }));
  return path;
}

async function resultOf(path: string): Promise<{ stdout: string; exit: unknown }> {
  let stdout = '';
  for (const item of new FrameReader().push(await ask('GET', `${path}/output`))) {
    if ('exit' in item) return { stdout, exit: JSON.parse(item.exit) };
    if (item.stream === 'stdout') stdout += Buffer.from(item.bytes).toString();
  }
  throw new Error('the output has no end');
}

const run = async (command: string) => (await resultOf(await begin(command))).stdout;

test('the image has the agent, which systemd restarts and protects; its commands run as after a login', async () => {
  expect(JSON.parse((await ask('GET', '/v1/health')).toString())).toMatchObject({ version: builtAgent().version });
  expect(await run('id -un; pwd; cat /proc/self/oom_score_adj; grep -c mayfly /proc/self/cgroup')).toBe(
    'sandbox\n/home/sandbox\n0\n1\n',
  );
  expect(await run('cat /proc/$(pgrep -xf "/opt/mayfly/mayfly-agent serve --user sandbox")/oom_score_adj')).toBe(
    '-1000\n',
  );
});

test('a cancel also ends processes outside the session, the process tree and the environment', async () => {
  const path = await begin('(setsid env -i sh -c "trap : TERM; (sleep 5432; sleep 5432) & exit" &); sleep 5432');
  await expect.poll(() => run('pgrep -c -x sleep')).toBe('2\n');
  await ask('POST', `${path}/cancel`, {});
  expect((await resultOf(path)).exit).toMatchObject({ outcome: 'cancelled' });
  expect(await run('pgrep -c -x sleep')).toBe('0\n');
  expect(await run('ls -d /sys/fs/cgroup/mayfly/cmd-* | wc -l')).toBe('1\n');
});

test('a killed agent restarts, and reports its running command as unknown', async () => {
  const path = await begin('echo begun; sleep 5432');
  await begin('sudo pkill -KILL -o -xf "/opt/mayfly/mayfly-agent serve --user sandbox"');
  await expect.poll(async () => ask('GET', '/v1/health').catch(() => '')).not.toBe('');
  await expect
    .poll(async () => resultOf(path).catch(() => null))
    .toMatchObject({
      exit: { outcome: 'unknown' },
    });
  expect(await run('pgrep -c -x sleep')).toBe('0\n');
});
