import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { AgentSession } from '../../../../host/guest/agent-session.ts';
import type { StepContext } from '../../../../host/step-context.ts';
import { ID_BYTES, sandboxIdFrom } from '../../../../model/ids.ts';
import { builtAgent, readGuestFile } from '../../../host/guest/machine.ts';
import { useVerifiedGuest } from '../../../host/libvirt/verified-guest.ts';
import { eventually } from '../../../support/eventually.ts';

const { sandboxId: id, guest } = useVerifiedGuest();
const said: string[] = [];
const context = (): StepContext => ({ signal: AbortSignal.timeout(180_000), alive: (detail) => said.push(detail) });
const agent = (): Promise<AgentSession> => guest().guests.agent(id, context());
const close = () => guest().guests.close(id);

/** Runs a shell command as root through the agent, and waits for its end. */
async function asRoot(command: string): Promise<void> {
  const session = await agent();
  const commandId = sandboxIdFrom(randomBytes(ID_BYTES)).replace('sbx', 'cmd');
  const spec = { command, argv: null, env: {}, stdin: '', stdinOpen: false, cwd: null, user: 'root' };
  const body = Buffer.from(JSON.stringify({ ...spec, timeoutSeconds: 60, maxOutputBytes: 65_536 }));
  const started = await session.request({ method: 'PUT', path: `/v1/commands/${commandId}`, body });
  expect([started.status, (await started.body.toArray()).toString()]).toEqual([201, expect.any(String)]);
  const output = await session.request({ method: 'GET', path: `/v1/commands/${commandId}/output?stdout=0&stderr=0` });
  await output.body.toArray();
}

test.each([-30_000, 30_000])('the skew of a clock that was set by %i ms is measured at the login', async (setMs) => {
  await asRoot(`date -s @$(($(date +%s) + ${setMs / 1_000}))`);
  close();
  const session = await agent();
  const skewMs = await eventually(
    () => session.clockSkewMs,
    (known) => known !== 0,
  );
  expect(Math.abs(skewMs - setMs)).toBeLessThan(15_000);
  await asRoot(`date -s @$(($(date +%s) - ${setMs / 1_000}))`);
  close();
});

test('a missing agent is installed completely', async () => {
  await asRoot('rm /opt/mayfly/mayfly-agent; systemctl stop mayfly-agent.service --no-block').catch(() => undefined);
  close();
  said.length = 0;
  const session = await agent();
  expect(said).toContain('putting the agent into the guest');
  expect(await readGuestFile(session, '/etc/hostname')).toBe(`${id}\n`);
  const { body } = await session.request({ method: 'GET', path: '/v1/health' });
  expect((await body.toArray()).toString()).toContain(builtAgent().version);
});
