import {
  AsyncLocalStorage,
  defaultPayloadConverter,
  type Headers,
  type WorkflowInterceptors,
} from '@temporalio/workflow';
import { DESTROY } from '../../model/sagas/messages.ts';
import { REQUEST_ID } from '../../model/sagas/request-id.ts';
import { CANCEL_COMMAND } from '../../model/sandbox/command-saga.ts';

/** Signals whose request id the run uses from then on. */
const ADOPTED_SIGNALS: ReadonlySet<string> = new Set([DESTROY, CANCEL_COMMAND]);

/**
 * Propagates the request id from the header of a run's start, signal or update to the headers of its activities and
 * children. Payloads never contain it, so a history without it replays unchanged.
 */
export function interceptors(): WorkflowInterceptors {
  const requestId = new AsyncLocalStorage<string | undefined>();
  let runRequestId: string | undefined;
  const withId = <T extends { headers: Headers }>(input: T): T => {
    const id = requestId.getStore() ?? runRequestId;
    if (id === undefined || REQUEST_ID in input.headers) return input;
    return { ...input, headers: { ...input.headers, [REQUEST_ID]: defaultPayloadConverter.toPayload(id) } };
  };
  return {
    inbound: [
      {
        execute(input, next) {
          runRequestId = idIn(input.headers);
          return next(input);
        },
        handleSignal(input, next) {
          const id = idIn(input.headers);
          if (id !== undefined && ADOPTED_SIGNALS.has(input.signalName)) runRequestId = id;
          return requestId.run(id, () => next(input));
        },
        handleUpdate(input, next) {
          return requestId.run(idIn(input.headers), () => next(input));
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(withId(input)),
        scheduleLocalActivity: (input, next) => next(withId(input)),
        startChildWorkflowExecution: (input, next) => next(withId(input)),
        continueAsNew: (input, next) => next(withId(input)),
        signalWorkflow: (input, next) => next(withId(input)),
      },
    ],
  };
}

function idIn(headers: Headers): string | undefined {
  const payload = headers[REQUEST_ID];
  const id: unknown = payload && defaultPayloadConverter.fromPayload(payload);
  return typeof id === 'string' ? id : undefined;
}
