import type { SearchAttributePair } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { hostAttribute, stateAttribute } from '../saga/messages.ts';

/**
 * What an operator sees in the Temporal UI without reading any code.
 * @param isJoined in one upsert, and nothing that is known already; false: as lives did that began before
 */
export function show(
  before: SandboxRecord,
  { state, phase, hostId, waitingFor }: Partial<SandboxRecord>,
  isJoined: boolean,
): void {
  const pairs: SearchAttributePair[] = [];
  if (state && state !== before.state) pairs.push({ key: stateAttribute, value: state });
  if (hostId && !(isJoined && hostId === before.hostId)) pairs.push({ key: hostAttribute, value: hostId });
  if (!isJoined) for (const pair of pairs) upsertSearchAttributes([pair]);
  else if (pairs.length > 0) upsertSearchAttributes(pairs);
  const line = [state ?? before.state, phase, waitingFor && `waiting for ${waitingFor}`].filter(Boolean).join(' · ');
  setCurrentDetails(line);
}
