import { randomUUID } from 'node:crypto';
import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { Fork } from '../../clients/typescript/snapshots.ts';
import { LIMITS } from '../../model/limits.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { follow, StepPrinter, sandboxLines, waitSignal } from '../sandbox/sandbox-text.ts';
import {
  flag,
  idOrName,
  option,
  positional,
  sandboxName,
  seconds,
  WAIT_OPTION,
  waitSeconds,
  wholeNumber,
} from '../terminal/arguments.ts';
import { CliError, EXIT, exitCodeOfCode, usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { columns, type Io } from '../terminal/io.ts';
import { findSnapshotId, SNAPSHOT, snapshotIdOrName } from './named.ts';

const { count } = LIMITS.fork;

/** `mayfly fork`: the workflows continue even if this process ends. */
export const forkCommand = command({
  args: {
    snapshot: positional(SNAPSHOT),
    count: { type: 'string', description: `How many, ${count.min} to ${count.max}`, default: '1' },
    name: option('Of one: of no other that lives; stands for its id in every command'),
    ttl: option('When each ends by itself, such as 90s or 1h30m (server default: 1h)', '1h'),
    egress: {
      type: 'enum',
      options: ['none', 'internet'],
      description: "What the guests can reach, else what the snapshot's could",
    },
    'idempotency-key': option('The same key makes the same sandboxes, however often it is sent'),
    ...WAIT_OPTION,
  },
  async call({ io, args, connect }) {
    const name = args.name === undefined ? null : sandboxName(args.name);
    const forks = wholeNumber('count', args.count, count.min, count.max);
    if (name !== null && forks > 1) throw usageError('--name is of one fork; leave it out, or --count');
    snapshotIdOrName(args.snapshot);
    const wish = {
      ...(args.ttl && { ttlSeconds: seconds('ttl', args.ttl, LIMITS.ttlSeconds) }),
      ...(args.egress && { network: { egress: args.egress } }),
    };
    const within = waitSeconds(args.wait);
    const client = connect();
    const request = { snapshotId: await findSnapshotId(client, args.snapshot, io.signal), ...wish };
    const idempotencyKey = args['idempotency-key'] ?? randomUUID();
    const options = { waitSeconds: 0, idempotencyKey, signal: io.signal };
    const begun: Fork[] =
      name === null
        ? await client.snapshots.fork({ ...request, count: forks }, options)
        : [{ sandbox: await client.createSandbox({ ...request, name }, options) }];
    const { signal } = waitSignal(io, within);
    const ended = await awaitForks(io, client, begun, signal).catch((error: unknown) => {
      throw signal.aborted ? stillGoing(io, begun, within) : error;
    });
    return { items: ended };
  },
  print: (_io, { items }) => columns(['ID', 'STATE', 'ADDRESS', 'EGRESS', 'FAILURE'], items.map(row)),
  exit: ({ items }) =>
    items.every((fork) => 'sandbox' in fork && fork.sandbox.state === 'running') ? EXIT.ok : EXIT.failed,
});

/** Follows the forks in turn, while all are created at once: the API limits event streams. */
async function awaitForks(io: Io, client: MayflyClient, forks: Fork[], signal: AbortSignal): Promise<Fork[]> {
  const settled: Fork[] = [];
  for (const fork of forks) {
    if ('problem' in fork) {
      settled.push(fork);
      continue;
    }
    io.note(fork.sandbox.id);
    const isOver = ({ state }: Sandbox) => state === 'running' || isFinal(state);
    settled.push({ sandbox: await follow(client, fork.sandbox, isOver, new StepPrinter(io), signal) });
  }
  return settled;
}

function row(fork: Fork): string[] {
  if ('problem' in fork)
    return [fork.problem.sandboxId ?? '-', 'not made', '-', '-', `${fork.problem.code}: ${fork.problem.detail ?? ''}`];
  const { id, state, ssh, spec, failure } = fork.sandbox;
  return [id, state, ssh?.address ?? '-', spec.network.egress, failure ? `${failure.code}: ${failure.message}` : '-'];
}

function stillGoing(io: Io, forks: Fork[], seconds: number): CliError {
  const ids = forks.flatMap((fork) => ('sandbox' in fork ? [fork.sandbox.id] : []));
  return new CliError(
    io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong,
    io.signal.aborted ? 'Stopped watching the forks' : `Not all forks are running after ${seconds} s`,
    `their sagas go on without anybody watching: ${ids.join(' ')}`,
    'See `mayfly sandbox list`; end one with `mayfly sandbox destroy`.',
  );
}

/** Follows one operation of a sandbox by its events, starting from the last event before it. */
export class OperationWatch {
  private constructor(
    private readonly io: Io,
    private readonly client: MayflyClient,
    private readonly sandboxId: string,
    private readonly lastEventId: string,
    private readonly printer: StepPrinter,
  ) {}

  /** Call before the request for the operation. */
  static async begin(io: Io, client: MayflyClient, sandboxId: string): Promise<OperationWatch> {
    const { steps } = await client.getSandbox(sandboxId, { signal: io.signal });
    const { head } = await client.sandboxAudit(sandboxId, { limit: 1, signal: io.signal });
    const lastEventId = head ? String(head.count - 1) : '';
    return new OperationWatch(io, client, sandboxId, lastEventId, new StepPrinter(io, steps.length));
  }

  /**
   * Prints each step as it ends, until one of the operation's last events.
   * @param look command that shows the result later
   * @returns that event; null when the sandbox has ended without it
   * @throws CliError after a Ctrl-C, or after `seconds`
   */
  async until(
    isEnd: (event: AuditEvent) => boolean,
    seconds: number,
    { what, look }: { what: string; look: string },
  ): Promise<AuditEvent | null> {
    const { io, client, sandboxId, lastEventId, printer } = this;
    const { signal } = waitSignal(io, seconds);
    try {
      for await (const { event, data } of client.sandboxEvents(sandboxId, {
        signal,
        lastEventId,
        deadlineSeconds: seconds,
      })) {
        if (event === 'sandbox') printer.show(JSON.parse(data) as Sandbox);
        if (event !== 'audit') continue;
        const told = JSON.parse(data) as AuditEvent;
        if (!isEnd(told)) continue;
        // Its steps are in the record by now, but the stream sends the record after the events.
        printer.show(await client.getSandbox(sandboxId, { signal }));
        return told;
      }
      return null;
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new CliError(
        io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong,
        io.signal.aborted ? `Stopped watching ${what}` : `${what} has not ended after ${seconds} s`,
        'its saga goes on without anybody watching',
        `See \`${look}\`.`,
      );
    }
  }
}

/** `mayfly restore`: done when the sandbox runs again; prints how to undo it. */
export const restoreCommand = command({
  args: {
    id: positional('Id or name of a sandbox'),
    snapshot: positional('Id or name of one of its snapshots'),
    'drop-current': flag('Do not keep the state that is left'),
    ...WAIT_OPTION,
  },
  async call({ io, args, connect, options }) {
    const named = idOrName(args.id);
    snapshotIdOrName(args.snapshot);
    const seconds = waitSeconds(args.wait);
    const client = connect();
    const id = await client.sandboxIdOf(named, options);
    const snapshotId = await findSnapshotId(client, args.snapshot, io.signal, id);
    const request = { snapshotId, keepCurrent: !args['drop-current'] };
    const watch = await OperationWatch.begin(io, client, id);
    const accepted = await client.snapshots.restore(id, request, { waitSeconds: 0, signal: io.signal });
    io.note(`${id} back to ${request.snapshotId}`);
    const isEnd = ({ kind, detail }: AuditEvent) =>
      (kind === 'sandbox.restored' || kind === 'sandbox.restore-failed') &&
      detail['operationId'] === accepted.operationId;
    const end = await watch.until(isEnd, seconds, { what: `The restore of ${id}`, look: `mayfly sandbox get ${id}` });
    if (end?.kind !== 'sandbox.restored') throw notRestored(id, end);
    const sandbox = await client.getSandbox(id, options);
    return { ...accepted, sandbox };
  },
  print(io, { sandbox, keptAs }) {
    for (const line of sandboxLines(io, sandbox)) io.print(line);
    if (keptAs) io.note(`what was left is ${keptAs}: mayfly restore ${sandbox.id} ${keptAs}`);
  },
});

function notRestored(id: string, end: AuditEvent | null): CliError {
  const { code, step, message } = Object(end?.detail['failure']) as Record<string, unknown>;
  const exitCode = exitCodeOfCode(String(code));
  const why = end ? `${String(step)}: ${String(message)} (${String(code)})` : 'the sandbox has ended';
  const remedy = `See \`mayfly sandbox get ${id}\` for what it is now.`;
  return new CliError(exitCode, `${id} was not restored`, why, remedy);
}
