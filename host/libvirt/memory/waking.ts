import { constants } from 'node:fs';
import { chmod, copyFile, rm, stat } from 'node:fs/promises';
import { MayflyError } from '../../../model/errors.ts';
import { assertSpace } from '../../../model/snapshots/storage.ts';
import { measureDisk } from '../../disk/host-disk.ts';
import { ensureHostKey } from '../../disk/host-key.ts';
import { allSettledOrThrow } from '../../os/abort.ts';
import { parseXml } from '../client/xml.ts';
import { macAddresses, wakingXml } from '../domain-xml/waking-xml.ts';
import { emptyDisks } from '../layers/empty-disks.ts';
import { MEMORY_MODE, SnapshotFolder } from '../layers/snapshot-folder.ts';
import type { CloneSpec, Workspace } from '../layers/workspace.ts';
import type { LibvirtTools } from '../tools/tools.ts';
import { Renewal, type RenewalRequest } from './renewal.ts';
import { readSaveImage, rewriteSaveImage } from './save-image.ts';

/** Timeout of a restore; reading a large memory from a slow disk takes as long as writing it. Milliseconds. */
const RESTORE_TIMEOUT_MS = 300_000;

/**
 * Starts a domain from the memory of a snapshot. The saved processes stay frozen by their own kernel, and the network
 * cable disconnected, until the guest has confirmed its renewal. On a failure the domain is removed. So is a domain
 * whose wake was interrupted, and it is woken from the start, with the disks of the snapshot: none of its writes was
 * acknowledged.
 */
export class Waking {
  constructor(private readonly deps: LibvirtTools) {}

  /**
   * @param agentMs timeout of the guest's answer. `@default` 20,000
   * @throws MayflyError boot_failed, source_changed, host_disk_full
   */
  async wake(
    workspace: Workspace,
    spec: CloneSpec,
    snapshotId: string,
    signal: AbortSignal,
    agentMs?: number,
  ): Promise<void> {
    const { sandboxId } = workspace;
    if (await this.deps.domains.find(sandboxId)) await this.deps.domains.remove(sandboxId);
    const image = await workspace.newMemory();
    try {
      await emptyDisks(workspace, new SnapshotFolder(this.deps.state, snapshotId), signal);
      const defined = this.deps.virsh.run(['define', workspace.domainXml], { signal });
      const [wish] = await allSettledOrThrow(this.#prepare(workspace, spec, snapshotId, image), defined);
      signal.throwIfAborted();
      await this.#restore(workspace, image, wish, signal);
      signal.throwIfAborted();
      await this.#renew(sandboxId, wish, signal, agentMs);
    } catch (error) {
      await this.deps.domains.remove(sandboxId);
      if (error instanceof MayflyError && error.code !== 'prepare_failed') throw error;
      signal.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      throw new MayflyError('boot_failed', `${sandboxId} did not wake from ${snapshotId}: ${why}`, { cause: error });
    } finally {
      await rm(image, { force: true });
    }
    await workspace.finish({ ...spec, wakesFrom: null }, await workspace.domainText());
  }

  /** Makes a separate save image for the domain; the snapshot's is never changed. */
  async #prepare(
    workspace: Workspace,
    { request }: CloneSpec,
    snapshotId: string,
    image: string,
  ): Promise<RenewalRequest> {
    const { sandboxId } = workspace;
    const folder = new SnapshotFolder(this.deps.state, snapshotId);
    const spec = await folder.spec();
    if (!spec?.memorySha256) throw new MayflyError('boot_failed', `${snapshotId} has no memory that was checked.`);
    if ((await this.deps.digests.protect(folder.memory, { mode: MEMORY_MODE })) !== spec.memorySha256) {
      throw new MayflyError('source_changed', `${folder.memory} has changed since ${snapshotId} was saved.`);
    }
    const own = await workspace.domain();
    const { xml } = await readSaveImage(folder.memory);
    const { blocks } = await stat(folder.memory);
    assertSpace(await measureDisk(workspace.folder), `The memory of ${sandboxId}`, blocks * 512);
    await copyFile(folder.memory, image, constants.COPYFILE_FICLONE);
    await chmod(image, 0o600);
    await rewriteSaveImage(image, wakingXml(xml, own));
    const woke = macAddresses(parseXml(xml));
    const macs = macAddresses(own).map((mac, nth) => ({ woke: woke[nth] ?? '', own: mac }));
    if (spec.sandboxId === sandboxId) return { macs, identity: null };
    const hostKey = await ensureHostKey(workspace.folder, sandboxId);
    const isUntouched = request.snapshotId === null;
    return { macs, identity: { sandboxId, hostKey, userCaKeys: request.userCaKeys }, isUntouched };
  }

  async #restore(
    { sandboxId }: Workspace,
    image: string,
    { macs }: RenewalRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const { virsh, domains } = this.deps;
    await virsh.run(['restore', '--paused', image], { signal, timeoutMs: RESTORE_TIMEOUT_MS });
    // while it is paused: the connected cable is part of the saved state
    for (const { own } of macs) await domains.setLink(sandboxId, own, 'down');
    await virsh.run(['resume', sandboxId]);
  }

  async #renew(sandboxId: string, wish: RenewalRequest, signal: AbortSignal, agentMs?: number): Promise<void> {
    const { virsh, domains, agent } = this.deps;
    await new Renewal(virsh, agent, agentMs).renew(sandboxId, wish, signal);
    for (const { own } of wish.macs) await domains.setLink(sandboxId, own, 'up');
  }
}
