import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, command, gateProgram, pipeline, stage, startGate } from '../../guest/gate-process.ts';
import { listen } from '../../support/listen.ts';

const fileOf = (path: string, offset = 0, length = 1_000_000) => ({
  file: { path: Buffer.from(path).toString('base64url'), offset, length },
});

let folder: string;
/** Folder that no test lists. */
let followed: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mf-gate-'));
  await chmod(folder, 0o755);
  for (const name of ['b c.log', 'a.log', '.hidden.log', "it's; rm -rf $HOME.txt"]) {
    await writeFile(join(folder, name), `in ${name}\n`);
  }
  followed = join(folder, '..', `${basename(folder)}-followed`);
  await mkdir(followed, { mode: 0o755 });
  await symlink('/dev/zero', join(folder, 'endless'));
});

afterAll(() => Promise.all([folder, followed].map((one) => rm(one, { recursive: true, force: true }))));

describe('the gate', () => {
  it('reports its version, and the sandboxing of the kernel', async () => {
    const { stdout, end } = await ask({ hello: {} });
    expect(end).toMatchObject({ outcome: 'exited', exitCode: 0 });
    expect(JSON.parse(stdout.toString())).toMatchObject({ sandbox: { seccomp: true, noNewPrivs: true } });
    expect(spawnSync(gateProgram(), ['--version'], { encoding: 'utf8' }).stdout).toMatch(/^mayfly-gate [0-9a-f]+\n$/);
  });

  it('has nice 10, and 19 below an sshd with nice 19', async () => {
    const { stdout, end } = await ask(command(['ps', '-o', 'ni=', '-C', 'ps']), ['/usr/bin/nice', '-n', '19']);
    expect(end).toMatchObject({ outcome: 'exited', exitCode: 0 });
    expect(stdout.toString().trim()).toBe('19');
    const usual = await ask(command(['ps', '-o', 'ni=', '-C', 'ps']));
    expect(usual.stdout.toString().trim()).toBe('10');
  });

  it('does nothing as root, and ignores the command given to sshd', () => {
    const run = (env: Record<string, string>, args: string[]) =>
      spawnSync(gateProgram(), args, { env, input: JSON.stringify(command(['id'])), encoding: 'utf8' });
    expect(run({}, ['-c', 'id'])).toMatchObject({ status: 125, stdout: '', stderr: expect.stringContaining('root') });
    const asked = run({ SSH_ORIGINAL_COMMAND: 'id' }, ['run', '--uid', '65534']);
    expect(asked).toMatchObject({ status: 125, stdout: '' });
    expect(run({ SSH_ORIGINAL_COMMAND: 'gate' }, ['run', '--uid', '65534']).status).toBe(0);
  });

  it.each([
    ['', 'cannot be read'],
    ['{}', 'one of'],
    ['{"pipelines":[],"file":{}}', 'one of'],
    ['{"pipelines":[],"shell":"id"}', 'unknown field'],
    ['{"hello":{}} {"hello":{}}', 'behind'],
    ['{"hello":{},"timeoutSeconds":301}', 'timeoutSeconds'],
  ])('refuses the request %#: %s', async (request, reason) => {
    const { end } = await ask(request);
    expect(end).toMatchObject({ outcome: 'not-started', exitCode: null });
    expect(end.refusal?.reason).toContain(reason);
  });

  it('refuses a request that is too long', async () => {
    const { end } = await ask(JSON.stringify(command(['echo', 'x'.repeat(300_000)])));
    expect(end.refusal?.reason).toContain('more than');
  });
});

describe('a command', () => {
  it('runs pipelines by the status of the previous one, and keeps both streams', async () => {
    const { stdout, stderr, end } = await ask({
      pipelines: [
        pipeline([stage(['cat', '/etc/passwd', '/nonexistent-1']), stage(['grep', '-c', '^root:'])]),
        pipeline([stage(['echo', 'yes'])], 'success'),
        pipeline([stage(['echo', 'no'])], 'failure'),
        pipeline([stage(['false'])]),
        pipeline([stage(['echo', 'otherwise'])], 'failure'),
        pipeline([stage(['cat', '/nonexistent-2'], { stderr: 'null' })]),
        pipeline([stage(['cat', '/nonexistent-3'], { stderr: 'stdout' }), stage(['wc', '-l'])]),
        pipeline([stage(['echo', 'x']), stage(['cat'], { stdin: 'null' }), stage(['wc', '-c'])]),
        pipeline([stage(['test', 'a', '=', 'b'])]),
      ],
    });
    expect(stdout.toString()).toBe('1\nyes\notherwise\n1\n0\n');
    expect(stderr.toString()).toMatch(/nonexistent-1/);
    expect(stderr.toString()).not.toMatch(/nonexistent-[23]/);
    expect(end).toMatchObject({ outcome: 'exited', exitCode: 1, signal: null, truncated: false, refusal: null });
  });

  it('gets its arguments unchanged', async () => {
    const odd = ['$(id)', '`id`', '; id', 'a\tb', "'", '"', '\\', '*', '-n', '{}', 'ü'];
    expect((await ask(command(['printf', '<%s>', ...odd]))).stdout.toString()).toBe(odd.map((a) => `<${a}>`).join(''));
  });

  it('has an environment of its own', async () => {
    const { stdout } = await ask(command(['env'], ['sort']));
    const names = stdout
      .toString()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names).toContain('PATH');
    expect(names).not.toContain('SSH_ORIGINAL_COMMAND');
    expect((await ask(command(['pwd']))).stdout.toString()).toBe('/\n');
  });

  it('gets requested variables instead of the defaults, for that program alone', async () => {
    const { stdout } = await ask({
      pipelines: [
        pipeline([
          stage(['env'], { environment: ['LANG=C', 'TZ=UTC', 'LANG=POSIX'] }),
          stage(['grep', '-E', '^(LANG|TZ)=']),
        ]),
        pipeline([stage(['env']), stage(['grep', '-E', '^(LANG|TZ)='])]),
      ],
    });
    expect(stdout.toString()).toBe('TZ=UTC\nLANG=POSIX\nLANG=C.UTF-8\n');
    const refused = await ask({ pipelines: [pipeline([stage(['env'], { environment: ['LD_PRELOAD=/x'] })])] });
    expect(refused.end).toMatchObject({
      outcome: 'not-started',
      refusal: { reason: expect.stringContaining('LD_PRELOAD') },
    });
  });

  it('discards standard output on request, and keeps output that was redirected before', async () => {
    const { stdout, stderr, end } = await ask({
      pipelines: [
        pipeline([stage(['cat', '/etc/passwd', '/nonexistent-1'], { stdout: 'null', stderr: 'stdout' })]),
        pipeline([stage(['cat', '/etc/passwd'], { stdout: 'null' }), stage(['wc', '-c'])]),
        pipeline([stage(['cat', '/nonexistent-2'], { stdout: 'null', stderr: 'null' })]),
      ],
    });
    expect(stdout.toString()).toMatch(/^\S*cat: .*nonexistent-1.*\n0\n$/);
    expect(stderr.toString()).toBe('');
    expect(end).toMatchObject({ outcome: 'exited', exitCode: 1 });
  });

  it('runs a program by its path, from the folders of the system only', async () => {
    expect((await ask(command(['/usr/bin/cat', join(folder, 'a.log')]))).stdout.toString()).toBe('in a.log\n');
    const nested = await ask(command(['echo', join(folder, 'a.log')], ['xargs', '/usr/bin/cat', '--']));
    expect(nested.stdout.toString()).toBe('in a.log\n');
    expect((await ask(command(['/usr/sbin/cat', '/etc/hosts']))).end.refusal?.reason).toContain('/usr/sbin/cat');
    const other = await ask(command([join(folder, 'cat'), '/etc/hosts']));
    expect(other.end.refusal?.reason).toContain('not among the programs');
  });

  it('expands patterns where a program takes files, and nowhere else', async () => {
    const glob = `${folder}/*.log`;
    expect((await ask(command(['cat', { glob }]))).stdout.toString()).toBe('in a.log\nin b c.log\n');
    expect((await ask(command(['cat', { glob: `${folder}/*\\'s; rm*` }]))).stdout.toString()).toContain("in it's");
    expect((await ask(command(['echo', { glob }]))).stdout.toString()).toBe(`${glob}\n`);
    expect((await ask(command(['ls', { glob: `${folder}/none*` }]))).stderr.toString()).toContain('none*');
    const much = await ask(command(['ls', { glob: '/proc/[0-9]*/*' }]));
    expect(much.end.refusal?.reason).toContain('more than');
  });

  it('gives xargs programs by their path', async () => {
    const { stdout } = await ask(command(['find', folder, '-name', '*.log', '-print0'], ['xargs', '-0', 'cat', '--']));
    expect(stdout.toString().split('\n').sort()).toEqual(['', 'in .hidden.log', 'in a.log', 'in b c.log']);
    expect((await ask(command(['echo', 'x'], ['xargs']))).stdout.toString()).toBe('x\n');
  });

  it('reaches services of this machine by curl', async () => {
    const server = createServer((_request, response) => response.end('served'));
    await listen(server);
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
    const status = await ask(command(['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', url]));
    const body = await ask(command(['curl', '-s', url], ['grep', '-c', 'served']));
    server.close();
    expect([status.stdout.toString(), body.stdout.toString()]).toEqual(['200', '1\n']);
  });

  it('does not run when any part of it is refused', async () => {
    const { stdout, end } = await ask({
      pipelines: [pipeline([stage(['echo', 'x'])]), pipeline([stage(['rm', 'x'])])],
    });
    expect(stdout.length).toBe(0);
    expect(end).toMatchObject({ outcome: 'not-started', refusal: { reason: expect.stringContaining('"rm"') } });
  });
});

describe('the limits of a command', () => {
  it('end endless output at exactly the requested size', async () => {
    const { stdout, end } = await ask({ ...command(['cat', join(folder, 'endless')]), maxOutputBytes: 100_000 });
    expect(stdout.length).toBe(100_000);
    expect(end).toMatchObject({ outcome: 'signaled', signal: 'SIGKILL', truncated: true });
    expect(end.reason).toContain('100000');
  });

  it('end a command at its timeout, with all its children', async () => {
    const request = {
      ...command(['cat', join(folder, 'endless')], ['xargs', '-0', '-n', '1', 'cat', '--']),
      timeoutSeconds: 1,
    };
    const { end } = await ask(request);
    expect(end).toMatchObject({ outcome: 'timed-out', exitCode: null });
    expect(end.durationMs).toBeGreaterThanOrEqual(1_000);
    expect(end.durationMs).toBeLessThan(60_000);
    expect(spawnSync('pgrep', ['-f', folder], { encoding: 'utf8' }).stdout).toBe('');
  });

  it('end a followed file at its timeout, with all its output, also of filters', async () => {
    const log = join(followed, 'followed.txt');
    await writeFile(log, 'first\nother\n');
    const gate = ask({ ...command(['tail', '-f', log], ['grep', '-v', 'other']), timeoutSeconds: 2 });
    await appendFile(log, 'second\n');
    const { stdout, end } = await gate;
    expect(stdout.toString()).toBe('first\nsecond\n');
    expect(end).toMatchObject({ outcome: 'timed-out', reason: expect.stringContaining('followed') });
    expect(spawnSync('pgrep', ['-f', log], { encoding: 'utf8' }).stdout).toBe('');
  });

  it('end a follower when its reader ends, and a pipe without a writer at its timeout', async () => {
    const fifo = join(followed, 'fifo');
    spawnSync('mkfifo', ['-m', '644', fifo]);
    expect((await ask({ ...command(['tail', '-F', fifo]), timeoutSeconds: 1 })).end.outcome).toBe('timed-out');
    const gate = startGate({ ...command(['tail', '-f', join(folder, 'a.log')]), timeoutSeconds: 60 });
    await once(gate.stdout, 'data');
    const closed = once(gate, 'close');
    gate.stdout.destroy();
    await closed;
    expect(spawnSync('pgrep', ['-f', `tail -[fF] ${folder}`], { encoding: 'utf8' }).stdout).toBe('');
  });

  it('end a command that uses too much memory', async () => {
    const { end, stderr } = await ask(command(['awk', 'BEGIN { s = "x"; while (1) s = s s }']));
    expect(end.outcome === 'exited' && end.exitCode === 0).toBe(false);
    expect(end.outcome).not.toBe('timed-out');
    expect(stderr.toString()).toMatch(/memory|allocat/i);
  });

  it('end a command whose reader has ended', async () => {
    const gate = startGate({ ...command(['cat', join(folder, 'endless')], ['grep', '-c', 'x']), timeoutSeconds: 60 });
    const closed = once(gate, 'close');
    gate.stdout.destroy();
    await closed;
    expect(spawnSync('pgrep', ['-f', folder], { encoding: 'utf8' }).stdout).toBe('');
  });
});

describe('a file', () => {
  it('is read from an offset, and described', async () => {
    const { stdout, end } = await ask(fileOf(join(folder, 'a.log'), 3, 4));
    expect(stdout.toString()).toBe('a.lo');
    expect(end).toMatchObject({ outcome: 'exited', file: { type: 'file', size: 9, mode: '0644', user: 'root' } });
  });

  it('is a list when it is a directory', async () => {
    const { stdout, end } = await ask(fileOf(folder));
    const names = stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => String(JSON.parse(line).name));
    expect(names.sort()).toEqual(['.hidden.log', 'a.log', 'b c.log', 'endless', "it's; rm -rf $HOME.txt"]);
    expect(end.file?.type).toBe('directory');
  });

  it.each([
    ['/nonexistent', 'file_not_found'],
    ['/etc/shadow', 'file_forbidden'],
    ['/dev/zero', 'file_forbidden'],
    ['/proc/self/environ', 'file_forbidden'],
    ['relative', 'file_conflict'],
  ])('that may not be read is refused: %s', async (path, code) => {
    const { stdout, end } = await ask(fileOf(path));
    expect(stdout.length).toBe(0);
    expect(end).toMatchObject({ outcome: 'not-started', error: { code } });
  });

  it('that is a device behind a link is not read', async () => {
    const { stdout, end } = await ask(fileOf(join(folder, 'endless')));
    expect(stdout.length).toBe(0);
    expect(end.error?.message).toContain('device');
  });
});
