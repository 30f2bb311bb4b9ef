import { setTimeout as delay } from 'node:timers/promises';
import { MayflyError } from '../../../model/errors.ts';
import type { StepContext } from '../../step-context.ts';
import { jobOf } from '../output/job-info.ts';
import { type Virsh, VirshError } from './virsh.ts';

/** virDomainJobOperation in virsh's words. */
const SNAPSHOT = 'Snapshot';
const LOOK_EVERY_MS = 50;
/** How long libvirt may take to give up a job. Milliseconds. */
const ABORT_TIMEOUT_MS = 30_000;

/** What libvirt is at work on with a domain. It goes on with that when whoever asked for it was killed. */
export class Jobs {
  constructor(private readonly virsh: Virsh) {}

  /** As `virsh domjobinfo` calls it (`Save`, `Snapshot` …), `Start` while it is started; null when it is nothing. */
  async of(sandboxId: string): Promise<string | null> {
    try {
      const state = await this.virsh.run(['domstate', sandboxId, '--reason']);
      if (/\(starting up\)/.test(state)) return 'Start';
      return jobOf(await this.virsh.run(['domjobinfo', sandboxId]));
    } catch (error) {
      if (error instanceof VirshError) return null; // not active, or not there
      throw error;
    }
  }

  /** Waits until there is none. */
  async ended(sandboxId: string, context: StepContext): Promise<void> {
    for (let job = await this.of(sandboxId); job !== null; job = await this.of(sandboxId)) {
      context.alive(`libvirt is at work on it: ${job}`);
      await delay(LOOK_EVERY_MS);
      context.signal.throwIfAborted();
    }
  }

  /** Has libvirt give it up; also when there is none. It may still be ending then. */
  async abort(sandboxId: string): Promise<void> {
    try {
      await this.virsh.run(['domjobabort', sandboxId]);
    } catch (error) {
      if (!(error instanceof VirshError)) throw error; // it has just ended
    }
  }

  /**
   * Has it give up a snapshot that it takes, and returns when it takes none; any other job goes on.
   * @throws MayflyError host_unavailable when it does not end
   */
  async stopSnapshot(sandboxId: string): Promise<void> {
    if ((await this.of(sandboxId)) !== SNAPSHOT) return;
    await this.abort(sandboxId);
    const deadline = Date.now() + ABORT_TIMEOUT_MS;
    while ((await this.of(sandboxId)) === SNAPSHOT) {
      if (Date.now() > deadline) {
        throw new MayflyError('host_unavailable', `libvirt does not end the snapshot that it takes of ${sandboxId}.`);
      }
      await delay(LOOK_EVERY_MS);
    }
  }
}
