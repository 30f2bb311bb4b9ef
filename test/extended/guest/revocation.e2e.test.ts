import { expect, test } from 'vitest';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import { stepContext } from '../../host/libvirt/living-guest.ts';
import { useVerifiedGuest } from '../../host/libvirt/verified-guest.ts';
import { ended, isAlive, SshCaller } from '../../support/ssh-caller.ts';

const { sandboxId, guest } = useVerifiedGuest();

async function caller(): Promise<SshCaller> {
  const pair = makeKeyPair('caller');
  const { serial: number, ...certificate } = await guest().sign(pair.publicKey);
  const where = { ...guest().endpoint, principal: sandboxId, knownHosts: '' };
  return SshCaller.with(guest().machine.state.root, pair, { ...certificate, ...where, serial: String(number) });
}

async function tell(method: 'PUT' | 'POST', path: string, body: unknown): Promise<void> {
  const agent = await guest().guests.agent(sandboxId, stepContext());
  const answer = await agent.request({ method, path, body: Buffer.from(JSON.stringify(body)) });
  const text = Buffer.concat(await answer.body.toArray()).toString();
  expect([answer.status, text]).toEqual([204, '']);
}

test('caa-015, on a real machine: a revoked certificate is refused and its shell ends; others and the platform stay', async () => {
  const [one, other] = [await caller(), await caller()];
  const [mine, theirs] = [await one.shell(), await other.shell()];
  try {
    const platform = await guest().guests.agent(sandboxId, stepContext());
    await tell('PUT', '/v1/trust', await guest().ca.trust([one.issued]));
    await tell('POST', '/v1/sessions/end', { serials: [one.issued.serial] });
    await ended(mine);
    expect(await one.isRefused()).toBe(true);
    expect(await other.run('echo still')).toBe('still\n');
    expect(isAlive(theirs)).toBe(true);
    expect(platform.closed).toBe(false);
  } finally {
    theirs.kill();
    await ended(theirs);
  }
});
