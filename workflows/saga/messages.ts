import { defineSearchAttributeKey } from '@temporalio/common';
import { defineSignal, defineUpdate } from '@temporalio/workflow';
import {
  ACCEPTED,
  AWAIT_OPERATION,
  CLAIM,
  type ClaimRequest,
  CREATE_FINISHED,
  DESTROY,
  HOST_DECOMMISSIONED,
  type HostDecommissioned,
  LAYER_DELETED,
  MACHINE_ENDED,
  OPERATE,
  type Operation,
  type OperationReport,
  RESTORE_RECORD,
  RETIRE,
  SEARCH_ATTRIBUTES,
  type SpecUpdate,
  STEP_PROGRESS,
  type StepProgress,
  UPDATE_SPEC,
} from '../../model/sagas/messages.ts';
import type { StopRequest } from '../../model/sagas/stop-request.ts';
import type { MachineEndReport } from '../../model/sandbox/machine-end.ts';

/** Messages of a sandbox's workflow, described in model/sagas/messages.ts. */
export const accepted = defineUpdate<void>(ACCEPTED);
export const settled = defineUpdate<void>(CREATE_FINISHED);
export const patch = defineUpdate<null, [SpecUpdate]>(UPDATE_SPEC);
export const operate = defineUpdate<OperationReport, [Operation]>(OPERATE);
export const operated = defineUpdate<OperationReport, [string]>(AWAIT_OPERATION);
export const hostDecommissioned = defineSignal<[HostDecommissioned]>(HOST_DECOMMISSIONED);
export const restoreRecord = defineUpdate<void>(RESTORE_RECORD);
export const destroy = defineSignal<[StopRequest]>(DESTROY);
export const claim = defineUpdate<void, [ClaimRequest]>(CLAIM);
export const retire = defineUpdate<boolean>(RETIRE);
export const atStep = defineSignal<[StepProgress]>(STEP_PROGRESS);
export const machineEnded = defineSignal<[MachineEndReport]>(MACHINE_ENDED);
export const layerDeleted = defineSignal(LAYER_DELETED);

export const hostAttribute = defineSearchAttributeKey(SEARCH_ATTRIBUTES.host, 'KEYWORD');
export const stateAttribute = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, 'KEYWORD');
export const outcomeAttribute = defineSearchAttributeKey(SEARCH_ATTRIBUTES.outcome, 'KEYWORD');
