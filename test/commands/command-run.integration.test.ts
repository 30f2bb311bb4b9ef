import { Readable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import type { CommandRunDeps } from '../../host/exec/command-run.ts';
import { CommandRuns } from '../../host/exec/command-runs.ts';
import type { AgentRequest } from '../../host/guest/agent-session.ts';
import { MayflyError } from '../../model/errors.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import type { Store } from '../../store/connect.ts';
import { GuestMachine, readGuestFile } from '../host/guest/machine.ts';
import { command, commandId, record, sandboxId } from '../store/support.ts';
import { eventually } from '../support/eventually.ts';
import { useStore } from '../support/use-store.ts';

const SANDBOX = sandboxId(1);
const logger = pino({ level: 'silent' });
let store: Store;
let machine: GuestMachine;
let deps: CommandRunDeps;

useStore(async (opened) => {
  store = opened.store;
  machine = await GuestMachine.start();
  await machine.boot(SANDBOX);
  await store.sandboxes.create(record(1, { state: 'running' }));
  deps = { store, hypervisor: machine.host.hypervisor, guests: machine.guests, logger };
});
afterAll(() => machine?.stop());

async function requested(n: number, spec: Partial<CommandRecord['spec']>): Promise<string> {
  const { spec: defaults, ...rest } = command(n);
  await store.commands.create({ ...rest, spec: { ...defaults, ...spec } });
  await store.commandInputs.keep(commandId(n), { env: { NUMBER: String(n) }, stdin: Buffer.from('in\n') });
  await store.activity.openCommand(SANDBOX, commandId(n));
  return commandId(n);
}

/** Wraps every method of an object; after the worker is killed no call returns. */
function mortal<T extends object>(target: T, step: <R>(call: () => Promise<R>) => Promise<R>): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => step(async () => (await Reflect.apply(value, object, args)) as unknown);
    },
  });
}

/**
 * Creates a worker that dies at its n-th call of the store or guest: before the call, or after it but before its
 * answer.
 */
function dyingWorker(n: number, isMade: boolean): { commandRuns: CommandRuns; calls: () => number } {
  let calls = 0;
  const step = async <R>(call: () => Promise<R>): Promise<R> => {
    calls++;
    if (calls === n && isMade) await call();
    if (calls >= n) throw new Error('killed');
    return call();
  };
  const parts = ['commands', 'commandInputs', 'output', 'activity', 'sandboxes'] as const;
  const dying = Object.assign({}, store, Object.fromEntries(parts.map((part) => [part, mortal(store[part], step)])));
  const guests = {
    agent: async (...args: Parameters<CommandRunDeps['guests']['agent']>) => {
      const agent = await machine.guests.agent(...args);
      return {
        clockSkewMs: 0,
        request: (...request: Parameters<typeof agent.request>) => step(() => agent.request(...request)),
      };
    },
  };
  const hypervisor = mortal(machine.host.hypervisor, step);
  return { commandRuns: new CommandRuns({ store: dying, hypervisor, guests, logger }), calls: () => calls };
}

async function linesOf(path: string): Promise<string> {
  return readGuestFile(await machine.agent(SANDBOX), path);
}

describe('a commandRun', () => {
  it.each([false, true])(
    'killed at any of its steps leaves one start and the whole output (step made: %s)',
    async (isMade) => {
      let n = 1;
      for (let isSurvived = false; !isSurvived; n++) {
        const number = (isMade ? 500 : 100) + n;
        const id = await requested(number, {
          command: `echo start >> /tmp/starts-$NUMBER; cat; seq 1 2000; echo e >&2; exit 7`,
        });
        const first = dyingWorker(n, isMade);
        isSurvived = await first.commandRuns.runToEnd(id).then(
          () => first.calls() < n,
          () => false,
        );
        await first.commandRuns.stop();
        const next = new CommandRuns(deps);
        expect(await next.runToEnd(id), `killed at step ${n}`).toMatchObject({
          state: 'ended',
          outcome: 'exited',
          exitCode: 7,
          stdout: { bytes: 8_896, kept: 8_896 },
          stderr: { bytes: 2, kept: 2 },
        });
        await next.stop();
        expect(await linesOf(`/tmp/starts-${number}`)).toBe('start\n');
        const stdout = Buffer.from(await store.output.read(id, 'stdout', 0, 10_000)).toString();
        expect(stdout).toBe(`in\n${Array.from({ length: 2_000 }, (_, line) => `${line + 1}\n`).join('')}`);
        expect(await store.commandInputs.get(id)).toBeNull();
      }
      expect(n).toBeGreaterThan(7); // steps of one command run
    },
  );

  it('is the same for concurrent callers', async () => {
    const id = await requested(1, { command: 'echo start >> /tmp/starts-$NUMBER' });
    const commandRuns = new CommandRuns(deps);
    const records = await Promise.all(Array.from({ length: 10 }, () => commandRuns.runToEnd(id)));
    expect(new Set(records).size).toBe(1);
    await commandRuns.stop();
    expect(await linesOf('/tmp/starts-1')).toBe('start\n');
  });

  it('does not start a command that is already cancelled', async () => {
    const id = await requested(2, { command: 'touch /tmp/was-cancelled' });
    const commandRuns = new CommandRuns(deps);
    await commandRuns.cancel(id, 'SIGTERM');
    expect(await commandRuns.runToEnd(id)).toMatchObject({ outcome: 'cancelled', startedAt: null });
    await commandRuns.stop();
    await expect(linesOf('/tmp/was-cancelled')).rejects.toThrow(/404/);
  });

  it('repeats the cancel when the guest did not get it', async () => {
    const id = await requested(5, { command: 'true' });
    const output = new Readable({ read() {} });
    let cancels = 0;
    const agent = {
      clockSkewMs: 0,
      request: async ({ path }: { path: string }) => {
        if (!path.includes('/cancel')) return { status: 201, headers: {}, body: output };
        if (++cancels === 1) throw new MayflyError('guest_unreachable', 'no answer');
        return { status: 202, headers: {}, body: Readable.from([]) };
      },
    };
    const commandRuns = new CommandRuns({ ...deps, guests: { agent: async () => agent } });
    commandRuns.runToEnd(id).catch(() => {});
    await commandRuns.whenStarted(id, new AbortController().signal);
    await expect(commandRuns.cancel(id, 'SIGTERM')).rejects.toMatchObject({ code: 'guest_unreachable' });
    await commandRuns.cancel(id, 'SIGTERM');
    expect(cancels).toBe(2);
    const stopped = commandRuns.stop();
    output.destroy(new Error('closed'));
    await stopped;
  });

  it('ends a command that Temporal never got, unless it runs', async () => {
    const orphan = await requested(3, { command: 'true' });
    const commandRuns = new CommandRuns(deps);
    await commandRuns.settle(orphan);
    expect(await store.commands.get(orphan)).toMatchObject({
      outcome: 'not-started',
      failure: { code: 'temporal_unavailable' },
    });
    const running = await requested(4, { command: 'cat; echo done' });
    await commandRuns.runToEnd(running);
    await store.commands.update(running, { state: 'requested', outcome: null });
    await commandRuns.settle(running);
    expect(await store.commands.get(running)).toMatchObject({ outcome: 'exited', exitCode: 0 });
    await commandRuns.stop();
  });
});

describe('of a hibernated sandbox', () => {
  const asked = { guest: 0, host: 0 };
  const exit = { outcome: 'exited', exitCode: 3 };
  const counting = (): CommandRuns => {
    Object.assign(asked, { guest: 0, host: 0 });
    const hypervisor = {
      whereabouts: async () => {
        asked.host += 1;
        return { domain: 'hibernated', lease: null } as const;
      },
    };
    const guests = {
      agent: async (...args: Parameters<CommandRunDeps['guests']['agent']>) => {
        asked.guest += 1;
        return machine.guests.agent(...args);
      },
    };
    return new CommandRuns({ ...deps, hypervisor, guests });
  };
  /** Starts a command whose worker then ends. */
  async function runs(n: number): Promise<string> {
    const id = await requested(n, { command: 'sleep 1; exit 3' });
    const first = new CommandRuns(deps);
    first.runToEnd(id).catch(() => {});
    await eventually(() => store.commands.get(id), { state: 'running' });
    await first.stop();
    return id;
  }

  it('contacts neither its guest nor its host, and resumes when it wakes', async () => {
    const id = await runs(6);
    await store.sandboxes.update(SANDBOX, { state: 'hibernated' });
    const commandRuns = counting();
    const ended = commandRuns.runToEnd(id);
    await eventually(async () => commandRuns.detailOf(id), 'its sandbox is hibernated');
    expect(asked).toEqual({ guest: 0, host: 0 });
    await store.sandboxes.update(SANDBOX, { state: 'running' });
    expect(await ended).toMatchObject(exit);
    await commandRuns.stop();
  });

  it('is released at once, and ends with its sandbox', async () => {
    const id = await runs(7);
    await store.sandboxes.update(SANDBOX, { state: 'hibernated' });
    const first = counting();
    const letGo = first.runToEnd(id);
    await eventually(async () => first.detailOf(id), 'its sandbox is hibernated');
    await Promise.all([expect(letGo).rejects.toMatchObject({ code: 'host_unavailable' }), first.stop()]);
    expect(asked).toEqual({ guest: 0, host: 0 });
    const next = new CommandRuns({
      ...deps,
      guests: { agent: () => Promise.reject(new MayflyError('sandbox_ended', 'It has ended.')) },
    });
    const ended = next.runToEnd(id);
    await store.sandboxes.update(SANDBOX, { state: 'destroying' });
    expect(await ended).toMatchObject({ outcome: 'interrupted' });
    await next.stop();
    await store.sandboxes.update(SANDBOX, { state: 'running' });
  });
});

describe('an untrusted guest', () => {
  async function runAgainst(n: number, status: number, content: Buffer): Promise<CommandRecord> {
    const id = await requested(n, { command: 'true', maxOutputBytes: 100 });
    const agent = { clockSkewMs: 0, request: async () => ({ status, headers: {}, body: Readable.from([content]) }) };
    const commandRuns = new CommandRuns({ ...deps, guests: { agent: async () => agent } });
    const ended = await commandRuns.runToEnd(id);
    await commandRuns.stop();
    return ended;
  }

  it.each([
    [
      'more than is to be kept',
      Buffer.concat([Buffer.from([1]), Buffer.alloc(19), Buffer.from([101]), Buffer.alloc(101)]),
    ],
    ['bytes that leave some out', Buffer.concat([Buffer.from([1]), Buffer.alloc(15), Buffer.from([9, 0, 0, 0, 1, 7])])],
    ['no frames', Buffer.alloc(40, 255)],
    ['an end that is none', Buffer.concat([Buffer.alloc(20), Buffer.from([2]), Buffer.from('{}')])],
  ])('that sends %s makes the outcome unknown', async (_, output) => {
    const ended = await runAgainst(900 + output.length, 201, output);
    expect(ended).toMatchObject({ state: 'ended', outcome: 'unknown' });
    expect(ended.reason).toMatch(/guest/);
  });

  it.each([
    [401, 'unauthenticated'],
    [422, 'idempotency_key_reused'],
  ])('that answers %i %s to a start is not believed', async (status, code) => {
    const ended = await runAgainst(1_000 + status, status, Buffer.from(JSON.stringify({ code, message: 'x' })));
    expect(ended).toMatchObject({ outcome: 'unknown', failure: null });
  });

  it('that has deleted the output makes the outcome unknown', async () => {
    const id = await requested(991, { command: 'true' });
    const gone = Buffer.from(JSON.stringify({ code: 'not_found', message: 'The output was deleted.' }));
    const agent = {
      clockSkewMs: 0,
      request: async ({ path }: { path: string }) =>
        path.includes('/output')
          ? { status: 404, headers: {}, body: Readable.from([gone]) }
          : { status: 200, headers: {}, body: Readable.from([Buffer.from('{"startedAt":null}')]) },
    };
    const commandRuns = new CommandRuns({ ...deps, guests: { agent: async () => agent } });
    expect(await commandRuns.runToEnd(id)).toMatchObject({ outcome: 'unknown', reason: 'The output was deleted.' });
    await commandRuns.stop();
  });

  it('that ignores a timeout has its command abandoned; time counts only while the sandbox runs', async () => {
    const id = await requested(992, { command: 'true', timeoutSeconds: 1, graceSeconds: 1 });
    const agent = {
      clockSkewMs: 0,
      request: async ({ signal }: AgentRequest) => {
        const body = new Readable({ read: () => undefined });
        signal?.addEventListener('abort', () => body.destroy(signal.reason));
        return { status: 201, headers: {}, body };
      },
    };
    await store.sandboxes.update(SANDBOX, { state: 'paused' });
    const commandRuns = new CommandRuns({ ...deps, spareMs: 0, guests: { agent: async () => agent } });
    const ended = commandRuns.runToEnd(id);
    await eventually(() => commandRuns.detailOf(id), 'it runs');
    await store.sandboxes.update(SANDBOX, { state: 'running' });
    expect(await ended).toMatchObject({ outcome: 'unknown', reason: expect.stringContaining('may be frozen') });
    await commandRuns.stop();
  });

  it('that answers nonsense to a start makes the outcome unknown', async () => {
    expect(await runAgainst(990, 200, Buffer.from('<html>'))).toMatchObject({ outcome: 'unknown' });
  });
});
