import { MayflyError } from '../../../model/errors.ts';
import { poll } from '../../os/poll.ts';
import type { StepContext } from '../../step-context.ts';
import { jobOf } from '../output/job-info.ts';
import { orRefused, type Virsh } from './virsh.ts';

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
    const state = await orRefused(this.virsh.run(['domstate', sandboxId, '--reason']));
    if (state === null) return null;
    if (/\(starting up\)/.test(state)) return 'Start';
    return jobOf((await orRefused(this.virsh.run(['domjobinfo', sandboxId]))) ?? '');
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

  /** Has libvirt give it up; also when there is none. It may still be ending then. */
  async abort(sandboxId: string): Promise<void> {
    await orRefused(this.virsh.run(['domjobabort', sandboxId])); // refused: it has just ended
  }

  /**
   * Has it give up a snapshot that it takes, and returns when it takes none; any other job goes on.
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
