import { describe, expect } from 'vitest';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test, alone } = useSagaCases();

describe.concurrent('a command', () => {
  test('gets argv, bytes on standard input, a directory and a user unchanged', async ({
    mayfly,
    operations: { door },
  }) => {
    const { id } = await mayfly.createRunning();
    const argv = ['printf', '%s|', 'a b', '$HOME', '', "'"];
    expect(await door.run(id, { argv })).toMatchObject({ output: { stdout: { text: "a b|$HOME||'|" } } });
    const bytes = Buffer.from([0, 255, 10, 128]).toString('base64');
    const cat = await door.run(id, { argv: ['cat'], stdin: { base64: bytes } });
    expect(cat.output?.stdout).toEqual({ base64: bytes, truncated: false });
    const where = await door.run(id, { command: 'pwd; id -un', cwd: '/tmp', user: 'root' });
    expect(where.output?.stdout).toMatchObject({ text: '/tmp\nroot\n' });
  });

  test('accepts standard input before it has started', async ({ mayfly, operations: { door } }) => {
    const { id } = await mayfly.createRunning();
    for (let times = 0; times < 10; times++) {
      const { id: commandId } = await door.run(id, { argv: ['cat'], stdinOpen: true }, 0);
      const path = `/v1/sandboxes/${id}/commands/${commandId}/stdin?close=true`;
      expect((await door.call('POST', path, Buffer.from('x\n'))).status).toBe(200);
    }
  });

  test('reports a timeout', async ({ mayfly, operations: { door } }) => {
    const { id } = await mayfly.createRunning();
    const command = await door.run(id, { command: 'echo begun; sleep 1000', timeoutSeconds: 1 });
    expect(command).toMatchObject({ outcome: 'timed-out', output: { stdout: { text: 'begun\n' } } });
    await mayfly.client.workflow.getHandle(`command/${command.id}`).result();
  });
});

describe.concurrent('the output of a command', () => {
  test('is streamed live, and again from any event', async ({ mayfly, operations: { door } }) => {
    const { id } = await mayfly.createRunning();
    const script = 'printf "a\\303"; sleep 0.3; printf "\\244b"; sleep 0.3; printf "\\377" >&2; read x; echo "$x"';
    const command = await door.run(id, { command: script, stdinOpen: true }, 0);
    const seen: { id: string | undefined; what: string }[] = [];
    for await (const { id: eventId, event, data } of door.events(command)) {
      seen.push({ id: eventId, what: event === 'ended' ? 'ended' : `${data.stream}:${data.text ?? data.base64}` });
      if (data.base64) await door.call('POST', `/v1/sandboxes/${id}/commands/${command.id}/stdin`, Buffer.from('go\n'));
    }
    expect(seen.map(({ what }) => what)).toEqual(['stdout:a', 'stdout:äb', 'stderr:/w==', 'stdout:go\n', 'ended']);
    for (const [index, { id: eventId }] of seen.slice(0, -1).entries()) {
      const rest: string[] = [];
      for await (const { event, data } of door.events(command, eventId)) {
        rest.push(event === 'ended' ? 'ended' : `${data.stream}:${data.text ?? data.base64}`);
      }
      expect(rest).toEqual(seen.slice(index + 1).map(({ what }) => what));
    }
  });

  test('is stored up to its limit, counted beyond it, and read by stream and offset', async ({
    mayfly,
    operations: { door },
  }) => {
    const { id } = await mayfly.createRunning();
    const command = await door.run(id, { command: 'seq 1 100000; seq 1 5 >&2', maxOutputBytes: 200_000 });
    expect(command.stdout).toEqual({ bytes: 588_895, kept: 200_000 });
    const all = await door.output(command, 'stream=stdout');
    expect(all.headers.get('X-Mayfly-Truncated')).toBe('true');
    const text = await all.text();
    expect(text).toHaveLength(200_000);
    const part = await door.output(command, 'stream=stdout&offset=65530&limit=20');
    expect(await part.text()).toBe(text.slice(65_530, 65_550));
    expect(part.headers.get('X-Mayfly-Next-Offset')).toBe('65550');
    expect(part.headers.get('X-Mayfly-Ended')).toBe('false');
    const rest = await door.output(command, 'stream=stderr&offset=2');
    expect(await rest.text()).toBe('2\n3\n4\n5\n');
    expect(rest.headers.get('X-Mayfly-Ended')).toBe('true');
  });
});

describe.concurrent('a sandbox', () => {
  test('that is destroyed interrupts its commands without waiting for them', async ({
    mayfly,
    operations: { door },
  }) => {
    const input = await mayfly.createRunning();
    const command = await door.run(input.id, { command: 'echo there; sleep 1000' }, 0);
    await door.until(command, ({ state }) => state === 'running');
    expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed' });
    const ended = await door.ended(command);
    expect(ended).toMatchObject({ outcome: 'interrupted', reason: 'Its sandbox ended while it ran.' });
    const after = await door.call('POST', `/v1/sandboxes/${input.id}/commands`, { command: 'true' });
    expect(await after.json()).toMatchObject({ code: 'sandbox_ended' });
  });

  test('is not idle while a command runs in it, and is soon after', async ({ mayfly, operations: { door } }) => {
    const input = await mayfly.createRunning({ idleSeconds: 3 });
    const command = await door.run(input.id, { command: 'sleep 5' });
    expect(command).toMatchObject({ outcome: 'exited', exitCode: 0 });
    expect(await mayfly.end(input.id)).toMatchObject({ stopReason: 'idle' });
  });
});

alone('a host worker that is down keeps a command and its cancel waiting', async ({ mayfly, operations: { door } }) => {
  const { id } = await mayfly.createRunning();
  await mayfly.host?.stop();
  const command = await door.run(id, { command: 'sleep 1000' }, 0);
  expect((await door.call('POST', `/v1/sandboxes/${id}/commands/${command.id}/cancel`)).status).toBe(202);
  await mayfly.startHost();
  expect(await door.ended(command)).toMatchObject({ outcome: 'cancelled' });
});
