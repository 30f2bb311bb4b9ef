import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { exec } from '../../../host/os/exec.ts';
import { sweep } from '../../support/sweep.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/mayfly', import.meta.url));

/** Starts a simulated demo; `interruptAt` sends Ctrl-C's signal when a line contains it. */
async function demo(args: string[], interruptAt?: string) {
  const env = {
    ...process.env,
    MAYFLY_HOST: 'simulated',
    NO_COLOR: '1',
    // Its last step takes long enough to be interrupted.
    ...(interruptAt && { MAYFLY_FAILPOINTS: 'removeDomain.before=1*delay(2000)' }),
  };
  const child = spawn(process.execPath, [PROGRAM, 'demo', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (interruptAt && line.includes(interruptAt)) child.kill('SIGINT');
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: lines.join('\n'), name: `mayfly-demo-${child.pid}` };
}

/** Lists namespaces, folders and processes with the names of a demo. */
async function left(name: string): Promise<string[]> {
  const namespaces = (await exec('ip', ['netns', 'list'])).stdout.split('\n');
  const folders = await readdir('/var/tmp');
  const processes = (await exec('ps', ['-eo', 'args'])).stdout.split('\n').filter((line) => line.includes(`${name}-`));
  return [...[...namespaces, ...folders].filter((found) => found.startsWith(name)), ...processes];
}

describe('mayfly demo', () => {
  it('shows each step of a life from request to proof, and leaves no residue', async () => {
    const { code, output, name } = await demo([]);
    expect(output).toMatch(/^Mayfly demo: boots a simulated VM .*\nIt takes about /);
    expect(output).toContain('both agree: nothing is left');
    for (const layer of ['credentials', 'domain', 'lease', 'workspace', 'record']) {
      expect(output).toMatch(new RegExp(`${layer} +absent`));
    }
    expect(output).toMatch(/absent +the command lines in \/proc \(there while it ran\)/);
    expect(output).toMatch(/stdout {2}sandbox on Linux/);
    expect(output).toContain('stderr  and this is stderr');
    expect(code).toBe(0);
    expect(await left(name)).toEqual([]);
  });

  it('also shows the quicker ways, and leaves no residue', async () => {
    const { code, output, name } = await demo(['--ways']);
    expect(output).toContain('this host makes no templates');
    for (const way of ['cold', 'warm']) expect(output).toMatch(new RegExp(`^ +${way} +[\\d.]+ m?s +[\\d.]+ m?s$`, 'm'));
    expect(output).toMatch(/there were \d sandboxes: each is proved gone, and plain tools see none of them/);
    expect(code).toBe(0);
    expect(await left(name)).toEqual([]);
  });

  sweep(['3. run', '1. start', '2. create', 'cloneDisk', '4. destroy', '7. and another', '8. the ways'])(
    'leaves no residue when interrupted at "%s"',
    async (moment) => {
      const { code, output, name } = await demo(['--ways'], moment);
      expect(output).toContain('nothing is left');
      expect(code).toBe(130);
      expect(await left(name)).toEqual([]);
    },
  );
});
