import {
  condition,
  continueAsNew,
  defineSignal,
  log,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { EVENT_HAPPENED, type RecordEventsInput } from '../model/sagas/messages.ts';
import type { SignedEvent } from '../model/sandbox/signed-request.ts';
import { whenCancelled } from './saga/cancellation.ts';
import { controlUntilDone } from './saga/control.ts';
import { failureOf } from './saga/failure.ts';
import { retryForever } from './saga/retry-forever.ts';

const eventHappened = defineSignal<[SignedEvent]>(EVENT_HAPPENED);

/** A timer for each event would be two more events in the history. Milliseconds. */
const OPEN_MS = 600_000;
/** After an append that was refused: another attempt may meet a store that was mended. Milliseconds. */
const PAUSE_MS = 5_000;
/**
 * Of up to 16 kB each: together they stay below the 2 MB that Temporal takes for a run's input (`limit.blobSize.error`).
 * More of them, after the store was away, are appended first: a history holds the 10,000 signals that a run may get.
 */
const MOST_CARRIED_OVER = 50;

/**
 * Appends events to one audit trail, one after another, in the order in which Temporal has them. Temporal keeps each until
 * the store has it: a run neither ends nor continues as new while one is there that it has not heard of. A cancel in the
 * Temporal UI ends it when all of them are appended.
 */
export async function recordEvents(input: RecordEventsInput): Promise<void> {
  const { sandboxId, events = [], openMs = OPEN_MS, longestHistory } = input;
  const pending = [...events];
  let isTimeOver = false;
  setHandler(eventHappened, (event) => {
    pending.push(event);
  });
  const close = () => {
    isTimeOver = true;
  };
  void sleep(openMs).then(close);
  whenCancelled(close);
  for (;;) {
    await condition(() => pending.length > 0 || isTimeOver);
    const [event] = pending;
    if (!event) return;
    await append(sandboxId, event);
    pending.shift();
    if (pending.length > MOST_CARRIED_OVER) continue;
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    if (continueAsNewSuggested || historyLength >= (longestHistory ?? Infinity)) {
      await continueAsNew<typeof recordEvents>({ ...input, events: pending });
    }
  }
}

/** Once: the event's id makes a repetition harmless. What is refused is left out: nobody who may has asked for it. */
async function append(sandboxId: string, { signature, ...event }: SignedEvent): Promise<void> {
  const { runId } = workflowInfo();
  const { eventId } = event;
  const remember = async () => {
    try {
      await controlUntilDone.rememberEvent({ sandboxId, event: { ...event, runId }, signature });
    } catch (error) {
      const { code, message } = failureOf(error, 'rememberEvent');
      if (code !== 'request_refused') throw error;
      log.error('an event is not recorded', { sandboxId, eventId, why: message });
    }
  };
  const recordWaiting = (waitingFor: string | null) => setCurrentDetails(waitingFor ?? '');
  await retryForever('rememberEvent', remember, { pauseMs: PAUSE_MS, longestPauseMs: PAUSE_MS, recordWaiting });
}
