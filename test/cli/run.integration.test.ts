import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../cli/main.ts';
import { Io } from '../../cli/terminal/io.ts';
import type { Command } from '../../clients/typescript/http/openapi.ts';
import { COMMAND_ID, commandRecord, ID } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { eventually } from '../support/eventually.ts';
import { runLine } from './run-line.ts';

const server = useStandIn();

const running = commandRecord({ state: 'running', outcome: null, exitCode: null, endedAt: null });

/** Runs a command line; the fake API streams `output`, then the end of the command. */
async function run(args: string[], ended: Partial<Command>, output: object[] = [], controller = new AbortController()) {
  const record = commandRecord(ended);
  server.answers((request, response) => {
    if (request.path.endsWith('/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const data of output) response.write(`id: 1-0\nevent: output\ndata: ${JSON.stringify(data)}\n\n`);
      response.end(`event: ended\ndata: ${JSON.stringify(record)}\n\n`);
    } else answerJson(response, 200, request.method === 'POST' ? running : record);
  });
  const { code, bytes, err } = await runLine(server, args, { controller });
  return { code, out: bytes, err };
}

function asked(): unknown {
  return JSON.parse(server.seen[0]?.body ?? 'null');
}

describe('mayfly run', () => {
  it('passes both streams through byte for byte, in order', async () => {
    const at = '2026-11-21T10:00:00.500Z';
    const { code, out, err } = await run(['run', ID, '--', 'printf', 'x'], {}, [
      { stream: 'stdout', at, offset: 0, base64: Buffer.from([0xff, 0x00, 0x1b]).toString('base64') },
      { stream: 'stderr', at, offset: 0, text: 'café\n' },
      { stream: 'stdout', at, offset: 3, text: 'end' },
    ]);
    expect(code).toBe(0);
    expect(out).toEqual(Buffer.concat([Buffer.from([0xff, 0x00, 0x1b]), Buffer.from('end')]));
    expect(err).toBe('café\n');
  });

  it.each([
    [['--', 'ls', '-la', '--', 'a b', '$HOME'], { argv: ['ls', '-la', '--', 'a b', '$HOME'] }],
    [['--command', 'echo "$A" | wc'], { command: 'echo "$A" | wc' }],
    [
      ['--env', 'A=b=c', '--env', 'B=', '--cwd', '/srv', '--user', 'root', '--timeout', '5', '--', 'env'],
      { argv: ['env'], env: { A: 'b=c', B: '' }, cwd: '/srv', user: 'root', timeoutSeconds: 5 },
    ],
  ])('sends its request: %j', async (args, request) => {
    await run(['run', ID, ...args], {});
    expect(asked()).toEqual(request);
  });

  it.each([
    [{ exitCode: 7 }, 7],
    [{ outcome: 'signaled', exitCode: null, signal: 'SIGSEGV' }, 139],
    [{ outcome: 'timed-out', exitCode: null }, 124],
    [{ outcome: 'cancelled', exitCode: null }, 130],
    [{ outcome: 'unknown', exitCode: null, reason: 'the machine is gone' }, 255],
    [{ outcome: 'not-started', exitCode: null, failure: { code: 'command_refused', message: 'no user x' } }, 125],
    [{ outcome: 'not-started', exitCode: null, failure: { code: 'program_not_executable', message: 'x' } }, 126],
    [{ outcome: 'not-started', exitCode: null, failure: { code: 'program_not_found', message: 'x' } }, 127],
  ] as [Partial<Command>, number][])('ends as the command ended: %j → %i', async (ended, code) => {
    expect((await run(['run', ID, '--', 'x'], ended)).code).toBe(code);
  });

  it.each([
    [['run', ID]],
    [['exec', ID]],
    [['run', 'No-id', '--', 'x']],
    [['run']],
    [['run', ID, '--timeout', 'x', '--', 'x']],
  ])('ends with 125 when Mayfly itself fails: %j', async (args) => {
    expect((await run(args, {})).code).toBe(125);
  });

  it.each([
    [[], 'abc', true],
    [['--stdin'], undefined, true],
    [['--no-stdin'], 'abc', false],
    [['--detach'], 'abc', false],
    [[], undefined, false],
  ])('passes standard input with %j when %j is piped in: %j', async (options, stdin, isPassed) => {
    const got: Buffer[] = [];
    server.answers((request, response) => {
      if (request.path.includes('/stdin')) {
        got.push(Buffer.from(request.body));
        answerJson(response, 200, { offset: Buffer.concat(got).length });
      } else if (request.path.endsWith('/events')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        const closed = () => server.seen.some(({ path }) => path.includes('close=true'));
        void eventually(closed, (isClosed) => isClosed || !isPassed).then(() =>
          response.end('event: ended\ndata: {}\n\n'),
        );
      } else answerJson(response, 200, request.method === 'POST' ? running : commandRecord());
    });
    const { code } = await runLine(server, ['run', ID, ...options, '--', 'wc', '-c'], { ...(stdin && { stdin }) });
    expect([code, asked()]).toEqual([0, expect.objectContaining({ argv: ['wc', '-c'] })]);
    expect(Object(asked()).stdinOpen).toBe(isPassed || undefined);
    expect(Buffer.concat(got).toString()).toBe(isPassed ? (stdin ?? '') : '');
  });

  it('has no time-out when detached, and prints the one that has expired', async () => {
    const { err } = await run(['run', ID, '--detach', '--', 'x'], {});
    expect(asked()).toEqual({ argv: ['x'], timeoutSeconds: 2_592_000 });
    expect(err).toContain('no time-out');
    server.seen.length = 0;
    await run(['run', ID, '--detach', '--timeout', '1h', '--', 'x'], {});
    expect(asked()).toEqual({ argv: ['x'], timeoutSeconds: 3_600 });
    expect((await run(['run', ID, '--', 'x'], { outcome: 'timed-out', exitCode: null })).err).toMatch(
      /10 min.*--timeout/,
    );
    const own = await run(['run', ID, '--timeout', '1h', '--', 'x'], { outcome: 'timed-out', exitCode: null });
    expect(own.err).not.toContain('default');
  });

  it('prints where the program belongs', async () => {
    const { code, err } = await run(['run', ID, 'echo', 'hi'], {});
    expect(code).toBe(125);
    expect(err).toContain(`mayfly run ${ID} -- echo hi`);
    const withOptions = await run(['run', '--cwd', '/srv', ID, 'ls', 'x'], {});
    expect(withOptions.err).toContain(`mayfly run --cwd /srv ${ID} -- ls x`);
    for (const words of ['run web ls -la', 'exec web ls -la --json', 'run web --cwd /srv ls -la', 'ssh web ls -la']) {
      const line = words.replace('exec', 'run').replace(' ls', ' -- ls');
      expect((await run(words.split(' '), {})).err).toContain(`mayfly ${line}`);
    }
    expect((await run(['source', 'run', 'web-1', 'ps', '-ef'], {})).err).toContain("mayfly source run web-1 'ps -ef'");
    expect((await run(['run', '--cwd', '/srv', ID, '--bogus'], {})).err).not.toContain('behind');
    expect((await run(['run', ID, '--cmd', 'ls'], {})).err).toContain('--cmd');
    expect((await run(['run', ID, '--cmd', 'ls'], {})).err).not.toContain('behind');
  });

  it('prints why a command was not started', async () => {
    const failure = { code: 'command_refused', message: 'no program \u001b[31mx' } as const;
    const { err } = await run(['run', ID, '--', 'x'], { outcome: 'not-started', exitCode: null, failure });
    expect(err).toBe('mayfly: not-started: no program \ufffd[31mx\n');
  });

  it('cancels a command on Ctrl-C before its id is known', async () => {
    const controller = new AbortController();
    const keys: unknown[] = [];
    server.answers((request, response) => {
      if (request.path.endsWith('/commands')) keys.push(request.headers['idempotency-key']);
      if (keys.length === 1 && !controller.signal.aborted) controller.abort(new Error('interrupted'));
      else if (request.path.endsWith('/events')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: ended\ndata: {}\n\n');
      } else answerJson(response, 200, request.method === 'POST' ? running : commandRecord({ outcome: 'cancelled' }));
    });
    expect((await runLine(server, ['run', ID, '--', 'sleep', '9'], { controller })).code).toBe(130);
    expect(keys).toHaveLength(2);
    expect(keys[1]).toBe(keys[0]);
    expect(server.seen.map(({ path }) => path)).toContain(`/v1/sandboxes/${ID}/commands/${COMMAND_ID}/cancel`);
  });

  it('cancels at Ctrl-C, and waits until the command has ended', async () => {
    const controller = new AbortController();
    const interrupting = { outcome: 'cancelled', exitCode: null } as const;
    server.answers((request, response) => {
      if (request.path.endsWith('/events')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        response.write('event: output\ndata: {"stream":"stdout","at":"","offset":0,"text":"a"}\n\n');
        server.answers((again, answer) => {
          answerJson(answer, 200, again.method === 'POST' ? running : commandRecord(interrupting));
          if (again.path.endsWith('/cancel')) response.end(`event: ended\ndata: {}\n\n`);
        });
      } else answerJson(response, 202, running);
    });
    const env = { MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret' };
    const stdout = { write: () => controller.abort(new Error('interrupted')) };
    const stderr = { write: () => {} };
    const { signal } = controller;
    const code = await runCli(['run', ID, '--', 'sleep', '9'], new Io({ stdout, stderr, env, signal, force: signal }));
    expect(code).toBe(130);
    expect(server.seen.map(({ path }) => path)).toContain(`/v1/sandboxes/${ID}/commands/${COMMAND_ID}/cancel`);
  });

  it.each(['stdout', 'stderr'] as const)(
    'ends the command by SIGPIPE when the reader of its %s leaves, and prints nothing',
    async (stream) => {
      const cancelled = new Promise<void>((resolve) => {
        server.answers((request, response) => {
          if (request.path.endsWith('/cancel?signal=SIGPIPE')) resolve();
          if (!request.path.endsWith('/events')) return answerJson(response, 202, running);
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          const event = `event: output\ndata: {"stream":"${stream}","at":"","offset":0,"text":"y"}\n\n`;
          const writing = setInterval(() => response.write(event), 20);
          response.once('close', () => clearInterval(writing));
        });
      });
      const env = { ...process.env, MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret' };
      const mayfly = fileURLToPath(new URL('../../bin/mayfly', import.meta.url));
      const child = spawn(process.execPath, [mayfly, 'run', ID, '--', 'yes'], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const printed: Buffer[] = [];
      (stream === 'stdout' ? child.stderr : child.stdout).on('data', (bytes: Buffer) => printed.push(bytes));
      const ended = once(child, 'exit');
      await once(child[stream], 'data');
      child[stream].destroy();
      expect([(await ended)[0], Buffer.concat(printed).toString()]).toEqual([141, '']);
      await cancelled;
    },
  );

  it.each([[[]], [['--command', 'x', '--', 'y']], [['--env', 'A', '--', 'x']], [['--timeout', '0', '--', 'x']]])(
    'refuses %j before any request',
    async (args) => {
      expect((await run(['run', ID, ...args], {})).code).toBe(125);
      expect(server.seen).toEqual([]);
    },
  );

  it('prints the record with --json, and the id alone with --detach', async () => {
    expect(JSON.parse((await run(['run', ID, '--json', '--', 'x'], {})).out.toString())).toMatchObject({ exitCode: 0 });
    expect((await run(['run', ID, '--detach', '--', 'x'], {})).out.toString()).toBe(`${COMMAND_ID}\n`);
  });
});
