import { spawnSync } from 'node:child_process';
import { readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../support/listen.ts';
import { useFolder } from '../support/use-folder.ts';
import { ask, gateProgram } from './gate-process.ts';

/** Arguments that make bash read no user files. */
const BASH = ['--norc', '--noprofile', '-c'];
const KEPT = 'kept\n';

const folder = useFolder();
let victim: string;
let loader: string;
let abi: number;
const server: Server = createServer((socket) => socket.destroy());

beforeAll(async () => {
  victim = join(folder, 'victim');
  await writeFile(victim, KEPT, { mode: 0o666 });
  loader = await realpath(process.arch === 'arm64' ? '/lib/ld-linux-aarch64.so.1' : '/lib64/ld-linux-x86-64.so.2');
  abi = JSON.parse((await ask({ hello: {} })).stdout.toString()).sandbox.landlockAbi;
  await listen(server);
});

afterAll(async () => {
  server.close();
});

/** Runs a program outside the allowed table, restricted as every stage; here even as root. */
async function confined(program: string, args: string[]) {
  const executables = [await realpath(program), loader];
  const needs = { executables, network: false, writesNull: false, cpuSeconds: 5, memoryBytes: 268_435_456 };
  const argv = ['exec-stage', JSON.stringify(needs), program, program, ...args];
  return spawnSync(gateProgram(), argv, { env: {}, encoding: 'utf8' });
}

describe('the sandbox of a program', () => {
  it.each([
    ['/usr/bin/rm', ['-f', 'V']],
    ['/usr/bin/mv', ['V', 'V.moved']],
    ['/usr/bin/touch', ['V.new']],
    ['/usr/bin/mkdir', ['V.d']],
    ['/usr/bin/ln', ['-s', 'V', 'V.link']],
    ['/usr/bin/mkfifo', ['V.fifo']],
    ['/usr/bin/chmod', ['0000', 'V']],
    ['/usr/bin/chown', ['1:1', 'V']],
    ['/usr/bin/truncate', ['-s', '0', 'V']],
    ['/usr/bin/dd', ['if=/dev/zero', 'of=V', 'count=1']],
    ['/usr/bin/cp', ['/etc/hosts', 'V']],
    ['/usr/bin/sed', ['-i', 's/k/x/', 'V']],
    ['/usr/bin/sort', ['-o', 'V', '/etc/hosts']],
    ['/usr/bin/tee', ['V']],
    ['/usr/bin/find', ['V', '-delete']],
    ['/usr/bin/bash', [...BASH, 'echo lost > V']],
    ['/usr/bin/bash', [...BASH, 'echo more >> V']],
  ])('keeps files from %s %j', async (program, args) => {
    const ran = await confined(
      program,
      args.map((arg) => arg.replaceAll('V', victim)),
    );
    expect(ran.status).not.toBe(125);
    expect(`${ran.stderr}`).toMatch(/[Pp]ermission|permitted/);
    expect(await readdir(folder)).toEqual(['victim']);
    expect(await readFile(victim, 'utf8')).toBe(KEPT);
    expect(((await stat(victim)).mode & 0o777).toString(8)).toBe('644');
  });

  it('lets programs read, and write to /dev/null', async () => {
    const ran = await confined('/usr/bin/bash', [...BASH, `echo nothing > /dev/null && echo "$(< ${victim})"`]);
    expect(ran).toMatchObject({ status: 0, stdout: KEPT, stderr: '' });
  });

  it.each([
    ['connections', (port: number) => `exec 3<>/dev/tcp/127.0.0.1/${port}`],
    ['signals', () => `kill -0 $PPID`],
  ])('blocks %s', async (_what, script) => {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const ran = await confined('/usr/bin/bash', [...BASH, script(address.port)]);
    expect(ran.status).toBe(1);
    expect(ran.stderr).toMatch(/[Pp]ermission|permitted/);
  });

  it('lets a program run only itself', async () => {
    if (abi === 0) return; // reported by hello; impossible without Landlock
    const [found, shell] = [
      await confined('/usr/bin/find', ['/etc/hosts', '-exec', '/usr/bin/id', ';']),
      await confined('/usr/bin/awk', ['BEGIN { exit system("/usr/bin/id") == 0 }']),
    ];
    expect(found).toMatchObject({ stdout: '' });
    expect(shell).toMatchObject({ status: 0, stdout: '' });
  });

  it('gives no way to gain privileges', async () => {
    const { stdout } = await confined('/usr/bin/grep', [
      '-E',
      '^(CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):',
      '/proc/self/status',
    ]);
    const values = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/:\s+/)[1]);
    expect(values).toEqual([...Array<string>(4).fill('0'.repeat(16)), '1', '2']);
  });
});
