import type { Client } from '@temporalio/client';
import { MACHINE_ENDED } from '../model/sagas/messages.ts';
import { workflowIdOf } from '../model/sagas/queues.ts';
import type { MachineEndReport } from '../model/sandbox/machine-end.ts';
import { rethrow } from './call/failure.ts';

/** Milliseconds. */
const CALL_MS = 10_000;

/**
 * Tells a sandbox's workflow that its machine was seen dead. Resolves when Temporal has it, or knows of no such workflow:
 * a record without one is for the reconciler.
 * @throws MayflyError temporal_unavailable
 */
export async function reportMachineEnd(client: Client, sandboxId: string, report: MachineEndReport): Promise<void> {
  const handle = client.workflow.getHandle(workflowIdOf(sandboxId));
  try {
    await client.withDeadline(Date.now() + CALL_MS, () => handle.signal<[MachineEndReport]>(MACHINE_ENDED, report));
  } catch (error) {
    rethrow(error);
  }
}
