import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { InstallationLock } from '../../../worker/servers/installation-lock.ts';
import { MayflyProcess } from '../../support/mayfly-process.ts';
import { useFreshState } from '../../support/use-folder.ts';

const state = useFreshState();
let path: string;

beforeEach(async () => {
  path = join(state.root, 'up.lock');
});

const REFUSED = { code: 'state_folder_in_use' };

/** Starts a process that holds the lock and writes `text` to its file. */
async function holder(text: string) {
  const script = 'exec 3>>"$0"; flock --exclusive 3; printf "$1" >"$0"; echo held; exec sleep 600';
  const child = spawn('sh', ['-c', script, path, text], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  return {
    pid: child.pid,
    kill: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

// 3 s. Promise: one Mayfly per state folder; a second one names the holder, and a dead holder does not block.
describe('the state folder of a `mayfly up`', () => {
  it('is exclusive, names its holder, and is free when that has stopped', async () => {
    const first = await InstallationLock.take(state.root);
    const why = `(pid ${process.pid}) holds the state folder ${state.root}`;
    await expect(InstallationLock.take(state.root)).rejects.toMatchObject({
      ...REFUSED,
      message: expect.stringContaining(why),
    });
    expect(await readFile(path, 'utf8')).toBe(`${process.pid}\n`);
    await first.release();
    await (await InstallationLock.take(state.root)).release();
  });

  it('is granted to one of many that start at once', async () => {
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => InstallationLock.take(state.root)));
    const taken = all.filter((one) => one.status === 'fulfilled');
    expect(taken).toHaveLength(1);
    for (const one of all) if (one.status === 'rejected') expect(one.reason).toMatchObject(REFUSED);
    await taken[0]?.value.release();
  });

  it('is free when its holder was killed, even if another process has its pid', async () => {
    const dead = await holder('1');
    await dead.kill();
    await writeFile(path, `${process.ppid}\n`);
    await (await InstallationLock.take(state.root)).release();
  });

  it.each(['', '1', '1\\n', '-1\\n', '999999999\\n', '../../x\\n', 'sixteen letters and more'])(
    'is held also when the file contains %j, which names no holder',
    async (text) => {
      const other = await holder(text);
      const refusal = await InstallationLock.take(state.root).catch((error: unknown) => error);
      await other.kill();
      expect(refusal).toMatchObject({ ...REFUSED, message: expect.stringContaining('Another `mayfly up` holds') });
    },
  );

  it('is not assumed to be free when its file cannot be opened', async () => {
    await mkdir(path);
    await expect(InstallationLock.take(state.root)).rejects.toMatchObject({
      ...REFUSED,
      message: expect.stringContaining(`${path} cannot be opened`),
    });
  });

  it('that is taken makes `mayfly up` exit before it starts anything, with the way to a second one', async () => {
    const lock = await InstallationLock.take(state.root);
    const env = { MAYFLY_HOST: 'simulated', MAYFLY_STATE_DIR: state.root, MONGODB_URI: '', TEMPORAL_ADDRESS: '' };
    const second = new MayflyProcess(['up'], env);
    expect(await second.end()).toBe(5);
    await lock.release();
    const [what = '', why = '', remedy = '', ...more] = second.output.split('\n');
    expect(what).toContain('The state folder is taken');
    expect(why).toContain(`(pid ${process.pid}) holds the state folder ${state.root}; nothing was started`);
    expect(remedy).toMatch(/MAYFLY_STATE_DIR.*MAYFLY_API_PORT/);
    expect(more).toEqual([]);
  });
});
