import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAYFLY, useCopies } from '../../cli/copy-cases.ts';

const { here, guest, environment, remote, cp } = useCopies();

it('a file is reported in JSON', async () => {
  await writeFile(join(here(), 'file'), '12345');
  const { code, out } = await cp([join(here(), 'file'), remote(), '--json']);
  expect([code, JSON.parse(out.toString())]).toMatchObject([0, { target: remote('/file'), bytes: 5 }]);
});

describe('a copy that fails', () => {
  it.each(['into', 'out of'])('by Ctrl-C leaves no partial file, %s the sandbox', async (way) => {
    const [from, to] = way === 'into' ? [here(), guest()] : [guest(), here()];
    // Sparse, so that the test waits for no disk.
    execFileSync('truncate', ['-s', '8G', join(from, 'large')]);
    const args = way === 'into' ? [join(from, 'large'), remote()] : [remote('/large'), to];
    const child = spawn(MAYFLY, ['cp', ...args], { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    await expect.poll(() => readdir(to)).toEqual([expect.stringContaining('.mayfly-')]);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
    await expect.poll(() => readdir(to)).toEqual([]);
  });

  it.each(['into', 'out of'])('by Ctrl-C leaves no partial file of a directory, %s the sandbox', async (way) => {
    const [from, to] = way === 'into' ? [here(), guest()] : [guest(), here()];
    await mkdir(join(from, 'dir'));
    execFileSync('truncate', ['-s', '8G', join(from, 'dir/large')]);
    const args = way === 'into' ? [join(from, 'dir'), remote()] : [remote('/dir'), to];
    const child = spawn(MAYFLY, ['cp', '-r', ...args], { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    const has = async (name: string) => (await readdir(to, { recursive: true })).some((path) => path.includes(name));
    await expect.poll(() => has(way === 'into' ? 'dir/.mayfly-' : 'large')).toBe(true);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
    await expect.poll(() => has('.mayfly-')).toBe(false);
    expect(await has('large')).toBe(false);
  });
});
