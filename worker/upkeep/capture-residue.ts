import type { PresentCapture } from '../../host/captures.ts';
import { StateDir } from '../../host/state-dir.ts';
import type { CaptureState } from '../../model/snapshots/capture.ts';
import type { Config } from '../config/config.ts';
import type { HostMachine } from '../machine/host-machine.ts';
import { hypervisorCaptures } from '../machine/hypervisor.ts';
import { withPresentStore } from '../servers/local-store.ts';
import { withMachine } from './residue.ts';

/** A capture on this machine that is not simply one which the store calls ready. */
export interface CaptureResidue extends PresentCapture {
  /** What the store says of it; null: nothing. */
  recorded: CaptureState | null;
  /** Nobody can ask for it any more: removing it loses nothing. */
  isSafe: boolean;
}

/**
 * Captures on this machine that were cut off, outlive their deletion, or are unknown to the store. Only looks at the
 * machine; those that a saga is at work on are left out.
 * @throws MayflyError store_unavailable
 */
export async function findCaptureResidue(config: Config): Promise<CaptureResidue[]> {
  const state = new StateDir(config.stateDir);
  // The machine first: a capture that is begun between the two looks is in the store by then.
  const present = await hypervisorCaptures(config, state);
  if (present.length === 0) return [];
  const found = await withPresentStore(config, async (store) =>
    Promise.all(
      present.map(async (capture) => {
        const recorded = (await store.captures.get(capture.captureId))?.state ?? null;
        return { ...capture, recorded, isSafe: isSafe(capture, recorded) };
      }),
    ),
  );
  const isResidue = ({ state: has, recorded }: CaptureResidue) =>
    recorded !== 'creating' && recorded !== 'deleting' && !(has === 'whole' && recorded === 'ready');
  const residue = found.filter(isResidue);
  if (residue.length === 0) return [];
  // And once more: one that was being removed meanwhile was gone before the store said so.
  const still = await hypervisorCaptures(config, state);
  return residue.filter((one) => still.some((other) => other.captureId === one.captureId));
}

/**
 * Removes what {@link findCaptureResidue} finds and calls safe.
 * @throws MayflyError host_unavailable while a host worker serves this machine; store_unavailable; capture_in_use
 */
export async function removeCaptureResidue(config: Config): Promise<void> {
  await withMachine(config, (machine) => removeCaptureResidueFrom(machine, config));
}

/** As {@link removeCaptureResidue}, on a machine that is open. */
export async function removeCaptureResidueFrom({ hypervisor, ledger }: HostMachine, config: Config): Promise<void> {
  for (const { captureId, isSafe: mayGo } of await findCaptureResidue(config)) {
    if (!mayGo) continue;
    await hypervisor.captures.remove(captureId);
    await ledger.release(captureId);
  }
}

/** A whole one without a record may be another store's: it is what somebody wanted to keep. */
function isSafe({ state }: PresentCapture, recorded: CaptureState | null): boolean {
  return recorded === 'failed' || recorded === 'deleted' || (recorded === null && state !== 'whole');
}
