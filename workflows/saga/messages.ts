import { defineSearchAttributeKey } from '@temporalio/common';
import { defineSignal, defineUpdate } from '@temporalio/workflow';
import {
  ACCEPTED,
  AT_STEP,
  CLAIM,
  type ClaimRequest,
  DESTROY,
  HOST_FORGOTTEN,
  type HostForgotten,
  LAYER_DELETED,
  MACHINE_ENDED,
  OPERATE,
  OPERATED,
  type Operation,
  type OperationReport,
  PATCH,
  RESTORE_RECORD,
  RETIRE,
  type SandboxPatch,
  SEARCH_ATTRIBUTES,
  SETTLED,
  type StepUnderWay,
} from '../../model/sagas/messages.ts';
import type { StopRequest } from '../../model/sagas/stop-request.ts';
import type { MachineEndReport } from '../../model/sandbox/machine-end.ts';

/** Messages of a sandbox's workflow, described in model/sagas/messages.ts. */
export const accepted = defineUpdate<void>(ACCEPTED);
export const settled = defineUpdate<void>(SETTLED);
export const patch = defineUpdate<null, [SandboxPatch]>(PATCH);
export const operate = defineUpdate<OperationReport, [Operation]>(OPERATE);
export const operated = defineUpdate<OperationReport, [string]>(OPERATED);
export const hostForgotten = defineSignal<[HostForgotten]>(HOST_FORGOTTEN);
export const restoreRecord = defineUpdate<void>(RESTORE_RECORD);
export const destroy = defineSignal<[StopRequest]>(DESTROY);
export const claim = defineUpdate<void, [ClaimRequest]>(CLAIM);
export const retire = defineUpdate<boolean>(RETIRE);
export const atStep = defineSignal<[StepUnderWay]>(AT_STEP);
export const machineEnded = defineSignal<[MachineEndReport]>(MACHINE_ENDED);
export const layerDeleted = defineSignal(LAYER_DELETED);

export const hostAttribute = defineSearchAttributeKey(SEARCH_ATTRIBUTES.host, 'KEYWORD');
export const stateAttribute = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, 'KEYWORD');
export const outcomeAttribute = defineSearchAttributeKey(SEARCH_ATTRIBUTES.outcome, 'KEYWORD');
