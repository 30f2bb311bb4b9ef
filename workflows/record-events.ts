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
import { RECORD_EVENT, type RecordEventsInput } from '../model/sagas/messages.ts';
import type { SignedEvent } from '../model/sandbox/signed-request.ts';
import { whenCancelled } from './saga/cancellation.ts';
import { controlUntilDone } from './saga/control.ts';
import { failureOf } from './saga/failure.ts';
import { retryForever } from './saga/retry-forever.ts';

const eventHappened = defineSignal<[SignedEvent]>(RECORD_EVENT);

/**
 * Time for which a run stays open, ms. One timer for the run: a timer for each event would add two events to the
 * history.
 */
const OPEN_MS = 600_000;
/** Pause after a refused append, in case the store is repaired. Milliseconds. */
const PAUSE_MS = 5_000;
/**
 * Largest number of events passed to the next run. At up to 16 kB each they stay below Temporal's 2 MB limit for input
 * (`limit.blobSize.error`). More, after a store outage, are appended first: a history holds the 10,000 signals a run
 * may get.
 */
const MAX_CARRIED_OVER = 50;

/**
 * Appends events to one audit trail, one at a time, in the order of their signals. Temporal keeps each until the store
 * has it: a run does not end or continue as new while a signal is unhandled. A cancel in the Temporal UI ends the run
 * after the last append.
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
    if (pending.length > MAX_CARRIED_OVER) continue;
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    if (continueAsNewSuggested || historyLength >= (longestHistory ?? Infinity)) {
      await continueAsNew<typeof recordEvents>({ ...input, events: pending });
    }
  }
}

/**
 * Appends one event; its id makes a repetition harmless. Drops an event that the store refuses: no authorized request
 * is behind it.
 */
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
