import { log, type WorkflowInterceptors } from '@temporalio/workflow';
import { WAKE_DISPATCHER, WAKE_WAITS } from '../../model/functions/run-saga.ts';
import { RELEASE_SETUP, REQUEST_SETUP } from '../../model/functions/setup/setup-saga.ts';
import { LAYER_DELETED } from '../../model/sagas/messages.ts';
import { UNENCRYPTED } from '../../model/sagas/unencrypted.ts';
import { WAKE_SCHEDULE } from '../../model/schedules/schedule-saga.ts';
import { RELEASED } from '../../model/snapshots/snapshot-saga.ts';
import { CHECK_TEMPLATE } from '../../model/templates/template-saga.ts';
import { WAKE_DELIVERY } from '../../model/webhooks/delivery-saga.ts';
import { refusal } from './failure.ts';

/** Signals without an argument; all others have at least one. */
const BARE_SIGNALS: ReadonlySet<string> = new Set([
  LAYER_DELETED,
  WAKE_DISPATCHER,
  WAKE_DELIVERY,
  CHECK_TEMPLATE,
  WAKE_WAITS,
  RELEASED,
  RELEASE_SETUP,
  REQUEST_SETUP,
  WAKE_SCHEDULE,
]);

/**
 * Drops signals sent past Mayfly, e.g. from the Temporal UI: unencrypted, or without their argument. In a handler they
 * would fail the workflow task forever, and the workflow would take no DELETE either. Refuses all other unencrypted
 * payloads.
 */
export function interceptors(): WorkflowInterceptors {
  return {
    inbound: [
      {
        execute: (input, next) => next(requireEncrypted(input)),
        async handleSignal(input, next) {
          const isWhole = input.args.length > 0 || BARE_SIGNALS.has(input.signalName);
          if (isWhole && !input.args.includes(UNENCRYPTED)) return next(input);
          log.warn('dropped a signal that is unencrypted or lacks its argument', { signal: input.signalName });
        },
        validateUpdate: (input, next) => next(requireEncrypted(input)),
      },
    ],
    outbound: [
      {
        scheduleActivity: async (input, next) => requireEncrypted({ args: [await next(input)] }).args[0],
      },
    ],
  };
}

/** @throws ApplicationFailure payload_key_unusable */
function requireEncrypted<T extends { args: unknown[] }>(input: T): T {
  if (!input.args.includes(UNENCRYPTED)) return input;
  throw refusal('payload_key_unusable', 'A payload is not encrypted: it was sent to Temporal past Mayfly.');
}
