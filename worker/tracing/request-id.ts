import type { Context } from '@temporalio/activity';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import { REQUEST_ID } from '../../model/sagas/request-id.ts';
import { currentRequestId, isRequestId, runWithRequestId } from '../../store/audit/request-id.ts';

/** Adds the current request's id to all calls to Temporal. */
export function requestIdOfClient(): WorkflowClientInterceptor {
  return {
    start: (input, next) => next({ ...input, headers: withId(input.headers) }),
    startWithDetails: (input, next) => next({ ...input, headers: withId(input.headers) }),
    signal: (input, next) => next({ ...input, headers: withId(input.headers) }),
    signalWithStart: (input, next) => next({ ...input, headers: withId(input.headers) }),
    startUpdate: (input, next) => next({ ...input, headers: withId(input.headers) }),
    startUpdateWithStart: (input, next) =>
      next({
        ...input,
        workflowStartHeaders: withId(input.workflowStartHeaders),
        updateHeaders: withId(input.updateHeaders),
      }),
  };
}

/** Runs an activity on behalf of the request behind its workflow; its log lines carry that id. */
export function requestIdOfActivity(_context: Context): ActivityInterceptors {
  return {
    inbound: {
      execute(input, next) {
        const payload = input.headers[REQUEST_ID];
        const id: unknown = payload && defaultPayloadConverter.fromPayload(payload);
        return runWithRequestId(isRequestId(id) ? id : undefined, () => next(input));
      },
    },
    outbound: {
      getLogAttributes(input, next) {
        const requestId = currentRequestId();
        return next(requestId === undefined ? input : { ...input, requestId });
      },
    },
  };
}

function withId(headers: Headers): Headers {
  const id = currentRequestId();
  return id === undefined ? headers : { ...headers, [REQUEST_ID]: defaultPayloadConverter.toPayload(id) };
}
