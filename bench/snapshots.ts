import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { MayflyClient } from '../client/mayfly-client.ts';
import type { StepContext } from '../host/hypervisor.ts';
import type { LibvirtHypervisor } from '../host/libvirt/driver.ts';
import { Virsh } from '../host/libvirt/virsh.ts';
import { ID_BYTES, snapshotIdFrom } from '../model/ids.ts';
import { LONGEST_CHAIN, type SnapshotKind } from '../model/snapshot.ts';
import { measureChain } from './chain.ts';
import { round, Samples, type Spread } from './measure.ts';

/** Waiting for one sandbox, or for all the forks, at the most. Seconds. */
const PATIENCE_SECONDS = 600;
const FILES = 10_000;
const FORKS = 8;
const FULL_ROUNDS = 3;

export interface SnapshotBench {
  client: MayflyClient;
  /** The host's libvirt, a second hand on it beside the host worker's. */
  host: LibvirtHypervisor;
  sandboxesDir: string;
  source: string;
  rounds: number;
  /** Snapshots in a row. */
  chain: number;
}

export interface SnapshotFigures {
  /** A snapshot by ourselves and by the plain tool, taking turns on equal machines. */
  snapshots: Record<string, Spread>;
  /** What changed between two snapshots, of which one has so many files more. */
  diff: { files: number; found: number } & Record<'ms', Spread>;
  chain: Awaited<ReturnType<typeof measureChain>>;
  forks: Record<SnapshotKind, ForkFigures>;
  /** Memory and disks, and back again, by ourselves and by libvirt. */
  full: Record<string, Spread>;
}

export interface ForkFigures {
  asked: number;
  verified: number;
  /** Until all of them had an answer. */
  seconds: number;
  memoryMibEach: number;
  /** Why those are not verified that are not. */
  failures: string[];
}

/** Snapshots and what is made of them, on real machines; all it makes is destroyed with its sandboxes, or removed. */
export async function measureSnapshots(bench: SnapshotBench): Promise<SnapshotFigures> {
  const { client, host, source } = bench;
  const made = await Promise.all(
    ['ours', 'direct', 'plain'].map(() => client.createSandbox({ source }, { waitSeconds: PATIENCE_SECONDS })),
  );
  const [ours = '', direct = '', plain = ''] = made.map(({ id }) => id);
  const taken: string[] = [];
  const take = async (samples: Samples) => {
    const snapshotId = snapshotIdFrom(randomBytes(ID_BYTES));
    taken.push(snapshotId);
    await samples.time('directly: save', () =>
      host.snapshots.save({ snapshotId, sandboxId: direct, kind: 'disk' }, context()),
    );
    await samples.time('directly: verify', () => host.snapshots.verify(snapshotId, context()));
    return snapshotId;
  };
  try {
    const snapshots = await besidePlain(bench, { ours, direct, plain }, take);
    const diff = await measureDiff(bench, direct, () => take(new Samples()));
    const chain = await measureChain(bench, direct, async () => {
      await dirty(client, direct);
      return await take(new Samples());
    });
    const full = await measureFull(bench, { ours, direct, plain }, taken);
    const forks = { disk: await measureForks(bench, ours, 'disk'), full: await measureForks(bench, ours, 'full') };
    return { snapshots, diff, chain, full, forks };
  } finally {
    for (const { id } of made) await client.destroySandbox(id, { waitSeconds: PATIENCE_SECONDS });
    for (const id of taken) await host.snapshots.remove(id);
    await deleteAll(client, ours);
  }
}

/** In each round the same is written in three equal machines, and each is saved in its way, in another order each time. */
async function besidePlain(
  { client, host, sandboxesDir, rounds }: SnapshotBench,
  { ours, direct, plain }: { ours: string; direct: string; plain: string },
  take: (samples: Samples) => Promise<string>,
): Promise<Record<string, Spread>> {
  const samples = new Samples();
  const ways = [
    () => samples.time('through the API, until ready', () => client.snapshots.take(ours, {}, { waitSeconds: 120 })),
    () => samples.time('directly: save and verify', () => take(samples)),
    () => samples.time('virsh snapshot-create-as --disk-only --quiesce', () => plainly(host, plain, sandboxesDir)),
  ];
  for (let turn = 0; turn < rounds; turn++) {
    for (const id of [ours, direct, plain]) await dirty(client, id);
    for (let n = 0; n < ways.length; n++) await ways[(turn + n) % ways.length]?.();
    const { steps } = await client.getSandbox(ours);
    for (const { step, startedAt, endedAt } of steps.slice(-2))
      samples.add(`of the saga: ${step}`, Date.parse(endedAt) - Date.parse(startedAt));
    if ((await host.snapshots.chainLength(direct)) > LONGEST_CHAIN) {
      await samples.time('directly: flatten', () => host.snapshots.flatten(direct, context()));
    }
  }
  return samples.spreads();
}

async function dirty(client: MayflyClient, sandboxId: string): Promise<void> {
  await run(client, sandboxId, 'dd if=/dev/urandom of=own bs=1M count=4 status=none');
}

async function run(client: MayflyClient, sandboxId: string, command: string): Promise<void> {
  const { outcome, exitCode } = await client.commands.run(sandboxId, { command }, { waitSeconds: PATIENCE_SECONDS });
  if (exitCode !== 0) throw new Error(`${command} in ${sandboxId}: ${outcome}, ${exitCode}`);
}

/** The new layers go with the sandbox's workspace. */
async function plainly(
  { uri }: LibvirtHypervisor,
  sandboxId: string,
  sandboxesDir: string,
  withMemory = false,
): Promise<void> {
  const layer = join(sandboxesDir, sandboxId, `plain-${randomBytes(4).toString('hex')}.qcow2`);
  const what = withMemory ? ['--live', '--memspec', `file=${layer}.memory`] : ['--disk-only', '--quiesce'];
  const flags = [...what, '--atomic', '--no-metadata', '--diskspec', 'sda,snapshot=no'];
  await new Virsh(uri).run(['snapshot-create-as', sandboxId, ...flags, '--diskspec', `vda,file=${layer}`]);
}

async function measureDiff(
  { client, host, rounds }: SnapshotBench,
  sandboxId: string,
  take: () => Promise<string>,
): Promise<SnapshotFigures['diff']> {
  const before = await take();
  const files = `mkdir -p many && cd many && for n in $(seq ${FILES}); do echo "$n" > "f$n"; done; sync`;
  await run(client, sandboxId, files);
  const after = await take();
  const samples = new Samples();
  let found = 0;
  for (let turn = 0; turn < rounds; turn++) {
    found = 0;
    await samples.time('diff', async () => {
      for await (const line of host.snapshots.compare({ before, after, within: [] }, context().signal)) {
        if ('change' in line) found++;
      }
    });
  }
  const { diff: ms } = samples.spreads();
  if (!ms) throw new Error('the diff was not measured');
  return { files: FILES, found, ms };
}

/** Memory and disks, and back again: through the API, by our host's steps called directly, and by libvirt alone. */
async function measureFull(
  { client, host, sandboxesDir }: SnapshotBench,
  { ours, direct, plain }: { ours: string; direct: string; plain: string },
  taken: string[],
): Promise<Record<string, Spread>> {
  const virsh = new Virsh(host.uri);
  const samples = new Samples();
  for (let turn = 0; turn < FULL_ROUNDS; turn++) {
    const { id, state } = await samples.time('full snapshot through the API, until ready', () =>
      client.snapshots.take(ours, { kind: 'full' }, { waitSeconds: 120 }),
    );
    if (state !== 'ready') throw new Error(`${id} is ${state}`);
    await samples.time('restore through the API, until running', () =>
      client.snapshots.restore(ours, { snapshotId: id, keepCurrent: false }, { waitSeconds: 240 }),
    );
    const snapshotId = snapshotIdFrom(randomBytes(ID_BYTES));
    taken.push(snapshotId);
    const request = { snapshotId, sandboxId: direct, kind: 'full' } as const;
    await samples.time('directly: full save', () => host.snapshots.save(request, context()));
    await samples.time('directly: full verify', () => host.snapshots.verify(snapshotId, context()));
    await host.removeDomain(direct);
    await host.snapshots.revert({ sandboxId: direct, snapshotId, restoreId: `bench-${turn}` }, context());
    await samples.time('directly: wake and renew', () => host.bootDomain(direct, context()));
    await samples.time('virsh snapshot-create-as --live --memspec', () => plainly(host, plain, sandboxesDir, true));
    const memory = join(sandboxesDir, plain, 'memory');
    await virsh.run(['save', plain, memory]);
    await samples.time('virsh restore', () => virsh.run(['restore', memory]));
  }
  return samples.spreads();
}

/** So many forks at once: until the last of them is verified, and what memory each takes then. */
async function measureForks(
  { client, host }: SnapshotBench,
  sandboxId: string,
  kind: SnapshotKind,
): Promise<ForkFigures> {
  const { id: snapshotId } = await client.snapshots.take(sandboxId, { kind }, { waitSeconds: 120 });
  const began = performance.now();
  const options = { waitSeconds: PATIENCE_SECONDS };
  const forks = await client.snapshots.fork({ snapshotId, count: FORKS }, options);
  const seconds = round((performance.now() - began) / 1_000);
  const made = forks.flatMap((fork) => ('sandbox' in fork ? [fork.sandbox] : []));
  const running = made.filter(({ state }) => state === 'running');
  const failures = forks.flatMap((fork) => {
    if ('problem' in fork) return [fork.problem.detail ?? fork.problem.title];
    const { state, failure } = fork.sandbox;
    return state === 'running' ? [] : [`${state}: ${failure?.step} ${failure?.code} ${failure?.message}`];
  });
  const used = await Promise.all(running.map(({ id }) => host.usage(id)));
  const memoryMib = used.reduce((sum, { memoryMib: mib }) => sum + mib, 0);
  for (const { id } of made) await client.destroySandbox(id, options);
  const memoryMibEach = running.length === 0 ? 0 : round(memoryMib / running.length);
  return { asked: FORKS, verified: running.length, seconds, memoryMibEach, failures };
}

async function deleteAll(client: MayflyClient, sandboxId: string): Promise<void> {
  const { items } = await client.snapshots.list(sandboxId, { limit: 200 });
  for (const { id } of items) await client.snapshots.delete(id, { waitSeconds: 60 });
}

function context(): StepContext {
  return { signal: AbortSignal.timeout(PATIENCE_SECONDS * 1_000), alive: () => {} };
}
