import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Command } from '../../../client/http/openapi.ts';
import { delayFault } from '../../support/passage-of-time.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const KILLS = 5;
const WANTED = Array.from({ length: 200 }, (_, n) => `line ${n + 1}\n`).join('');
const SCRIPT =
  'i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo "line $i" >> /tmp/lines; echo "line $i"; sleep 0.1; done';

const mayfly = useServedOnLibvirt();
let sandboxId: string;

beforeAll(async () => {
  const snapshotId = await bootedSnapshot(mayfly());
  sandboxId = (await mayfly().client.createSandbox({ snapshotId }, WAIT)).id;
});
afterAll(async () => {
  if (sandboxId) await mayfly().client.destroySandbox(sandboxId, WAIT);
});

async function followed(command: Command): Promise<{ ended: Command; live: string }> {
  let live = '';
  for await (const event of mayfly().client.commands.follow(sandboxId, command.id)) {
    if ('ended' in event) return { ended: event.ended, live };
    live += Buffer.from(event.bytes).toString();
  }
  throw new Error(`nothing more was told of ${command.id}`);
}

test(`a worker killed ${KILLS} times in one command of a real machine: each line once, in the guest and in the store`, async () => {
  const { commands } = mayfly().client;
  const command = await commands.run(sandboxId, { command: SCRIPT }, { waitSeconds: 0 });
  const following = followed(command);
  for (let kill = 0; kill < KILLS; kill++) {
    await delayFault(kill * 400); // at another point of its work each time, the first while it starts
    expect(await mayfly().host?.end('SIGKILL')).toBe('SIGKILL');
    mayfly().startHost();
    if ((await commands.get(sandboxId, command.id)).state === 'running') await mayfly().host?.line('goes on with');
  }
  const { ended, live } = await following;
  expect(ended).toMatchObject({
    outcome: 'exited',
    exitCode: 0,
    stdout: { bytes: WANTED.length, kept: WANTED.length },
  });
  expect(await text(await commands.output(sandboxId, command.id, 'stdout'))).toBe(WANTED);
  expect(live).toBe(WANTED);
  const file = await commands.run(sandboxId, { argv: ['cat', '/tmp/lines'] });
  expect(await text(await commands.output(sandboxId, file.id, 'stdout'))).toBe(WANTED);
});
