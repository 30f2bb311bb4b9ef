import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import type { HostActivities } from '../activities/host.ts';
import { TEMPORAL_OPERATOR } from '../model/sagas/cancellation.ts';
import { hostQueue } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import { CANCEL_COMMAND, type CommandInput } from '../model/sandbox/command.ts';
import type { Actor } from '../model/sandbox/sandbox.ts';
import { whenCancelled } from './saga/cancellation.ts';
import { controlUntilDone } from './saga/control.ts';

const cancel = defineSignal<[Actor]>(CANCEL_COMMAND);

const { commandRequested, commandStarted, commandCancelAsked, commandEnded } = controlUntilDone;

/** The start of what takes longer is recorded while it runs; that of a brief one together with its end. Milliseconds. */
const RECORDED_WHILE_RUNNING_MS = 1_000;
/** Until a host's silence is taken for its death; it goes on with commands that run by itself as soon as it is back. */
const HEARTBEAT = '10s';
/** More than the longest time-out of a command, which its guest keeps. */
const LONGEST = '60 days';

/**
 * One command, from its request to the record of its end:
 *
 *   requested → runCommand on its host, for as long as it takes → ended
 *
 * The host starts it exactly once and goes on with it after any interruption (commands/command-run.ts), so here every
 * failure only means: again. A cancel is passed on while it runs; its end is awaited all the same. What runs and what it
 * says is in the store and never here.
 */
export async function command({ commandId, sandboxId, hostId, installationId = null }: CommandInput): Promise<void> {
  let cancelledBy: Actor | null = null;
  const cancelBy = (actor: Actor) => {
    cancelledBy ??= actor;
  };
  setHandler(cancel, cancelBy);
  whenCancelled(() => cancelBy(TEMPORAL_OPERATOR));
  if (!(await commandRequested({ commandId }))) return;

  const options = {
    taskQueue: hostQueue({ hostId, installationId }),
    heartbeatTimeout: HEARTBEAT,
    startToCloseTimeout: LONGEST,
    retry: { initialInterval: '200ms', maximumInterval: '2s' },
    summary: readable(`${commandId} in ${sandboxId}`),
  } as const;
  const { runCommand, cancelCommand } = proxyActivities<HostActivities>(options);
  let isOver = false;
  const run = runCommand({ commandId, sandboxId }).finally(() => {
    isOver = true;
  });

  const passOnCancel = async () => {
    await condition(() => isOver || cancelledBy !== null);
    if (cancelledBy === null) return;
    await commandCancelAsked({ commandId, actor: cancelledBy });
    if (!isOver) await cancelCommand({ commandId, sandboxId });
  };
  const recordStart = async () => {
    for (let after = RECORDED_WHILE_RUNNING_MS; !(await condition(() => isOver, after)); after *= 2) {
      if (await commandStarted({ commandId })) return true;
    }
    return false;
  };
  const [startTold] = await Promise.all([recordStart(), passOnCancel(), run]);
  await commandEnded({ commandId, startTold });
}
