import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { MayflyApiError } from '../../../clients/typescript/http/problem.ts';
import { eventually } from '../../support/eventually.ts';
import { qemusOf } from '../../support/qemu-of.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };

const mayfly = useServedOnLibvirt();
let snapshotId: string;

beforeAll(async () => {
  snapshotId = await bootedSnapshot(mayfly());
});

const until = (wish: () => Promise<boolean>) => eventually(wish, Boolean);

/** Repeats a request whose step timed out before the new host worker started, and was undone with a retryable error. */
async function untilHostIsBack<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof MayflyApiError && error.code === 'host_unavailable')) throw error;
    return untilHostIsBack(ask);
  }
}

describe('a hibernated sandbox', () => {
  const LINES = 150;
  const WANTED = Array.from({ length: LINES }, (_, n) => `line ${n + 1}\n`).join('');
  const COUNTER = `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo "line $i"; sleep 0.1; done`;
  let sandboxId: string;

  beforeAll(async () => {
    sandboxId = (await mayfly().client.createSandbox({ snapshotId, autoResume: true }, WAIT)).id;
  });

  async function saved(): Promise<string[]> {
    return readdir(join(mayfly().state.root, 'host', 'libvirt', 'lib', 'qemu', 'save'));
  }

  async function promisedMib(): Promise<number> {
    const { items } = await mayfly().client.listHosts();
    return items[0]?.promised.memoryMib ?? -1;
  }

  test('continues a counter after a command wakes it, despite killed workers; its RAM was free until then', async () => {
    const { client } = mayfly();
    const { commands } = client;
    const counter = await commands.run(sandboxId, { command: COUNTER }, { waitSeconds: 0 });
    await until(async () => (await commands.get(sandboxId, counter.id)).stdout.bytes > 0);
    const before = await promisedMib();

    const hibernating = untilHostIsBack(() => client.hibernateSandbox(sandboxId, WAIT));
    await until(async () => (await client.getSandbox(sandboxId)).state === 'hibernated' || (await saved()).length > 0);
    expect(await mayfly().host?.end('SIGKILL')).toBe('SIGKILL');
    mayfly().startHost();
    expect(await hibernating).toMatchObject({ state: 'hibernated', waitingFor: null });
    expect(await qemusOf(sandboxId)).toEqual([]);
    expect(await saved()).toEqual([`${sandboxId}.save`]);
    await until(async () => (await promisedMib()) === 0);
    expect(before).toBeGreaterThan(0);

    const began = performance.now();
    const waking = ['1', '2', '3'].map((word) =>
      untilHostIsBack(() => commands.run(sandboxId, { argv: ['echo', word] }, WAIT)),
    );
    await until(async () => (await qemusOf(sandboxId)).length > 0);
    expect(await mayfly().host?.end('SIGKILL')).toBe('SIGKILL');
    mayfly().startHost();
    const answers = await Promise.all(waking);
    process.stderr.write(`used ${(performance.now() - began).toFixed(0)} ms after it was asked, with a kill between\n`);
    for (const answer of answers) expect(answer).toMatchObject({ outcome: 'exited', exitCode: 0 });
    expect(await saved()).toEqual([]);

    for await (const event of commands.follow(sandboxId, counter.id)) if ('ended' in event) break;
    expect(await commands.get(sandboxId, counter.id)).toMatchObject({ outcome: 'exited', exitCode: 0 });
    expect(await text(await commands.output(sandboxId, counter.id, 'stdout'))).toBe(WANTED);
    const { items } = await client.sandboxAudit(sandboxId, { limit: 200 });
    const kinds = items.map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
    expect(kinds.filter((kind) => /hibernated|resumed/.test(kind))).toEqual(['sandbox.hibernated', 'sandbox.resumed']);
  }, 400_000);
});

describe('a full snapshot', () => {
  /** Appends `number host` to a log in memory, ten times a second. */
  const COUNTER = 'i=0; while :; do i=$((i+1)); echo "$i $(hostname)" >>/dev/shm/log; sleep 0.1; done';
  let parentId: string;

  beforeAll(async () => {
    parentId = (await mayfly().client.createSandbox({ snapshotId }, WAIT)).id;
  });

  async function run(sandboxId: string, command: string): Promise<string> {
    const { commands } = mayfly().client;
    const ended = await commands.run(sandboxId, { command }, WAIT);
    expect(ended).toMatchObject({ outcome: 'exited', exitCode: 0 });
    return (await text(await commands.output(sandboxId, ended.id, 'stdout'))).trim();
  }

  /** Returns the numbers counted under each host name, after it has seen the counter advance. */
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

  test('is saved despite a killed worker; forks and a restore continue from its memory', async () => {
    const { client } = mayfly();
    const { snapshots, commands } = client;
    const counter = await commands.run(parentId, { command: COUNTER }, { waitSeconds: 0 });
    await counted(parentId);

    const taking = untilHostIsBack(() => snapshots.take(parentId, { kind: 'full' }, WAIT));
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
    // The worker had connections to guests that were saved, restored and destroyed, and waits for none of them.
    expect(await mayfly().host?.end('SIGTERM')).toBe(0);
  }, 600_000);
});
