import { MayflyError } from '../../../model/errors.ts';
import { poll } from '../../os/poll.ts';
import type { StepContext } from '../../step-context.ts';
import { jobOf } from '../output/job-info.ts';
import { nullIfRefused, type Virsh } from './virsh.ts';

/** Name of a virDomainJobOperation in virsh. */
const SNAPSHOT = 'Snapshot';
const LOOK_EVERY_MS = 50;
/** Timeout of a job's abort by libvirt, ms. */
const ABORT_TIMEOUT_MS = 30_000;

/** Jobs of libvirt on a domain. They continue when their requester was killed. */
export class Jobs {
  constructor(private readonly virsh: Virsh) {}

  /** Returns the job in the words of `virsh domjobinfo` (`Save`, `Snapshot` …), `Start` during a start, or null. */
  async of(sandboxId: string): Promise<string | null> {
    const state = await nullIfRefused(this.virsh.run(['domstate', sandboxId, '--reason']));
    if (state === null) return null;
    if (/\(starting up\)/.test(state)) return 'Start';
    return jobOf((await nullIfRefused(this.virsh.run(['domjobinfo', sandboxId]))) ?? '');
  }

  async ended(sandboxId: string, context: StepContext): Promise<void> {
    const look = async () => {
      const job = await this.of(sandboxId);
      if (job === null) return true;
      context.alive(`libvirt is at work on it: ${job}`);
      return null;
    };
    await poll(look, { everyMs: LOOK_EVERY_MS, signal: context.signal });
  }

  /** Aborts the job; no-op without one. It may still be ending on return. */
  async abort(sandboxId: string): Promise<void> {
    await nullIfRefused(this.virsh.run(['domjobabort', sandboxId])); // refused: it has just ended
  }

  /**
   * Aborts a running snapshot, and waits for its end; any other job continues.
   * @throws MayflyError host_unavailable when it does not end
   */
  async stopSnapshot(sandboxId: string): Promise<void> {
    if ((await this.of(sandboxId)) !== SNAPSHOT) return;
    await this.abort(sandboxId);
    const look = async () => (await this.of(sandboxId)) !== SNAPSHOT || null;
    if (await poll(look, { everyMs: LOOK_EVERY_MS, withinMs: ABORT_TIMEOUT_MS })) return;
    throw new MayflyError('host_unavailable', `libvirt does not end the snapshot that it takes of ${sandboxId}.`);
  }
}
