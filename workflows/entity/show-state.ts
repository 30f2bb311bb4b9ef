import type { SearchAttributePair } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { hostAttribute, stateAttribute } from '../saga/messages.ts';

/** Shows an operator the sandbox's state in the Temporal UI, with one upsert of what has changed. */
export function showState(before: SandboxRecord, { state, phase, hostId, waitingFor }: Partial<SandboxRecord>): void {
  const pairs: SearchAttributePair[] = [];
  if (state && state !== before.state) pairs.push({ key: stateAttribute, value: state });
  if (hostId && hostId !== before.hostId) pairs.push({ key: hostAttribute, value: hostId });
  if (pairs.length > 0) upsertSearchAttributes(pairs);
  const line = [state ?? before.state, phase, waitingFor && `waiting for ${waitingFor}`].filter(Boolean).join(' · ');
  setCurrentDetails(line);
}
