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

/** The run that got the message continues as new and has not heard it: it is for the next one. */
export function isForNextRun(error: unknown): boolean {
  if (!(error instanceof WorkflowUpdateFailedError)) return false;
  return error.cause instanceof ApplicationFailure && error.cause.type === RUN_CONTINUES;
}

/** The workflow is not there, or not any more. */
export function isGone(error: unknown): boolean {
  return error instanceof WorkflowNotFoundError || error instanceof WorkflowExecutionAlreadyStartedError;
}

/** @throws what the caller is to be told; returns when the record decides */
export function rethrow(error: unknown): void {
  if (isGone(error)) return;
  if (error instanceof MayflyError) throw error;
  if (error instanceof WorkflowUpdateFailedError) throw failureOf(error);
  if (error instanceof WorkflowFailedError) {
    if (isWithoutRecord(error)) throw failureOf(error);
    return;
  }
  if (isAway(error)) {
    throw new MayflyError('temporal_unavailable', 'Temporal did not take the request.', {
      cause: error,
      retryAfterSeconds: 2,
      mayHaveBegun: !isRefusedUnheard(error),
    });
  }
  throw error;
}

function isAway(error: unknown): boolean {
  return (
    error instanceof ServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcServiceError(error)
  );
}

/** gRPC statuses of what a server did not begin to do: too much was asked, or not by this client. */
const UNHEARD = [3, 7, 8, 12, 16];

/** gRPC status UNAVAILABLE. */
export const UNAVAILABLE = 14;

/** Returns the gRPC status of an error, or of what it wraps. Undefined: it has none. */
export function grpcStatusOf(error: unknown) {
  const status = isGrpcServiceError(error) ? error : error instanceof Error ? error.cause : undefined;
  return isGrpcServiceError(status) ? status : undefined;
}

/** Whether it is certain that nothing began: nobody was reached, or who was reached said so at once. */
function isRefusedUnheard(error: unknown): boolean {
  const status = grpcStatusOf(error);
  if (!status) return false;
  const isUnreached =
    status.code === UNAVAILABLE && /connect(?:ion)? (?:error|refused)|dns error/i.test(status.message);
  return isUnreached || UNHEARD.includes(status.code);
}

/** Whether it was refused before there was a record which could say why. */
function isWithoutRecord({ cause }: WorkflowFailedError): boolean {
  return cause instanceof ApplicationFailure && cause.type === ('name_taken' satisfies ErrorCode);
}

function failureOf(error: WorkflowUpdateFailedError | WorkflowFailedError): MayflyError {
  const { cause } = error;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  if (cause instanceof ApplicationFailure && type && isErrorCode(type)) {
    return new MayflyError(type, cause.message, { cause: error });
  }
  return new MayflyError('internal', 'The saga refused the request for a reason that is not in our table.', {
    cause: error,
  });
}
