import { afterEach, describe, expect, it } from 'vitest';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { eventually } from '../../support/eventually.ts';
import { MayflyProcess, noProcessOf } from '../../support/mayfly-process.ts';
import { ServedMayfly } from '../../support/served.ts';
import { useFreshState } from '../../support/use-folder.ts';

const SOURCE = 'golden-debian12';
/** Step that ignores its cancellation, as a program that hangs in the kernel does. */
const STUCK = { MAYFLY_FAILPOINTS: 'saveSnapshot.before=deaf' };

/**
 * Promise: SIGTERM ends each process within ten seconds, with exit code 0 and without loss, under any load. The
 * processes enforce the limit: a late one exits with 1 and names the cause.
 */
async function stopped(child: MayflyProcess): Promise<{ code: unknown; late: string[] }> {
  const code = await child.end('SIGTERM');
  return { code, late: child.output.split('\n').filter((line) => /although still open/.test(line)) };
}
const IN_TIME = { code: 0, late: [] };

interface Load {
  running: string;
  creating: string[];
  snapshotId: string;
  /** Aborts all open requests. */
  over: () => Promise<unknown>;
}

/** Opens creates, commands, event streams, and a snapshot whose step ignores its cancellation. */
async function load(client: MayflyClient): Promise<Load> {
  const gone = new AbortController();
  const { signal } = gone;
  const running = await client.createSandbox({ source: SOURCE }, { waitSeconds: 60 });
  const sleeping = { command: 'echo begun; sleep 600' };
  const command = await client.commands.run(running.id, sleeping, { waitSeconds: 0 });
  const streams = [
    client.commands.follow(running.id, command.id, { signal }),
    client.watchSandbox(running.id, { signal }),
  ];
  const [followed, watched] = await Promise.all(streams.map((stream) => stream.next()));
  expect([followed?.done, watched?.done]).toEqual([false, false]);
  const ends = streams.map((stream) => stream.next());
  const { id: snapshotId } = await client.snapshots.take(running.id, {}, { waitSeconds: 0 });
  const creates = await Promise.all([1, 2, 3].map(() => client.createSandbox({ source: SOURCE }, { waitSeconds: 0 })));
  const creating = creates.map(({ id }) => id);
  const waiting = client.commands.run(running.id, { command: 'sleep 600' }, { waitSeconds: 60, signal });
  const open = Promise.allSettled([...ends, waiting]);
  const over = () => {
    gone.abort();
    return open;
  };
  return { running: running.id, creating, snapshotId, over };
}

/** Asserts that all started operations complete. */
async function expectNothingLost(client: MayflyClient, { running, creating, snapshotId }: Load): Promise<void> {
  expect(await client.getSandbox(running)).toMatchObject({ state: 'running' });
  const snapshot = await eventually(
    () => client.snapshots.get(snapshotId),
    ({ state }) => state !== 'creating',
  );
  expect(snapshot.state).toBe('ready');
  for (const id of creating) expect(await settled(client, id)).toBe('running');
  await Promise.all([running, ...creating].map((id) => client.destroySandbox(id, { waitSeconds: 60 })));
}

async function settled(client: MayflyClient, id: string): Promise<string> {
  for await (const { state } of client.watchSandbox(id)) if (state === 'running' || isFinal(state)) return state;
  throw new Error(`nothing more was told of ${id}`);
}

describe('mayfly up under load', () => {
  const state = useFreshState();
  let latest: MayflyProcess | null = null;
  afterEach(async () => {
    await latest?.end('SIGKILL');
    await noProcessOf(state.root);
  });

  const up = (more: NodeJS.ProcessEnv = {}) => {
    latest = new MayflyProcess(['up', '--json'], {
      MAYFLY_HOST: 'simulated',
      MAYFLY_HOST_ID: 'loaded',
      MAYFLY_STATE_DIR: state.root,
      MAYFLY_API_PORT: '0',
      MAYFLY_LOG_LEVEL: 'error',
      MONGODB_URI: '',
      TEMPORAL_ADDRESS: '',
      ...more,
    });
    return latest;
  };

  it('ends in time on SIGTERM, and the next one continues all work', async () => {
    const first = up(STUCK);
    const before = await load(new MayflyClient(await first.serves()));
    expect(await stopped(first)).toEqual(IN_TIME);
    await before.over();
    await expectNothingLost(new MayflyClient(await up().serves()), before);
  });
});

it('each process alone ends in time under load', async () => {
  const served = await ServedMayfly.start({ MAYFLY_HOST: 'simulated', ...STUCK });
  try {
    const before = await load(served.client);
    for (const child of [served.api, served.control, served.host]) {
      expect(child && (await stopped(child))).toEqual(IN_TIME);
    }
    await before.over();
    await served.startAll({ MAYFLY_FAILPOINTS: '' });
    await expectNothingLost(served.client, before);
  } finally {
    await served.stop();
  }
});
