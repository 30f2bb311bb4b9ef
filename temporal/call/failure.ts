import {
  ApplicationFailure,
  isGrpcServiceError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { type ErrorCode, isErrorCode, MayflyError } from '../../model/errors.ts';
import { RUN_CONTINUES } from '../../model/sagas/entity-state.ts';

/** Reports whether the run continues as new without having handled the message, which is then for the next run. */
export function shouldRetryOnNextRun(error: unknown): boolean {
  if (!(error instanceof WorkflowUpdateFailedError)) return false;
  return error.cause instanceof ApplicationFailure && error.cause.type === RUN_CONTINUES;
}

/** Reports whether the workflow does not exist, has ended, or could not be started again. */
export function isMissingWorkflow(error: unknown): boolean {
  return error instanceof WorkflowNotFoundError || error instanceof WorkflowExecutionAlreadyStartedError;
}

/** Throws the error for the caller; returns when the record decides instead. */
export function throwMapped(error: unknown): void {
  if (isMissingWorkflow(error)) return;
  if (error instanceof MayflyError) throw error;
  if (error instanceof WorkflowUpdateFailedError) throw toMayflyError(error);
  if (error instanceof WorkflowFailedError) {
    if (isWithoutRecord(error)) throw toMayflyError(error);
    return;
  }
  if (isUnavailable(error)) {
    throw new MayflyError('temporal_unavailable', 'Temporal did not take the request.', {
      cause: error,
      retryAfterSeconds: 2,
      mayHaveBegun: !isNotStarted(error),
    });
  }
  throw error;
}

function isUnavailable(error: unknown): boolean {
  return (
    error instanceof ServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcServiceError(error)
  );
}

/**
 * gRPC statuses of requests that the server refused to start: INVALID_ARGUMENT, PERMISSION_DENIED, RESOURCE_EXHAUSTED,
 * UNIMPLEMENTED, UNAUTHENTICATED.
 */
const NOT_STARTED_STATUSES = [3, 7, 8, 12, 16];

/** gRPC status UNAVAILABLE. */
export const UNAVAILABLE = 14;

/** Returns the gRPC error that an error is or wraps; undefined for any other. */
export function grpcStatusOf(error: unknown) {
  const status = isGrpcServiceError(error) ? error : error instanceof Error ? error.cause : undefined;
  return isGrpcServiceError(status) ? status : undefined;
}

/** Reports whether it is certain that nothing started: the server was not reached, or refused at once. */
function isNotStarted(error: unknown): boolean {
  const status = grpcStatusOf(error);
  if (!status) return false;
  const isUnreached =
    status.code === UNAVAILABLE && /connect(?:ion)? (?:error|refused)|dns error/i.test(status.message);
  return isUnreached || NOT_STARTED_STATUSES.includes(status.code);
}

/** Reports whether the request was refused before a record existed that could hold the reason. */
function isWithoutRecord({ cause }: WorkflowFailedError): boolean {
  return cause instanceof ApplicationFailure && cause.type === ('name_taken' satisfies ErrorCode);
}

function toMayflyError(error: WorkflowUpdateFailedError | WorkflowFailedError): MayflyError {
  const { cause } = error;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  if (cause instanceof ApplicationFailure && type && isErrorCode(type)) {
    return new MayflyError(type, cause.message, { cause: error });
  }
  return new MayflyError('internal', 'The saga refused the request for a reason that is not in our table.', {
    cause: error,
  });
}
