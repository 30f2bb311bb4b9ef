import { allHandlersFinished, condition, defineSignal, setHandler } from '@temporalio/workflow';
import { TEMPORAL_OPERATOR } from '../model/sagas/cancellation.ts';
import type { EndSignal } from '../model/sandbox/command.ts';
import { CANCEL_COMMAND, type CommandInput } from '../model/sandbox/command-saga.ts';
import type { Actor } from '../model/sandbox/sandbox.ts';
import { whenCancelled } from './saga/cancellation.ts';
import { controlUntilDone } from './saga/control.ts';
import { onHost } from './saga/host-activities.ts';
import { PROFILE } from './saga/profiles.ts';
import { handleSubscriptions, notifySubscribers } from './saga/subscription.ts';

const cancel = defineSignal<[Actor, EndSignal]>(CANCEL_COMMAND);

const { commandRequested, commandStarted, commandCancelAsked, commandEnded } = controlUntilDone;

/**
 * Run time after which the start is recorded; the start of a briefer command is recorded together with its end.
 * Milliseconds.
 */
const RECORDED_WHILE_RUNNING_MS = 1_000;

/**
 * Runs one command, from its request to the record of its end:
 *
 *   requested → runCommand on its host, for as long as it takes → ended
 *
 * The host starts it exactly once and resumes following it after an interruption (host/exec/command-run.ts), so every
 * failure here is retried. A cancel is passed on while it runs, and the end is awaited. Commands and output are in the
 * store, never in the history.
 */
export async function command({ commandId, sandboxId, hostId, installationId }: CommandInput): Promise<void> {
  let cancellation: { actor: Actor; signal: EndSignal } | null = null;
  const cancelBy = (actor: Actor, signal: EndSignal) => {
    cancellation ??= { actor, signal };
  };
  setHandler(cancel, cancelBy);
  const subscribers: string[] = [];
  handleSubscriptions(subscribers);
  whenCancelled(() => cancelBy(TEMPORAL_OPERATOR, 'SIGTERM'));
  if (!(await commandRequested({ commandId }))) return;

  const following = { ...PROFILE.follow(), summary: `${commandId} in ${sandboxId}` };
  const host = onHost({ hostId, installationId }, following);
  let isOver = false;
  const run = host.runCommand({ commandId, sandboxId }).finally(() => {
    isOver = true;
  });

  const passOnCancel = async () => {
    await condition(() => isOver || cancellation !== null);
    if (cancellation === null) return;
    const { actor, signal } = cancellation;
    await commandCancelAsked({ commandId, actor });
    if (!isOver) await host.cancelCommand({ commandId, sandboxId, signal });
  };
  const recordStart = async () => {
    for (let after = RECORDED_WHILE_RUNNING_MS; !(await condition(() => isOver, after)); after *= 2) {
      if (await commandStarted({ commandId })) return true;
    }
    return false;
  };
  const [startTold] = await Promise.all([recordStart(), passOnCancel(), run]);
  await commandEnded({ commandId, startTold });
  await notifySubscribers(subscribers);
  await condition(allHandlersFinished);
}
