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
async function demo(interruptAt?: string) {
  const env = {
    ...process.env,
    MAYFLY_HOST: 'simulated',
    NO_COLOR: '1',
    // Its last step takes long enough to be interrupted in.
    ...(interruptAt && { MAYFLY_FAILPOINTS: 'removeDomain.before=1*delay(2000)' }),
  };
  const child = spawn(process.execPath, [PROGRAM, 'demo'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
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

/** What a demo's own names are found in afterwards. */
async function left(name: string): Promise<string[]> {
  const namespaces = (await exec('ip', ['netns', 'list'])).stdout.split('\n');
  const folders = await readdir('/var/tmp');
  const processes = (await exec('ps', ['-eo', 'args'])).stdout.split('\n').filter((line) => line.includes(`${name}-`));
  return [...[...namespaces, ...folders].filter((found) => found.startsWith(name)), ...processes];
}

describe('mayfly demo', () => {
  it('tells a life from request to proof, and leaves nothing', { timeout: 120_000 }, async () => {
    const { code, output, name } = await demo();
    expect(output).toContain('both agree: nothing is left');
    for (const layer of ['credentials', 'domain', 'lease', 'workspace', 'record']) {
      expect(output).toMatch(new RegExp(`${layer} +absent`));
    }
    expect(output).toMatch(/^ +cold +[\d.]+ m?s +[\d.]+ m?s /m);
    expect(output).toMatch(/^ +warm +[\d.]+ m?s +[\d.]+ m?s +warm$/m);
    expect(output).toContain('none is made here: this host makes none');
    expect(output).toMatch(/there were \d sandboxes, .* proved gone; plain tools see nothing of any/);
    for (const line of ['line 1 of 3', 'line 3 of 3', 'and this is stderr']) expect(output).toContain(line);
    expect(output).toContain('and back: the same');
    for (const kind of ['sandbox.requested', 'command.ended', 'file.written', 'certificate.issued', 'sandbox.proof']) {
      expect(output).toMatch(new RegExp(`^ +\\d+ .*${kind}`, 'm'));
    }
    expect(code).toBe(0);
    expect(await left(name)).toEqual([]);
  });

  sweep(['line 1 of 3', '1. start', '2. create', 'cloneDisk', '4. destroy', 'beside it a pool', '11. the ways'])(
    'leaves nothing when interrupted at "%s"',
    async (moment) => {
      const { code, output, name } = await demo(moment);
      expect(output).toContain('nothing is left');
      expect(code).toBe(130);
      expect(await left(name)).toEqual([]);
    },
    120_000,
  );
});
