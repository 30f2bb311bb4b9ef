import type { Life } from '../life/life.ts';
import { startSteps } from '../life/steps.ts';
import { saga } from '../saga/saga.ts';
import { prepareSomewhere } from './create-sandbox.ts';

/**
 * From a request to a guest that boots with its cable out, and knows nobody whom it could let in:
 *
 *   prepare (reserve → cloneDisk) → bootDomain
 *
 * The undos are those of every create (create-sandbox.ts).
 */
export async function createOffline(life: Life, beforeUndo: (cause: unknown) => Promise<void>): Promise<void> {
  await saga(async (undo) => {
    const { host, clone } = await prepareSomewhere(life, [], undo);
    life.enter('booting', { macAddress: clone.macAddress });
    undo('awaitIp', host.releaseLease);
    undo('bootDomain', host.removeDomain);
    await startSteps(life, host.host).bootDomain();
  }, beforeUndo);
}
