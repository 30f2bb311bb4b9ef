import { condition, setHandler } from '@temporalio/workflow';
import type { Operation } from '../../model/sagas/messages.ts';
import {
  describeMachineEnd,
  isMachineEnd,
  type MachineEndReason,
  type MachineEndReport,
  type MachineState,
} from '../../model/sandbox/machine-end.ts';
import { getHost, isSuspended } from '../../model/sandbox/sandbox-state.ts';
import { onHost } from '../saga/host-activities.ts';
import { machineEnded } from '../saga/messages.ts';
import { PROFILE } from '../saga/profiles.ts';
import type { SandboxEntity } from './entity.ts';

/** Activity, and step of the failure. */
const PROBE_STEP = 'lookAtMachine';
/** Timeout of one query to libvirt on a busy host, ms. The host reports a dead machine again. */
const PROBE_MS = 20_000;
/** Operations during which the machine may be off on purpose. */
const MACHINE_GOES_OFF: ReadonlySet<Operation['kind'] | 'adopt' | null> = new Set([
  'restore',
  'hibernate',
  'resume',
  'adopt',
]);

/**
 * Ends a sandbox whose machine has died. A host's report only triggers a probe: it may be late, about the machine
 * before a restore, or about one that an operation has off for a while.
 */
export function handleMachineDeath(entity: SandboxEntity): void {
  let isProbing = false;
  setHandler(machineEnded, async (report) => {
    if (isProbing || isIrrelevant(entity) || report.hostId !== entity.record.hostId) return;
    isProbing = true;
    const reason = await confirm(entity, report);
    isProbing = false;
    if (reason === null || isIrrelevant(entity)) return;
    const failure = { ...describeMachineEnd(entity.id, { ...report, reason }), step: PROBE_STEP };
    entity.terminate({ reason: 'machine-ended', actor: null, failure });
  });
}

/**
 * Returns true when a report no longer matters: the sandbox ends, its task shuts it down, or it continues as new and
 * the host reports to the next run.
 */
function isIrrelevant({ input, isClosing, isEnding }: SandboxEntity): boolean {
  return (input.mayBeOff ?? false) || isClosing || isEnding;
}

/** Returns why the machine is dead, after a probe of its host; null when it is alive or the host does not answer. */
async function confirm(entity: SandboxEntity, { reason }: MachineEndReport): Promise<MachineEndReason | null> {
  for (;;) {
    await condition(() => isIrrelevant(entity) || shouldRun(entity));
    if (isIrrelevant(entity)) return null;
    const { operations } = entity.state;
    const state = await probe(entity);
    if (state === null || !isMachineEnd(state)) return null;
    if (operations !== entity.state.operations) continue;
    if (reason === 'host-restarted') return reason;
    return entity.record.state === 'hibernated' ? 'lost' : state;
  }
}

/** Reports whether the machine should run: the sandbox is created, and no operation has its machine off. */
function shouldRun({ record: { state }, underWay }: SandboxEntity): boolean {
  return (state === 'running' || state === 'warm' || isSuspended(state)) && !MACHINE_GOES_OFF.has(underWay);
}

async function probe({ id: sandboxId, record, timeouts }: SandboxEntity): Promise<MachineState | null> {
  const host = getHost(record);
  if (host === null) return null;
  const profile = { ...PROFILE.probe(PROBE_MS, timeouts.hostDownMs), summary: `${sandboxId}: is its machine dead?` };
  try {
    return (await onHost(host, profile).lookAtMachine({ sandboxId })).state;
  } catch {
    return null; // the host reports again when it is back
  }
}
