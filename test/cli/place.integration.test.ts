import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createEnvironment, removeEnvironment } from '../../cli/place/place.ts';
import { exec } from '../../host/os/exec.ts';

describe('an isolated test environment', () => {
  it('has loopback only and a folder others cannot list, and is removed with every process in it', async () => {
    const place = await createEnvironment('bench');
    try {
      const { stdout } = await exec('ip', ['-json', '-n', place.namespace, 'link', 'show', 'up']);
      expect((JSON.parse(stdout) as { ifname: string }[]).map(({ ifname }) => ifname)).toEqual(['lo']);
      expect((await stat(place.stateDir)).mode & 0o777).toBe(0o711);
      await writeFile(join(place.stateDir, 'file'), 'left behind');
      // Survives its parent and SIGTERM.
      const stubborn = spawn('ip', [
        'netns',
        'exec',
        place.namespace,
        'sh',
        '-c',
        'trap "" TERM; echo up; while :; do sleep 1; done',
      ]);
      await once(stubborn.stdout, 'data');
      const exited = once(stubborn, 'exit');
      expect(await removeEnvironment(place, 300)).toBeGreaterThan(0);
      await exited;
    } finally {
      await removeEnvironment(place);
    }
    await expect(access(place.stateDir)).rejects.toMatchObject({ code: 'ENOENT' });
    expect((await exec('ip', ['netns', 'list'])).stdout).not.toContain(place.namespace);
  });

  it('can be removed when it does not exist', async () => {
    expect(await removeEnvironment({ namespace: 'mayfly-bench-none', stateDir: '/var/tmp/mayfly-bench-none' })).toBe(0);
  });
});
