import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BaseDigests, sha256Of } from '../../host/disk/base-digest.ts';
import { isNotFound } from '../../host/os/absent.ts';
import { StateDir } from '../../host/state-dir.ts';
import { goldenImage, guestBinaries } from '../config/artifacts.mjs';
import type { Config } from '../config/config.ts';
import { type Check, fault, type Probe, passed } from './check.ts';

/** Checks the programs that set-up builds and that a host worker needs to start. */
export function guestProgramsProbe(): Probe {
  return {
    name: 'guest programs',
    remedy: 'npm run setup',
    look: async () => {
      const built = guestBinaries();
      if (built) return [passed('guest programs', built.agent)];
      return [
        fault('guest programs', 'the agent and the gate for guests are not built of these sources', 'npm run setup'),
      ];
    },
  };
}

/** Checks the image that is always a source: it is built, and the copy in the state folder is unchanged. */
export function goldenProbe({ hostKind, stateDir }: Config): Probe {
  return {
    name: 'golden image',
    remedy: 'npm run setup',
    look: async () => {
      if (hostKind === 'simulated') return []; // its guests see the host's own programs
      const image = goldenImage();
      if (!image) return [fault('golden image', 'it is not built of these sources', 'npm run setup')];
      const { images } = new StateDir(stateDir);
      return judgeGolden(images, image.digest.replace('sha256:', ''));
    },
  };
}

/** @param digest SHA-256 of its disk as built, hex: also the name of its folder */
export async function judgeGolden(images: string, digest: string): Promise<Check[]> {
  const folder = join(images, digest);
  const disk = join(folder, 'disk.qcow2');
  try {
    await stat(folder);
    // Hashing takes seconds: only a file touched since its last hash is hashed again.
    const found = (await new BaseDigests(images).remembered(disk)) ?? (await sha256Of(disk));
    if (found === digest) return [passed('golden image', disk)];
    const remedy = `rm -r ${folder}, then restart the host worker, which copies it anew. Sandboxes cloned of it are broken: destroy them.`;
    return [fault('golden image', `${disk} is not what was built: its SHA-256 is ${found}`, remedy)];
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return [passed('golden image', 'built; the host worker copies it when it starts')];
  }
}
