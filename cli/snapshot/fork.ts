import { randomUUID } from 'node:crypto';
import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { Fork } from '../../clients/typescript/snapshots.ts';
import { LIMITS } from '../../model/limits.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { follow, StepPrinter, waitSignal } from '../sandbox/follow.ts';
import { option, positional, sandboxName, WAIT_OPTION, waitSeconds, wholeNumber } from '../terminal/arguments.ts';
import { CliError, usageError } from '../terminal/cli-error.ts';
import { columns } from '../terminal/columns.ts';
import { command } from '../terminal/command.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { seconds } from '../terminal/quantities.ts';
import { findSnapshotId, SNAPSHOT, snapshotIdOrName } from './named.ts';

const { count } = LIMITS.fork;

/** `mayfly fork`: the sagas go on whatever becomes of this process. */
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
    const ended = await settle(io, client, begun, signal).catch((error: unknown) => {
      throw signal.aborted ? stillGoing(io, begun, within) : error;
    });
    return { items: ended };
  },
  print: (_io, { items }) => columns(['ID', 'STATE', 'ADDRESS', 'EGRESS', 'FAILURE'], items.map(row)),
  exit: ({ items }) =>
    items.every((fork) => 'sandbox' in fork && fork.sandbox.state === 'running') ? EXIT.ok : EXIT.failed,
});

/** One after the other, all of which are being made at once: the API serves only so many event streams. */
async function settle(io: Io, client: MayflyClient, forks: Fork[], signal: AbortSignal): Promise<Fork[]> {
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
