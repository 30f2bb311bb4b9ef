import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isCaptureId } from '../../../model/ids.ts';
import { orAbsent } from '../../os/absent.ts';
import { writeFileAtomic } from '../../os/atomic-file.ts';
import { entriesOf } from '../../os/directory.ts';
import type { StateDir } from '../../state-dir.ts';
import { nullIfMissing, nullIfRefused, type Virsh } from '../client/virsh.ts';
import { names } from '../output/tables.ts';

const SUFFIX = '.checkpoint';

/**
 * Checkpoints that captures add to their sources: a bitmap of changed clusters in every qcow2 disk. libvirt removes one
 * only while the source runs; until then a note here records the removal.
 */
export class Checkpoints {
  constructor(
    private readonly virsh: Virsh,
    private readonly state: StateDir,
  ) {}

  /** @param domain UUID of the source's domain */
  async has(domain: string, captureId: string): Promise<boolean> {
    return names(await this.virsh.run(['checkpoint-list', domain, '--name'])).includes(captureId);
  }

  /** Removes the checkpoint of a capture, now or when the source runs again. */
  async remove(domain: string, captureId: string): Promise<void> {
    const note = join(this.state.captures, `${captureId}${SUFFIX}`);
    await writeFileAtomic(note, domain, 0o600);
    await this.sweep();
  }

  /** Retries the recorded removals. */
  async sweep(): Promise<void> {
    for (const name of (await entriesOf(this.state.captures)) ?? []) {
      const captureId = name.slice(0, -SUFFIX.length);
      if (!name.endsWith(SUFFIX) || !isCaptureId(captureId)) continue;
      const note = join(this.state.captures, name);
      const domain = await orAbsent(readFile(note, 'utf8'));
      if (domain === null || (await this.#isGone(domain, captureId))) await rm(note, { force: true });
    }
  }

  async #isGone(domain: string, captureId: string): Promise<boolean> {
    const remove = async () => {
      if (await this.has(domain, captureId)) await this.virsh.run(['checkpoint-delete', domain, captureId]);
      return true;
    };
    return (await nullIfRefused(nullIfMissing(remove()).then(() => true))) ?? false; // refused: it is shut off
  }
}
