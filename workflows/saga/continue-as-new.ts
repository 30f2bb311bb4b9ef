import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { RUN_CONTINUES } from '../../model/sagas/entity-state.ts';

/**
 * Whether Temporal suggests to continue as new: the run has had most of the events, the bytes or the updates that it may
 * have.
 */
export function shallContinue(): boolean {
  return workflowInfo().continueAsNewSuggested;
}

/** Refusal of a message that the next run is to take. */
export function runContinues(): ApplicationFailure {
  const message = 'This run continues as new; send it to the next one.';
  return ApplicationFailure.create({ type: RUN_CONTINUES, message, nonRetryable: true });
}
