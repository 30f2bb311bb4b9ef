import { expect, test } from 'vitest';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import { type RotationStep, rotateCa, showCa } from '../../../worker/upkeep/ca.ts';
import { SshCaller } from '../../support/ssh-caller.ts';
import { useFolder } from '../../support/use-folder.ts';
import { useMayfly } from '../../support/use-mayfly.ts';

const mayfly = useMayfly();
const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
const folder = useFolder();

/** Issues a caller certificate for a sandbox. */
async function admitted({ id, ssh }: SandboxRecord): Promise<SshCaller> {
  if (!ssh) throw new Error(`${id} has no address`);
  const pair = makeKeyPair('caller');
  const input = { sandboxId: id, publicKey: pair.publicKey, purpose: 'caller', actor, ttlSeconds: 600 } as const;
  const issued = await mayfly().sagas.certificates.issue(pair.publicKey.slice(-12), input);
  return SshCaller.with(folder, pair, { ...issued, ...ssh, principal: id, knownHosts: '' });
}

const rotate = (step: RotationStep, waitSeconds = 60) =>
  rotateCa(mayfly().config, step, { waitSeconds, signal: new AbortController().signal });

async function reconnect(id: string): Promise<void> {
  const { host } = mayfly();
  if (!host) throw new Error('there is no host');
  const context = { signal: AbortSignal.timeout(120_000), alive: () => {} };
  (await host.guests.guests.agent(id, context)).close();
  const agent = await host.guests.guests.agent(id, context);
  const { status, body } = await agent.request({ method: 'GET', path: '/v1/health' });
  body.resume();
  expect(status).toBe(200);
}

test('a CA rotation refuses no valid certificate at any stage, also across restarts', async () => {
  const before = await mayfly().create();
  const old = await admitted(before);
  const { signing: first } = await showCa(mayfly().config);

  expect(await rotate('begin')).toMatchObject({ stage: 'begun', signing: first, told: [before.id], waiting: [] });
  expect(await old.isRefused()).toBe(false);
  const during = await mayfly().create();
  await mayfly().startControl();
  const stillOld = [await admitted(before), await admitted(during)];
  for (const each of stillOld) expect(await each.isRefused()).toBe(false);

  const finished = await rotate('finish');
  expect(finished).toMatchObject({ stage: 'finished', previous: first, waiting: [] });
  expect(new Set(finished.told)).toEqual(new Set([before.id, during.id]));
  const after = await mayfly().create();
  for (const each of [old, ...stillOld]) expect(await each.isRefused()).toBe(false);
  const fresh = [];
  for (const sandbox of [before, during, after]) fresh.push(await admitted(sandbox));
  for (const each of fresh) expect(await each.isRefused()).toBe(false);
  expect((await mayfly().store.certificates.get(fresh[0]?.issued.serial ?? ''))?.signedBy).toBe(finished.signing);
  await mayfly().startControl();

  await expect(rotate('forget')).rejects.toThrow(/previous key open sandboxes until/);
  for (const { id } of [before, during]) {
    const held = await mayfly().store.certificates.of(id);
    const serials = held.filter((c) => c.purpose === 'caller' && c.signedBy === first).map(({ serial }) => serial);
    await mayfly().sagas.certificates.changeTrust(id, { serials, actor });
    await mayfly().sagas.certificates.trusted(id, AbortSignal.timeout(60_000));
  }
  expect(await rotate('forget')).toMatchObject({
    stage: 'none',
    signing: finished.signing,
    previous: null,
    waiting: [],
  });
  for (const each of [old, ...stillOld]) expect(await each.isRefused()).toBe(true);
  for (const each of fresh) expect(await each.isRefused()).toBe(false);
  for (const { id } of [before, during, after]) await reconnect(id);
});

test('a guest that was not reached delays the new key, and its sandbox is named', async () => {
  const sandbox = await mayfly().create();
  const { signing: first } = await showCa(mayfly().config);
  await mayfly().host?.stop();
  expect(await rotate('begin', 1)).toMatchObject({ stage: 'begun', told: [], waiting: [sandbox.id] });
  expect(await rotate('finish', 1)).toMatchObject({ stage: 'begun', signing: first, waiting: [sandbox.id] });
  await mayfly().startHost();
  const finished = await rotate('finish');
  expect(finished).toMatchObject({ stage: 'finished', told: [sandbox.id], waiting: [] });
  expect(finished.signing).not.toBe(first);
  await reconnect(sandbox.id);
  await rotate('forget');
  await reconnect(sandbox.id);
});

test('a sandbox created during the first step trusts both keys when it runs', async () => {
  mayfly().failpoints.arm('awaitIp.before=1*delay(2000)');
  const input = mayfly().input();
  const creating = mayfly().create(input);
  await mayfly().until(input.id, ({ phase }) => phase === 'awaiting-ip');
  expect(await rotate('begin')).toMatchObject({ told: [input.id], waiting: [] });
  const sandbox = await creating;
  await rotate('finish');
  expect(await (await admitted(sandbox)).isRefused()).toBe(false);
});

test('on another machine the command names the machine of the control worker', async () => {
  await expect(showCa({ ...mayfly().config, stateDir: folder })).rejects.toThrow('only on the machine of the control');
});
