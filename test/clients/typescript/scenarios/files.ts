import { expect } from 'vitest';
import { type Scenario, SOURCE } from './stage.ts';

const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, n) => n);
const MIB = 1_048_576;

/** Streams zeros. @param failsAfter pieces of 64 KiB; `@default` never */
function pieces(count: number, failsAfter = Number.POSITIVE_INFINITY): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent === count) controller.close();
      else if (sent++ < failsAfter) controller.enqueue(new Uint8Array(65_536).fill(sent));
      else controller.error(new Error('the disk is broken'));
    },
  });
}

/** Scenarios of files and snapshots. */
export const files: Record<number, Scenario> = {
  33: async (stage) => {
    const sandbox = await stage.shared();
    await sandbox.writeFile('/tmp/bytes', ALL_BYTES, { mode: '0600' });
    expect([...(await sandbox.readFile('/tmp/bytes'))]).toEqual([...ALL_BYTES]);
    expect((await stage.mayfly.files.stat(sandbox.id, '/tmp/bytes')).mode).toBe('0600');
  },
  34: async (stage) => {
    const sandbox = await stage.shared();
    await sandbox.writeFile('/tmp/range', '0123456789');
    expect(Buffer.from(await sandbox.readFile('/tmp/range', { first: 3, last: 5 })).toString()).toBe('345');
  },
  35: async (stage) => {
    const sandbox = await stage.shared();
    const { size } = await sandbox.writeFile('/tmp/stream', pieces(64));
    expect([size, (await sandbox.readFile('/tmp/stream')).length]).toEqual([4 * MIB, 4 * MIB]);
  },
  36: async (stage) => {
    const sandbox = await stage.shared();
    await sandbox.writeFile('/tmp/kept', 'as it was');
    await stage.network();
    await expect(sandbox.writeFile('/tmp/kept', pieces(64, 3))).rejects.toThrow('the disk is broken');
    await stage.network({ match: '^PUT', does: 'lose', times: 1 });
    await expect(sandbox.writeFile('/tmp/other', pieces(2))).rejects.toMatchObject({ name: 'MayflyConnectionError' });
    expect((await stage.seen()).seen.filter(({ line }) => line.startsWith('PUT'))).toHaveLength(1);
    expect(Buffer.from(await sandbox.readFile('/tmp/kept')).toString()).toBe('as it was');
  },
  37: async (stage) => {
    const sandbox = await stage.shared();
    for (const name of ['c', 'a', 'b']) await sandbox.writeFile(`/tmp/listed/${name}`, name, { parents: true });
    const names: string[] = [];
    for await (const { name } of sandbox.listFiles('/tmp/listed', { pageSize: 2 })) names.push(name);
    expect(names).toEqual(['a', 'b', 'c']);
    await stage.mayfly.files.remove(sandbox.id, '/tmp/listed', { recursive: true });
    await expect(sandbox.readFile('/tmp/listed/a')).rejects.toMatchObject({ code: 'file_not_found', status: 404 });
  },
  38: async ({ mayfly }) => {
    await using sandbox = await mayfly.create({ source: SOURCE });
    await sandbox.writeFile('/tmp/state', 'before');
    const { id } = await sandbox.snapshot({ name: 'before' });
    await sandbox.writeFile('/tmp/state', 'after');
    expect((await sandbox.restore(id)).state).toBe('running');
    expect(Buffer.from(await sandbox.readFile('/tmp/state')).toString()).toBe('before');
  },
  39: async ({ mayfly }) => {
    await using sandbox = await mayfly.create({ source: SOURCE });
    const { id: snapshotId } = await sandbox.snapshot();
    const forks = await mayfly.snapshots.fork({ snapshotId, count: 3 });
    const ids = forks.flatMap((fork) => ('sandbox' in fork ? [fork.sandbox.id] : []));
    expect(new Set(ids).size).toBe(3);
    await Promise.all(ids.map((id) => mayfly.destroySandbox(id)));
  },
  40: async ({ mayfly }) => {
    await using sandbox = await mayfly.create({ source: SOURCE });
    const { id } = await sandbox.snapshot();
    await sandbox.writeFile('/etc/changed', 'new');
    const { changes } = await mayfly.snapshots.diff.list(id, 'current');
    expect(changes.map(({ path }) => path)).toContain('/etc/changed');
  },
};
