import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Virsh } from '../host/libvirt/client/virsh.ts';
import type { SnapshotKind } from '../model/snapshots/snapshot.ts';
import { type Bench, createRunning, destroy, WAIT } from './support/bench.ts';
import { type Figures, round, Samples } from './support/measure.ts';

const FORKS = 8;
const FILES = 10_000;
const LONG_WAIT = { waitSeconds: 600 };

/** Measures snapshots, restores and forks, on real machines, against libvirt alone on an equal one. */
export async function measureSnapshots(bench: Bench): Promise<Figures> {
  const { client, installation, isQuick } = bench;
  const samples = new Samples();
  const lines: string[] = [];
  const made = [(await createRunning(bench)).id, (await createRunning(bench)).id] as const;
  const [ours, equal] = made;
  const plain = new PlainSnapshots(installation.describe(), equal);
  try {
    await samples.rounds({ runs: isQuick ? 3 : 15, warmUp: 0 }, async (counted) => {
      for (const id of made) await run(bench, id, 'dd if=/dev/urandom of=own bs=1M count=4 status=none');
      await counted.time('disk, until ready', () => client.snapshots.take(ours, {}, WAIT));
      await counted.time('disk, virsh snapshot-create-as', () => plain.take('disk'));
    });
    await samples.rounds({ runs: 3, warmUp: 0 }, async (counted) => {
      const { id } = await counted.time('full, until ready', () => client.snapshots.take(ours, { kind: 'full' }, WAIT));
      await counted.time('full, virsh snapshot-create-as', () => plain.take('full'));
      const request = { snapshotId: id, keepCurrent: false };
      await counted.time('restore, until running', () => client.snapshots.restore(ours, request, WAIT));
      await plain.save();
      await counted.time('virsh restore', () => plain.restore());
    });
    lines.push(await measureDiff(bench, ours, samples));
    for (const kind of ['disk', 'full'] as const) lines.push(await measureForks(bench, ours, kind));
  } finally {
    for (const id of made) await destroy(bench, id);
    const { items } = await client.snapshots.list(ours, { limit: 200 });
    for (const { id } of items) await client.snapshots.delete(id, WAIT);
  }
  return {
    spreads: samples.spreads(),
    pairs: [
      { what: 'disk snapshot', ours: 'disk, until ready', beside: 'disk, virsh snapshot-create-as' },
      { what: 'snapshot with memory', ours: 'full, until ready', beside: 'full, virsh snapshot-create-as' },
      { what: 'wake from memory', ours: 'restore, until running', beside: 'virsh restore' },
    ],
    lines,
  };
}

async function run({ client }: Bench, sandboxId: string, command: string): Promise<void> {
  const { outcome, exitCode } = await client.commands.run(sandboxId, { command }, LONG_WAIT);
  if (exitCode !== 0) throw new Error(`${command} in ${sandboxId}: ${outcome}, ${exitCode}`);
}

async function measureDiff(bench: Bench, sandboxId: string, samples: Samples): Promise<string> {
  const { client, runs } = bench;
  const before = await client.snapshots.take(sandboxId, {}, WAIT);
  await run(bench, sandboxId, `mkdir -p many && cd many && seq ${FILES} | split -l 1 -a 4 - f; sync`);
  const after = await client.snapshots.take(sandboxId, {}, WAIT);
  let found = 0;
  await samples.rounds({ runs, warmUp: 0 }, async (counted) => {
    found = 0;
    await counted.time('diff', async () => {
      for await (const line of client.snapshots.diff.follow(before.id, after.id)) if (line.line === 'change') found++;
    });
  });
  return `${found} of ${FILES} new files found`;
}

/** Creates forks concurrently, and returns the time until the last is verified. */
async function measureForks(bench: Bench, sandboxId: string, kind: SnapshotKind): Promise<string> {
  const { client } = bench;
  const { id: snapshotId } = await client.snapshots.take(sandboxId, { kind }, WAIT);
  const began = performance.now();
  const forks = await client.snapshots.fork({ snapshotId, count: FORKS }, LONG_WAIT);
  const seconds = round((performance.now() - began) / 1_000);
  const made = forks.flatMap((fork) => ('sandbox' in fork ? [fork.sandbox] : []));
  for (const { id } of made) await destroy(bench, id);
  const running = made.filter(({ state }) => state === 'running').length;
  return `${FORKS} forks, ${kind}: ${running} verified after ${seconds} s`;
}

/** Snapshots by libvirt alone; their files are removed with the sandbox's workspace. */
class PlainSnapshots {
  readonly #virsh: Virsh;
  readonly #folder: string;

  constructor(
    { libvirtUri, sandboxesDir }: { libvirtUri: string | null; sandboxesDir: string },
    private readonly sandboxId: string,
  ) {
    if (libvirtUri === null) throw new Error('the host has no libvirt');
    this.#virsh = new Virsh(libvirtUri);
    this.#folder = join(sandboxesDir, sandboxId);
  }

  async take(kind: SnapshotKind): Promise<void> {
    const layer = join(this.#folder, `plain-${randomBytes(4).toString('hex')}.qcow2`);
    const what = kind === 'full' ? ['--live', '--memspec', `file=${layer}.memory`] : ['--disk-only', '--quiesce'];
    const disks = ['--diskspec', 'sda,snapshot=no', '--diskspec', `vda,file=${layer}`];
    await this.#virsh.run(['snapshot-create-as', this.sandboxId, ...what, '--atomic', '--no-metadata', ...disks]);
  }

  async save(): Promise<void> {
    await this.#virsh.run(['save', this.sandboxId, join(this.#folder, 'memory')]);
  }

  async restore(): Promise<void> {
    await this.#virsh.run(['restore', join(this.#folder, 'memory')]);
  }
}
