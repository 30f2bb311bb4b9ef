import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { bootedSnapshot, useServedOnLibvirt } from '../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
/** `number host`, ten times a second, to memory. */
const COUNTER = 'i=0; while :; do i=$((i+1)); echo "$i $(hostname)" >>/dev/shm/log; sleep 0.1; done';

const mayfly = useServedOnLibvirt();
let parentId: string;

beforeAll(async () => {
  const snapshotId = await bootedSnapshot(mayfly());
  parentId = (await mayfly().client.createSandbox({ snapshotId }, WAIT)).id;
});

async function run(sandboxId: string, command: string): Promise<string> {
  const { commands } = mayfly().client;
  const ended = await commands.run(sandboxId, { command }, WAIT);
  expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
  return (await text(await commands.output(sandboxId, ended.id, 'stdout'))).trim();
}

/** The numbers that were counted under each host name; the counter must count on when it is asked, and may only begin. */
async function counted(sandboxId: string): Promise<Map<string, number[]>> {
  const log = await run(
    sandboxId,
    'touch /dev/shm/log; n=$(wc -l </dev/shm/log); until [ $(wc -l </dev/shm/log) -gt $n ]; do sleep 0.1; done; cat /dev/shm/log',
  );
  const numbers = new Map<string, number[]>();
  for (const line of log.split('\n')) {
    const [number, host = ''] = line.split(' ');
    numbers.set(host, [...(numbers.get(host) ?? []), Number(number)]);
  }
  return numbers;
}

async function until(wish: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await wish()); await sleep(50)) {
    if (Date.now() > deadline) throw new Error('never came so far');
  }
}

test('saved with its memory by a worker that is killed meanwhile; forks and a restore go on from there', async () => {
  const { client } = mayfly();
  const { snapshots, commands } = client;
  const counter = await commands.run(parentId, { command: COUNTER }, { waitSeconds: 0 });
  await counted(parentId);

  const taking = snapshots.take(parentId, { kind: 'full' }, WAIT);
  const steps = async () => (await client.getSandbox(parentId)).steps.length;
  const begun = await steps();
  await until(async () => (await snapshots.list(parentId)).items.length > 0);
  expect(await mayfly().host?.end('SIGKILL')).toBe('SIGKILL');
  mayfly().startHost();
  const snapshot = await taking;
  expect(snapshot).toMatchObject({ kind: 'full', state: 'ready', saved: { quiesced: true } });
  expect(snapshot.saved?.memoryBytes).toBeGreaterThan(30 * 1024 * 1024);
  expect(await steps()).toBeGreaterThan(begun);
  await counted(parentId);

  const forks = await snapshots.fork({ snapshotId: snapshot.id, count: 2 }, WAIT);
  const ids = forks.map((fork) => {
    if ('sandbox' in fork) return fork.sandbox.id;
    throw new Error(`no fork: ${JSON.stringify(fork.problem)}`);
  });
  const logs = [await counted(ids[0] ?? ''), await counted(ids[1] ?? '')];
  const last = logs.map((log) => log.get(parentId)?.at(-1));
  expect(last[0]).toBe(last[1]);
  for (const [n, log] of logs.entries()) {
    expect([...log.keys()]).toEqual([parentId, ids[n]]);
    expect(log.get(ids[n] ?? '')?.[0]).toBe((last[n] ?? 0) + 1);
  }
  for (const id of ids) expect(await client.destroySandbox(id, WAIT)).toMatchObject({ state: 'destroyed' });

  const restored = await snapshots.restore(parentId, { snapshotId: snapshot.id }, WAIT);
  expect(restored.sandbox).toMatchObject({ id: parentId, state: 'running' });
  expect(await commands.get(parentId, counter.id)).toMatchObject({ outcome: 'interrupted' });
  const again = (await counted(parentId)).get(parentId) ?? [];
  expect(again).toEqual(again.map((_, n) => n + 1));
  expect(await client.destroySandbox(parentId, WAIT)).toMatchObject({ state: 'destroyed' });
  // It has had connections to guests that were saved, put back and destroyed, and waits for none of them.
  expect(await mayfly().host?.end('SIGTERM')).toBe(0);
}, 600_000);
