import { writeFile } from 'node:fs/promises';
import { MayflyError } from '../../../model/errors.ts';
import { poll } from '../../os/poll.ts';
import { nullIfRefused, type Virsh } from '../client/virsh.ts';
import { buildXml, element } from '../client/xml.ts';
import type { CaptureFolder, CapturePlan } from '../layers/capture-folder.ts';
import { type JobInfo, jobInfo } from '../output/backup-info.ts';

/** Interval between two polls of a running job, ms. */
const LOOK_EVERY_MS = 500;
/** Timeout of an abort, ms. */
const ABORT_MS = 30_000;

/** State of one capture's copy; `over`: no job of it runs. */
type CopyState = { state: 'running'; progress: string } | { state: 'over'; last: JobInfo };

/**
 * Backup job of libvirt in push mode: QEMU copies the content of the disks at its start while the guest runs, and the
 * source's files are not touched. It survives the death of virsh, of this process and of libvirtd.
 */
export class BackupJob {
  constructor(
    private readonly virsh: Virsh,
    private readonly folder: CaptureFolder,
    private readonly plan: Pick<CapturePlan, 'domain'>,
  ) {}

  /** @throws MayflyError capture_failed while another job runs on the whole domain */
  async checkIdle(): Promise<void> {
    const { type, operation } = jobInfo(await this.virsh.run(['domjobinfo', this.plan.domain]));
    if (type === 'None') return;
    throw new MayflyError(
      'capture_failed',
      `libvirt is busy with the source (${operation ?? type}): wait until that has ended.`,
    );
  }

  /**
   * Starts the job; its target images must exist. Without a signal: killing virsh does not stop libvirtd.
   * @throws VirshError when libvirt refuses it
   */
  async begin(plan: CapturePlan): Promise<void> {
    const { folder, virsh } = this;
    const files = ['--backupxml', folder.inMaking('backup.xml')];
    await writeFile(folder.inMaking('backup.xml'), backupXml(folder, plan), { mode: 0o600 });
    if (plan.checkpoint) {
      await writeFile(folder.inMaking('checkpoint.xml'), checkpointXml(folder, plan), { mode: 0o600 });
      files.push('--checkpointxml', folder.inMaking('checkpoint.xml'));
    }
    await virsh.run(['backup-begin', plan.domain, ...files, '--reuse-external']);
  }

  /** Forgets the result of the domain's last job, so that later results are of a later job. */
  async forgetLast(): Promise<void> {
    await this.virsh.run(['domjobinfo', this.plan.domain, '--completed']);
  }

  /** Returns the state, after waiting for a start in progress, even if its requester was killed. */
  async look(): Promise<CopyState> {
    const { virsh, folder } = this;
    const { domain } = this.plan;
    await nullIfRefused(virsh.run(['domblkerror', domain])); // needs the domain's job lock; refused: it does not run
    if (await this.#isOurs()) {
      const { progress } = jobInfo(await virsh.run(['domjobinfo', domain]));
      return { state: 'running', progress: `${folder.captureId}: ${progress ?? 'copying'}` };
    }
    return { state: 'over', last: await this.#last() };
  }

  /** Resolves when no job of it runs. @throws MayflyError capture_failed when the copy is incomplete */
  async ended(signal: AbortSignal, onProgress: (text: string) => void): Promise<void> {
    const look = async () => {
      const copy = await this.look();
      if (copy.state === 'over') return copy.last;
      onProgress(copy.progress);
      return null;
    };
    const last = await poll(look, { everyMs: LOOK_EVERY_MS, signal });
    if (last !== null) checkCompleted(last);
  }

  /** Aborts the job unless it has ended. @throws MayflyError cleanup_incomplete */
  async abort(): Promise<void> {
    const look = async () => {
      if ((await this.look()).state === 'over') return true;
      await nullIfRefused(this.virsh.run(['domjobabort', this.plan.domain])); // refused: it has just ended
      return null;
    };
    if (await poll(look, { everyMs: LOOK_EVERY_MS, withinMs: ABORT_MS })) return;
    throw new MayflyError('cleanup_incomplete', `libvirt does not end the backup job of ${this.folder.captureId}.`);
  }

  async #isOurs(): Promise<boolean> {
    const job = await nullIfRefused(this.virsh.run(['backup-dumpxml', this.plan.domain]));
    return job?.includes(`${this.folder.making}/`) ?? false; // null: no backup job, or no such domain
  }

  async #last(): Promise<JobInfo> {
    const last = this.virsh.run(['domjobinfo', this.plan.domain, '--completed', '--keep-completed']);
    return jobInfo((await nullIfRefused(last)) ?? ''); // null: no such domain
  }
}

/** Reports whether the last job was a backup, with any result. */
export function wasBackup({ type, operation }: JobInfo): boolean {
  return type !== 'None' && operation === 'Backup';
}

function checkCompleted(last: JobInfo): void {
  if (wasBackup(last) && last.type === 'Completed') return;
  const why = wasBackup(last)
    ? `libvirt says that its job was ${last.type.toLowerCase()}: the source was shut off, the host's disk is full, or somebody ended it`
    : 'nobody knows how its job ended, since libvirtd was restarted or the source was removed meanwhile';
  throw new MayflyError('capture_failed', `Not all was copied: ${why}.`);
}

function backupXml(folder: CaptureFolder, { disks, parentId }: CapturePlan): string {
  const mode = parentId === null ? { backupmode: 'full' } : { backupmode: 'incremental', incremental: parentId };
  const listed = disks.map(({ target }) =>
    element(
      'disk',
      { name: target, backup: 'yes', type: 'file', ...mode },
      element('driver', { type: 'qcow2' }),
      element('target', { file: folder.targetOf(target) }),
    ),
  );
  const incremental = parentId === null ? [] : [element('incremental', {}, parentId)];
  return buildXml(element('domainbackup', { mode: 'push' }, ...incremental, element('disks', {}, ...listed)));
}

function checkpointXml({ captureId }: CaptureFolder, { disks }: CapturePlan): string {
  const listed = disks.map(({ target }) => element('disk', { name: target, checkpoint: 'bitmap' }));
  return buildXml(element('domaincheckpoint', {}, element('name', {}, captureId), element('disks', {}, ...listed)));
}
