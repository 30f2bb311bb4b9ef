import { access, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FrameReader, type OutputFrame } from '../../model/sandbox/output-frame.ts';
import { AgentProcess, newCommandId } from './agent-process.ts';
import { begin, follow, joined, outputOf, put, requestOf, run } from './command-client.ts';

let agent: AgentProcess;

beforeAll(async () => {
  agent = await AgentProcess.start();
});
afterAll(() => agent.stop());

const stateOf = async (id: string): Promise<unknown> =>
  JSON.parse((await agent.request('GET', `/v1/commands/${id}`)).body.toString());

describe('a command runs', () => {
  test("by the user's shell, with its home, the given PATH, and separate streams", async () => {
    const command = 'pwd; shopt -q login_shell || echo "$0 $PATH"; echo "$LANG" >&2; exit 7';
    const output = await run(agent, { command, env: { PATH: '/opt:/usr/bin:/bin' } });
    expect(output.stdout.toString()).toBe(`${userInfo().homedir}\nbash /opt:/usr/bin:/bin\n`);
    expect(output.stderr.toString()).toBe('C.UTF-8\n');
    expect(output.exit).toMatchObject({ outcome: 'exited', exitCode: 7, signal: null, reason: null });
    expect(output.exit.stdout).toEqual({ bytes: output.stdout.length, kept: output.stdout.length });
  });

  test('when it starts like an option of the shell', async () => {
    const output = await run(agent, { command: '-n; echo "$?"' });
    expect(output.stdout.toString()).toBe('127\n');
    expect((await run(agent, { command: '+x' })).exit).toMatchObject({ exitCode: 127 });
  });

  test('as argv without a shell, found on its own PATH', async () => {
    await writeFile(join(agent.folder, 'own-program'), '#!/bin/sh\nprintf "<%s>" "$@"\n', { mode: 0o755 });
    const argv = ['own-program', '$(id)', '*', 'a b', "'", ''];
    const output = await run(agent, { argv, env: { PATH: `/nowhere:${agent.folder}:/usr/bin:/bin` } });
    expect(output.stdout.toString()).toBe("<$(id)><*><a b><'><>");
  });

  test('once, with its output in the answer to the start', async () => {
    const id = newCommandId();
    const path = `/v1/commands/${id}?follow=true`;
    const request = requestOf({ command: 'echo one; sleep 0.2; echo two' });
    const { status, headers, body } = await agent.request('PUT', path, request);
    const reader = new FrameReader();
    const frames = [...reader.push(body)].filter((item): item is OutputFrame => !('exit' in item));
    expect([status, reader.isOver, joined(frames).stdout.toString()]).toEqual([201, true, 'one\ntwo\n']);
    expect(headers['x-mayfly-started-at']).toMatch(/^20\d\d-.*Z$/);
    const again = await agent.request('PUT', path, request);
    expect([again.status, JSON.parse(again.body.toString())]).toEqual([200, await stateOf(id)]);
  });

  test("as another user, with its groups and nothing of the agent's", async () => {
    const output = await run(agent, { argv: ['/bin/sh', '-c', 'id -u; id -g; umask; env | sort'], user: 'nobody' });
    const [uid, gid, umask, ...env] = output.stdout.toString().trim().split('\n');
    expect([uid, gid, umask]).toEqual(['65534', '65534', '0022']);
    expect(env.map((line) => line.split('=')[0])).toEqual([
      'HOME',
      'LANG',
      'LOGNAME',
      'MAYFLY_COMMAND_ID',
      'PATH',
      'PWD',
      'SHELL',
      'USER',
    ]);
  });

  test('with binary output, unchanged', async () => {
    const script = 'head -c 300000 /dev/urandom | tee /dev/stderr';
    const output = await run(agent, { command: script });
    expect(output.stdout.length).toBe(300_000);
    expect(output.stderr.equals(output.stdout)).toBe(true);
  });

  test('with signals as after a login', async () => {
    const output = await run(agent, { argv: ['grep', '-E', '^Sig(Ign|Blk)', '/proc/self/status'] });
    expect(output.stdout.toString().replace(/\s+/g, ' ')).toBe('SigBlk: 0000000000000000 SigIgn: 0000000000000000 ');
  });
});

describe('a start is refused without a marker', () => {
  const refusals: [string, Parameters<typeof put>[2], string, string?][] = [
    ['a user', { command: 'true', user: 'nosuchuser' }, 'no user named "nosuchuser"'],
    ['a user like an option', { command: 'true', user: '-oProxyCommand=x' }, 'no user named'],
    ['a directory', { command: 'true', cwd: '/nowhere' }, '"/nowhere" cannot be used: no such file'],
    ['a file as directory', { command: 'true', cwd: '/etc/passwd' }, 'is not a directory'],
    ['a directory that is not its user’s', { command: 'true', cwd: '/root', user: 'nobody' }, 'permission denied'],
    ['a program', { argv: ['no-such-program'] }, 'no program "no-such-program" on PATH', 'program_not_found'],
    ['a path to nothing', { argv: ['/nowhere'] }, '"/nowhere" cannot be run: no such file', 'program_not_found'],
    ['a path', { argv: ['/etc/passwd'] }, '"/etc/passwd" cannot be run: permission denied', 'program_not_executable'],
    ['too long an argument', { argv: ['/bin/echo', 'x'.repeat(131_072)] }, 'argument list too long'],
  ];
  test.each(refusals)('%s', async (_name, request, message, code = 'command_refused') => {
    const id = newCommandId();
    const answer = await put(agent, id, request);
    expect(answer.status).toBe(422);
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
    await expect(access(join(agent.folder, 'state', 'commands', id))).rejects.toThrow('ENOENT');
    expect((await agent.request('GET', `/v1/commands/${id}`)).status).toBe(404);
  });

  test.each([
    [{ command: 'true', argv: ['true'] }],
    [{}],
    [{ command: 'true', env: { 'A B': 'x' } }],
    [{ command: 'true', env: { 'BASH_FUNC_x%%': '() { :; }' } }],
    [{ command: 'a\0b' }],
    [{ command: 'true', cwd: 'relative' }],
    [{ command: 'true', timeoutSeconds: 0 }],
  ])('%j is not a valid command', async (request) => {
    const answer = await put(agent, newCommandId(), request);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'invalid_request' });
  });

  test('an id that is a path is refused', async () => {
    const answer = await agent.request('PUT', '/v1/commands/..%2f..%2fetc', {});
    expect(answer.status).toBe(400);
  });
});

describe('exactly one start', () => {
  test('fifty requests at once, and one later, start one', async () => {
    const id = newCommandId();
    const file = join(agent.folder, 'starts');
    const request = { command: `echo started >> ${file}; sleep 0.2` };
    const answers = await Promise.all(Array.from({ length: 50 }, () => put(agent, id, request)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49);
    await outputOf(agent, id);
    const late = await put(agent, id, request);
    expect(late.status).toBe(200);
    expect(JSON.parse(late.body.toString())).toMatchObject({ state: 'ended', exit: { outcome: 'exited' } });
    expect(await readFile(file, 'utf8')).toBe('started\n');
  });

  test('the 65th concurrent one is refused, and leaves no marker', async () => {
    const ids = await Promise.all(Array.from({ length: 64 }, () => begin(agent, { argv: ['cat'], stdinOpen: true })));
    const id = newCommandId();
    const refused = await put(agent, id, { command: 'true' });
    expect(refused.status).toBe(429);
    expect(JSON.parse(refused.body.toString())).toMatchObject({ code: 'too_many_requests' });
    const health = await agent.request('GET', '/v1/health');
    expect(JSON.parse(health.body.toString())).toMatchObject({ commandsRunning: 64 });
    await Promise.all(
      ids.map((one) => agent.request('POST', `/v1/commands/${one}/stdin?offset=0&close=true`, Buffer.alloc(0))),
    );
    await Promise.all(ids.map((one) => outputOf(agent, one)));
    expect((await put(agent, id, { command: 'true' })).status).toBe(201);
  });
});

describe('output', () => {
  test('a hundred thousand lines, in order, once', async () => {
    const output = await run(agent, { command: 'seq 100000' });
    expect(output.stdout.toString()).toBe(Array.from({ length: 100_000 }, (_, i) => `${i + 1}\n`).join(''));
  });

  test('from any offsets, during writes: no byte is missing or doubled', async () => {
    const script = 'for i in $(seq 3000); do echo out $i; echo err $i >&2; done; sleep 0.1; echo done';
    const id = await begin(agent, { command: script });
    const pieces: OutputFrame[] = [];
    const at = { stdout: 0, stderr: 0 };
    for (let round = 0; ; round++) {
      let over = false;
      let taken = 0;
      for await (const item of follow(agent, id, { ...at })) {
        if ('exit' in item) {
          over = true;
          break;
        }
        pieces.push(item);
        at[item.stream] = item.offset + item.bytes.length;
        taken += item.bytes.length;
        if (round < 20 && taken > 700) break;
      }
      if (over) break;
    }
    const { stdout, stderr } = joined(pieces);
    const whole = await outputOf(agent, id);
    expect(stdout.equals(whole.stdout)).toBe(true);
    expect(stderr.equals(whole.stderr)).toBe(true);
    expect(stdout.toString()).toBe(`${Array.from({ length: 3000 }, (_, i) => `out ${i + 1}\n`).join('')}done\n`);
  });

  test('from offsets in the middle of frames, and beyond one stream', async () => {
    const id = await begin(agent, { command: 'seq 300000; echo problem >&2; seq 10' });
    const whole = await outputOf(agent, id);
    for (const from of [
      { stdout: 1_234_567, stderr: 3 },
      { stdout: 0, stderr: 8 },
      { stdout: whole.stdout.length, stderr: 0 },
      { stdout: whole.stdout.length, stderr: whole.stderr.length },
    ]) {
      const part = await outputOf(agent, id, from);
      expect(part.stdout.equals(whole.stdout.subarray(from.stdout))).toBe(true);
      expect(part.stderr.equals(whole.stderr.subarray(from.stderr))).toBe(true);
    }
  });

  test('beyond the limit it is counted, not kept, and the command continues', async () => {
    const output = await run(agent, { command: 'seq 1000000; echo problem >&2', maxOutputBytes: 100_000 });
    expect(output.exit).toMatchObject({ outcome: 'exited', exitCode: 0 });
    expect(output.exit.stdout).toEqual({ bytes: 6_888_896, kept: 100_000 });
    expect(output.stdout.length).toBe(100_000);
    expect(output.stderr.toString()).toBe('problem\n');
  });

  test('the first line arrives while the command runs', async () => {
    const id = await begin(agent, { command: 'echo first; read x; echo second', stdinOpen: true });
    let seen = '';
    for await (const item of follow(agent, id)) {
      if ('exit' in item) continue;
      seen += Buffer.from(item.bytes).toString();
      if (seen === 'first\n') await agent.request('POST', `/v1/commands/${id}/stdin?offset=0`, Buffer.from('go\n'));
    }
    expect(seen).toBe('first\nsecond\n');
  });

  test('ends with the main process, whose background processes survive it', async () => {
    const [mark, pipe] = [join(agent.folder, 'survived'), join(agent.folder, 'pipe')];
    const background = `(read go < ${pipe}; seq 100000; echo x > ${mark})`;
    const output = await run(agent, { command: `mkfifo ${pipe}; ${background} & echo main` });
    expect(output.stdout.toString()).toBe('main\n');
    await writeFile(pipe, 'go\n'); // it waits for this, and the command has ended without it
    await expect.poll(() => readFile(mark, 'utf8').catch(() => '')).toBe('x\n');
  });

  test('that was deleted is not found, and the command stays known', async () => {
    const id = await begin(agent, { command: 'echo secret' });
    expect((await agent.request('DELETE', `/v1/commands/${newCommandId()}/output`)).status).toBe(404);
    await outputOf(agent, id);
    for (let i = 0; i < 2; i++) expect((await agent.request('DELETE', `/v1/commands/${id}/output`)).status).toBe(204);
    expect((await agent.request('GET', `/v1/commands/${id}/output`)).status).toBe(404);
    expect((await outputOf(agent, id, { stdout: 7, stderr: 0 })).exit).toMatchObject({ outcome: 'exited' });
    expect(await stateOf(id)).toMatchObject({ state: 'ended' });
    expect((await put(agent, id, { command: 'echo secret' })).status).toBe(200);
  });
});
