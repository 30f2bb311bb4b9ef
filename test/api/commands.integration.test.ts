import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RequestDeps } from '../../api/http/context.ts';
import { MayflyError } from '../../model/errors.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import { CommandFollower } from '../../services/commands/command-follower.ts';
import { command, commandId } from '../store/support.ts';
import { eventually } from '../support/eventually.ts';
import { jsonOf, useDoor } from './support.ts';

const door = useDoor();
let id: string;
let path: string;

beforeAll(async () => {
  ({ id } = await jsonOf<{ id: string }>(door.call('POST', '/v1/sandboxes', { source: 'golden' })));
  await door.store.sandboxes.update(id, { hostId: 'kvm-1' });
  path = `/v1/sandboxes/${id}/commands`;
});

/** Stores an ended command, as the worker of a host would. */
async function ended(n: number, changes: Partial<CommandRecord> = {}): Promise<string> {
  await door.store.commands.create(command(n, { sandboxId: id, state: 'ended', outcome: 'exited', ...changes }));
  return commandId(n);
}

describe('an invalid command', () => {
  it.each([
    [{}, 'command'],
    [{ command: 'true', argv: ['true'] }, 'command'],
    [{ command: '' }, 'command'],
    [{ command: 'a\0b' }, 'command'],
    [{ command: 'ä'.repeat(70_000) }, 'command'],
    [{ command: '\ud800' }, 'command'],
    [{ argv: [] }, 'argv'],
    [{ argv: ['', 'x'] }, 'argv'],
    [{ argv: ['x', 'a\0'] }, 'argv.1'],
    [{ argv: Array(1_025).fill('x') }, 'argv'],
    [{ command: 'x', env: { 'A-B': '1' } }, 'env'],
    [{ command: 'x', env: { '1A': '1' } }, 'env'],
    [{ command: 'x', env: { 'A=': '1' } }, 'env'],
    [{ command: 'x', env: { A: 'a\0' } }, 'env.A'],
    [{ command: 'x', env: { A: 1 } }, 'env.A'],
    [{ command: 'x', cwd: 'relative' }, 'cwd'],
    [{ command: 'x', cwd: `/${'x'.repeat(4_095)}` }, 'cwd'],
    [{ command: 'x', user: 'Root' }, 'user'],
    [{ command: 'x', user: '-x' }, 'user'],
    [{ command: 'x', timeoutSeconds: 0 }, 'timeoutSeconds'],
    [{ command: 'x', maxOutputBytes: -1 }, 'maxOutputBytes'],
    [{ command: 'x', stdin: { base64: '***' } }, 'stdin.base64'],
    [{ command: 'x', stdin: 7 }, 'stdin'],
    [{ command: 'x', shell: 'bash' }, 'shell'],
  ])('%j is refused with the name of its field', async (body, field) => {
    const response = await door.call('POST', path, body);
    expect(response.status).toBe(422);
    const { errors } = await jsonOf<{ errors: { field: string }[] }>(response);
    expect(errors.map((error) => error.field)).toContain(field);
  });

  it('a variable named __proto__ is refused instead of dropped', async () => {
    const response = await door.call('POST', path, '{"command":"x","env":{"__proto__":"1"}}');
    expect(response.status).toBe(422);
  });
});

describe('a command', () => {
  it('is recorded before it reaches Temporal; values of its environment are not in the record', async () => {
    const request = { argv: ['env'], env: { TOKEN: 'hush' }, stdin: 'secret' };
    const response = await door.call('POST', path, request, { Prefer: 'wait=0' });
    expect(response.status).toBe(202);
    const view = await jsonOf<{ id: string }>(response);
    expect(response.headers.get('Location')).toBe(`${path}/${view.id}`);
    expect(view).toMatchObject({ state: 'requested', spec: { envNames: ['TOKEN'], timeoutSeconds: 600 } });
    expect(door.sagas.startedCommands).toContain(view.id);
    expect(JSON.stringify(await door.store.commands.get(view.id))).not.toMatch(/hush|secret/);
    expect(await door.store.commandInputs.get(view.id)).toMatchObject({ env: { TOKEN: 'hush' } });
    expect((await door.store.activity.get(id)).openCommands).toContain(view.id);
  });

  it('that did not reach Temporal is started by the repeated request, under the same id', async () => {
    door.sagas.failing = new MayflyError('temporal_unavailable', 'away');
    const headers = { 'Idempotency-Key': 'again', Prefer: 'wait=0' };
    expect((await door.call('POST', path, { command: 'true' }, headers)).status).toBe(503);
    door.sagas.failing = null;
    const before = door.sagas.startedCommands.length;
    const first = await jsonOf<{ id: string }>(door.call('POST', path, { command: 'true' }, headers));
    expect(door.sagas.startedCommands.slice(before)).toEqual([first.id]);
    const again = await door.call('POST', path, { command: 'true' }, headers);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await jsonOf(again)).toMatchObject({ id: first.id, state: 'requested' });
    await door.store.commands.update(first.id, { state: 'ended', outcome: 'exited', exitCode: 0 });
    const later = await door.call('POST', path, { command: 'true' }, headers);
    expect([later.status, await jsonOf(later)]).toMatchObject([201, { id: first.id, state: 'ended', exitCode: 0 }]);
    expect((await door.call('POST', path, { command: 'false' }, headers)).status).toBe(422);
  });

  it('has its inputs when its first request died before they were stored', async () => {
    door.sagas.failing = new MayflyError('temporal_unavailable', 'away');
    const headers = { 'Idempotency-Key': 'half', Prefer: 'wait=0' };
    const request = { argv: ['env'], env: { TOKEN: 'hush' } };
    await door.call('POST', path, request, headers);
    door.sagas.failing = null;
    const { items } = await jsonOf<{ items: { id: string }[] }>(door.call('GET', path));
    const half = items[0]?.id ?? '';
    await door.store.commandInputs.remove(half);
    await door.store.activity.closeCommand(id, half);
    expect(await jsonOf(door.call('POST', path, request, headers))).toMatchObject({ id: half });
    expect(await door.store.commandInputs.get(half)).toMatchObject({ env: { TOKEN: 'hush' } });
    expect((await door.store.activity.get(id)).openCommands).toContain(half);
  });

  it('that was not started leaves its idempotency key free, also when only a repetition learns of it', async () => {
    door.sagas.failing = new MayflyError('temporal_unavailable', 'away');
    const headers = { 'Idempotency-Key': 'full' };
    await door.call('POST', path, { command: 'full' }, headers);
    door.sagas.failing = null;
    const { items } = await jsonOf<{ items: { id: string }[] }>(door.call('GET', path));
    const full = items[0]?.id ?? '';
    const failure = { code: 'too_many_requests', message: '64 run' } as const;
    await door.store.commands.update(full, { state: 'ended', outcome: 'not-started', failure });
    expect((await door.call('POST', path, { command: 'full' }, headers)).status).toBe(429);
    const again = await jsonOf<{ id: string }>(
      door.call('POST', path, { command: 'full' }, { ...headers, Prefer: 'wait=0' }),
    );
    expect(again).toMatchObject({ state: 'requested' });
    expect(again.id).not.toBe(full);
  });

  it('needs a running sandbox, and may be retried once it runs', async () => {
    const headers = { 'Idempotency-Key': 'early' };
    await door.store.sandboxes.update(id, { state: 'creating' });
    expect(await jsonOf(door.call('POST', path, { command: 'true' }, headers))).toMatchObject({
      code: 'sandbox_not_running',
    });
    await door.store.sandboxes.update(id, { state: 'destroying' });
    expect(await jsonOf(door.call('POST', path, { command: 'true' }, headers))).toMatchObject({
      code: 'sandbox_ended',
    });
    await door.store.sandboxes.update(id, { state: 'running' });
    expect((await door.call('POST', path, { command: 'true' }, { ...headers, Prefer: 'wait=0' })).status).toBe(202);
  });

  it('is awaited in the store while its host does not answer', async () => {
    const asked = door.call('POST', path, { command: 'true' }, { Prefer: 'wait=60' });
    const before = door.sagas.startedCommands.length;
    const commands = await eventually(
      () => door.sagas.startedCommands,
      ({ length }) => length > before,
    );
    const started = commands.at(-1) ?? '';
    await door.store.commands.update(started, { state: 'ended', outcome: 'exited', exitCode: 0 });
    expect((await asked).status).toBe(201);
  });

  it('is not visible under another sandbox, and readable only with the read scope', async () => {
    const own = await ended(10);
    const other = await jsonOf<{ id: string }>(door.call('POST', '/v1/sandboxes', { source: 'golden' }));
    const response = await door.call('GET', `/v1/sandboxes/${other.id}/commands/${own}`);
    expect(await jsonOf(response)).toMatchObject({ status: 404, code: 'command_not_found' });
    const reader = await door.key('sandboxes:read');
    expect((await door.call('GET', `${path}/${own}`, undefined, {}, reader)).status).toBe(200);
    expect((await door.call('POST', path, { command: 'x' }, {}, reader)).status).toBe(403);
    expect((await door.call('GET', `${path}/cmd-x`)).status).toBe(400);
  });

  it('that has ended is not cancelled, and accepts no input', async () => {
    const over = await ended(11);
    expect((await door.call('POST', `${path}/${over}/cancel`)).status).toBe(200);
    expect(door.sagas.cancelled).toEqual([]);
    expect(await jsonOf(door.call('POST', `${path}/${over}/stdin?offset=0`))).toMatchObject({ code: 'command_ended' });
  });
});

describe('stored output', () => {
  it('is streamed as events from any position, both streams in order', async () => {
    const over = await ended(20, { stdout: { bytes: 4, kept: 4 }, stderr: { bytes: 1, kept: 1 } });
    const at = (position: number, offset: number) => ({ position, atMs: 1_790_000_000_000 + position, offset });
    await door.store.output.put(over, 'stdout', 0, { bytes: Buffer.from('abcd'), marks: [at(0, 0), at(3, 2)] });
    await door.store.output.put(over, 'stderr', 0, { bytes: Buffer.from('!'), marks: [at(2, 0)] });
    const events = async (last: string) => {
      const text = await (
        await door.call('GET', `${path}/${over}/events`, undefined, { 'Last-Event-ID': last })
      ).text();
      return text.split('\n\n').flatMap((event) => {
        const [, eventId] = /^id: (.*)$/m.exec(event) ?? [];
        const [, output] = /"text":"(.*?)"/.exec(event) ?? [];
        return event === '' ? [] : [output === undefined ? 'ended' : `${output} ${eventId}`];
      });
    };
    expect(await events('')).toEqual(['ab 2-0', '! 2-1', 'cd 4-1', 'ended']);
    expect(await events('2-1')).toEqual(['cd 4-1', 'ended']);
    expect(await events('3-1')).toEqual(['d 4-1', 'ended']);
    expect(await events('4-1')).toEqual(['ended']);
    expect((await door.call('GET', `${path}/${over}/events`, undefined, { 'Last-Event-ID': 'x' })).status).toBe(422);
  });

  it('is not followed by a HEAD request', async () => {
    const running = await ended(32, { state: 'running', outcome: null });
    for (let n = 0; n < 257; n++) await door.call('HEAD', `${path}/${running}/events`);
    const response = await door.call('GET', `${path}/${running}/events`);
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });

  it('is streamed in order also while only one of its streams is stored', async () => {
    const running = await ended(31, { state: 'running', outcome: null });
    const { output, commands } = door.store;
    await output.put(running, 'stderr', 0, {
      bytes: Buffer.from('late'),
      marks: [{ position: 5, atMs: 2, offset: 0 }],
    });
    let asked = 0;
    const request = async () => {
      if (++asked === 2) {
        const early = { bytes: Buffer.from('early'), marks: [{ position: 0, atMs: 1, offset: 0 }] };
        await output.put(running, 'stdout', 0, early);
        await commands.update(running, { state: 'ended', outcome: 'exited' });
      }
      throw new MayflyError('host_unavailable', 'away');
    };
    const record = (await commands.get(running)) ?? command(31);
    const deps = {
      store: door.store,
      guests: { request },
      logger: pino({ level: 'silent' }),
    } as unknown as RequestDeps;
    const follower = new CommandFollower(deps, record, { stdout: 0, stderr: 0 }, new AbortController().signal);
    const told: unknown[] = [];
    for await (const piece of follower.pieces()) told.push('text' in piece ? piece.text : piece);
    expect(told).toEqual(['early', 'late']);
  });

  it('is read as bytes that no browser renders as a page', async () => {
    const over = await ended(21, { stdout: { bytes: 9, kept: 3 } });
    await door.store.output.put(over, 'stdout', 0, {
      bytes: Buffer.from('<b>'),
      marks: [{ position: 0, atMs: 0, offset: 0 }],
    });
    const response = await door.call('GET', `${path}/${over}/output?stream=stdout&offset=1`);
    expect(await response.text()).toBe('b>');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '2',
      'x-content-type-options': 'nosniff',
      'x-mayfly-next-offset': '3',
      'x-mayfly-ended': 'true',
      'x-mayfly-truncated': 'true',
    });
    expect(await (await door.call('GET', `${path}/${over}/output?stream=stdout&offset=99`)).text()).toBe('');
    expect((await door.call('GET', `${path}/${over}/output`)).status).toBe(422);
  });
});
