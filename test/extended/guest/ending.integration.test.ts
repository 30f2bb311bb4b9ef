import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentProcess } from '../../guest/agent-process.ts';
import { begin, follow, outputOf, put, run } from '../../guest/command-client.ts';

let agent: AgentProcess;

beforeAll(async () => {
  agent = await AgentProcess.start();
});
afterAll(() => agent.stop());

/** Lists the processes, without zombies, that have a mark in their arguments. */
async function processesWith(mark: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found: string[] = [];
  for (const pid of pids) {
    const args = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (args.includes(mark)) found.push(args.replaceAll('\0', ' '));
  }
  return found;
}

/** Resolves when the command has printed the text. */
async function printed(id: string, text: string): Promise<void> {
  let seen = '';
  for await (const item of follow(agent, id)) {
    if (!('exit' in item)) seen += Buffer.from(item.bytes).toString();
    if (seen.includes(text)) return;
  }
  throw new Error(`it ended without ${text}: ${seen}`);
}

/** Process tree with one of every kind that escapes easily; only the first ends on SIGTERM. */
const FAMILY = (mark: string) => `
sleep ${mark} &
(trap '' TERM HUP; exec sleep ${mark}) &
setsid sh -c 'trap "" TERM HUP; sleep ${mark}; sleep ${mark}' &
(setsid sh -c '(trap "" TERM; exec sleep ${mark}) & exit' &)
echo begun
wait`;

describe('cancelling', () => {
  test('ends the whole tree, including processes that ignore SIGTERM or are detached', async () => {
    const mark = '7654.25';
    const id = await begin(agent, { command: FAMILY(mark) });
    await printed(id, 'begun');
    await expect.poll(async () => (await processesWith(mark)).length).toBeGreaterThanOrEqual(5);
    const answer = await agent.request('POST', `/v1/commands/${id}/cancel`, Buffer.alloc(0));
    expect(answer.status).toBe(202);
    const { exit } = await outputOf(agent, id);
    expect(exit).toMatchObject({ outcome: 'cancelled', signal: 'SIGTERM' });
    expect(await processesWith(mark)).toEqual([]);
  });

  test('lets it finish within the grace period, and reports its end', async () => {
    const id = await begin(agent, {
      command: "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done",
    });
    await printed(id, 'ready');
    await agent.request('POST', `/v1/commands/${id}/cancel`, Buffer.alloc(0));
    const { stdout, exit } = await outputOf(agent, id);
    expect(stdout.toString()).toBe('ready\nbye\n');
    expect(exit).toMatchObject({ outcome: 'cancelled', exitCode: 3, signal: null });
  });

  test('ends an unread program by SIGPIPE, and one that ignores that by SIGTERM', async () => {
    const read = await begin(agent, { command: 'yes; echo after' });
    await printed(read, 'y');
    await agent.request('POST', `/v1/commands/${read}/cancel?signal=SIGPIPE`, Buffer.alloc(0));
    expect((await outputOf(agent, read)).exit).toMatchObject({ outcome: 'cancelled', signal: 'SIGPIPE' });
    const deaf = await begin(agent, { command: "trap '' PIPE; echo ready; sleep 1000 & wait" });
    await printed(deaf, 'ready');
    await agent.request('POST', `/v1/commands/${deaf}/cancel?signal=SIGPIPE`, Buffer.alloc(0));
    expect((await outputOf(agent, deaf)).exit).toMatchObject({ outcome: 'cancelled', signal: 'SIGTERM' });
  });

  test('kills after the configured grace period, including new children (case 19)', async () => {
    const command = `trap 'while :; do echo no; (sleep 1000 &); sleep 0.1; done' TERM; echo ready; while :; do sleep 0.05; done`;
    const id = await begin(agent, { command }, '?graceSeconds=1');
    await printed(id, 'ready');
    await agent.request('POST', `/v1/commands/${id}/cancel`, Buffer.alloc(0));
    const { stdout, exit } = await outputOf(agent, id);
    expect(exit).toMatchObject({ outcome: 'cancelled', signal: 'SIGKILL', reason: null });
    const lines = stdout.toString().split('\n').length;
    expect(lines).toBeGreaterThan(2);
    expect(lines).toBeLessThan(45); // it would be 50 in the default of 5 s
  });

  test('refuses an invalid grace period', async () => {
    for (const grace of ['0', '601', 'x', '-1', '1.5']) {
      await expect(begin(agent, { command: 'true' }, `?graceSeconds=${grace}`)).rejects.toThrow('graceSeconds');
    }
  });

  test('reaches a stopped process, and reports one that has ended', async () => {
    const id = await begin(agent, { command: 'echo ready; kill -STOP $$' });
    await printed(id, 'ready');
    await agent.request('POST', `/v1/commands/${id}/cancel`, Buffer.alloc(0));
    expect((await outputOf(agent, id)).exit).toMatchObject({ outcome: 'cancelled' });
    const again = await agent.request('POST', `/v1/commands/${id}/cancel`, Buffer.alloc(0));
    expect([again.status, JSON.parse(again.body.toString())]).toEqual([
      409,
      expect.objectContaining({ code: 'command_ended' }),
    ]);
  });

  test('affects no other command', async () => {
    const [one, two] = [
      await begin(agent, { argv: ['cat'], stdinOpen: true }),
      await begin(agent, { argv: ['cat'], stdinOpen: true }),
    ];
    await agent.request('POST', `/v1/commands/${one}/cancel`, Buffer.alloc(0));
    await outputOf(agent, one);
    await agent.request('POST', `/v1/commands/${two}/stdin?offset=0&close=true`, Buffer.from('alive'));
    expect((await outputOf(agent, two)).stdout.toString()).toBe('alive');
  });
});

describe('without a cancel', () => {
  test('a command ends at its timeout', async () => {
    const command = "echo begun; bash -c 'sleep 60; echo never'; sh -c 'sleep 60; echo never'; echo never";
    const output = await run(agent, { command, timeoutSeconds: 1 });
    expect(output.stdout.toString()).toBe('begun\n');
    expect(output.exit).toMatchObject({ outcome: 'timed-out', exitCode: null, signal: 'SIGTERM' });
  });

  test('a command ends by a foreign signal', async () => {
    const { exit } = await run(agent, { argv: ['sh', '-c', 'kill -SEGV $$'] });
    expect(exit).toMatchObject({ outcome: 'signaled', signal: 'SIGSEGV', exitCode: null });
  });
});

describe('the agent is killed', () => {
  test('during a command: unknown, with a reason, its processes ended, and never a second run', async () => {
    const file = join(agent.folder, 'lines');
    const request = { command: `echo begun; echo run >> ${file}; sleep 4321.25; echo end >> ${file}` };
    const id = await begin(agent, request);
    await printed(id, 'begun');
    const done = await begin(agent, { command: 'echo whole' });
    await outputOf(agent, done);
    await expect.poll(() => readFile(file, 'utf8').catch(() => '')).toBe('run\n');

    await agent.kill();
    const log = join(agent.folder, 'state', 'commands', id, 'log');
    await writeFile(log, Buffer.concat([await readFile(log), Buffer.from([1, 0, 0, 0, 7])])); // a partial frame
    await agent.restart();

    const again = await put(agent, id, request);
    expect(again.status).toBe(200);
    const { stdout, exit } = await outputOf(agent, id);
    expect(stdout.toString()).toBe('begun\n');
    expect(exit).toMatchObject({
      outcome: 'unknown',
      exitCode: null,
      startedAt: expect.stringMatching(/Z$/) as string,
      stdout: { bytes: 6, kept: 6 },
      reason: expect.stringContaining('not known') as string,
    });
    expect(await processesWith('4321.25')).toEqual([]);
    expect(await readFile(file, 'utf8')).toBe('run\n');
    expect(await outputOf(agent, done)).toMatchObject({ exit: { outcome: 'exited', exitCode: 0 } });
  });

  test('between the marker and the start: unknown, not started later', async () => {
    const folder = join(agent.folder, 'state', 'commands', 'cmd-0000000000000000');
    await agent.kill();
    await mkdir(folder);
    await agent.restart();
    const answer = await put(agent, 'cmd-0000000000000000', { command: `touch ${folder}/ran` });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ state: 'ended', exit: { outcome: 'unknown' } });
    expect(await readdir(folder)).not.toContain('ran');
  });
});
