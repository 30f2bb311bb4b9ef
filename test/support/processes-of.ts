import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { BOOT_SCRIPT } from '../../host/simulated/machine/domain.ts';
import { ProcessTable } from '../../host/simulated/machine/processes.ts';

/** Finds the processes of a simulated sandbox. @param stateDir of its host */
export async function processesOf(stateDir: string, sandboxId: string): Promise<readonly number[]> {
  return new ProcessTable(await realpath(join(stateDir, 'sandboxes')), BOOT_SCRIPT).of(sandboxId);
}
